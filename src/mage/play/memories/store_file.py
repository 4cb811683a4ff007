"""The file of `recall.path`: what a memory begins with, and where it goes when all has gone well.

A run plays with a store of its own in between: it does not see what others write there, nor they what it has not ended.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from mage.errors import RunError
from mage.play.memories.shelf import Shelf, ShelfMemory
from mage.play.memory import Memory

log = logging.getLogger(__name__)


def take_up(memory: Memory, kept: Path | None = None) -> None:
    """Fill a memory from the file of `recall.path`, if it has one; or from `kept`, a copy of what it held then.

    Raises RunError for a file that is no store of this memory.
    """
    file = _file(memory)
    if isinstance(memory, ShelfMemory) and file:
        source = kept or file
        if kept or source.exists():
            memory.shelf.store.load(source)
        memory.shelf.begun = memory.shelf.store.digest()


def check_writable(memory: Memory) -> None:
    """Raise RunError if the file of `recall.path`, where there is one, cannot be written in the end."""
    file = _file(memory)
    if file:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=file.parent):
                pass
        except OSError as error:
            raise RunError(f"recall.path = {str(file)!r}: cannot be written ({error.strerror})") from None


def write_back(memory: Memory) -> None:
    """Write what a memory holds to the file of `recall.path`, if it has one.

    What another has written there meanwhile stays, and the memory goes to a file beside it. Raises RunError where it
    cannot be written.
    """
    file = _file(memory)
    if not (isinstance(memory, ShelfMemory) and file):
        return
    shelf, there = memory.shelf, Shelf.of(memory.name, memory.shelf.recall).store
    try:
        if file.exists():
            there.load(file)
        found = there.digest()
    except RunError:  # it has become something else
        found = "unknown"
    if found == shelf.store.digest():
        return
    if found != shelf.begun:
        number = 2
        while (other := file.with_stem(f"{file.stem}-{number}")).exists():
            number += 1
        log.warning("%s was written by another run meanwhile: what this one remembers is in %s", file, other)
        file = other
    shelf.store.save(file)


def _file(memory: Memory) -> Path | None:
    recall = memory.shelf.recall if isinstance(memory, ShelfMemory) else None
    return Path(recall.path) if recall and recall.path else None
