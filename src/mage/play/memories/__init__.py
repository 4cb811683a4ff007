"""The memories by name. Those that live and end with a trial are in `mage.play.memory`."""

from __future__ import annotations

from collections.abc import Callable

from mage.errors import GameError, unknown
from mage.play.memories.amem import Notes
from mage.play.memories.memento import Cases
from mage.play.memories.reflexion import Reflexion
from mage.play.memories.shelf import Corner, Shelf, ShelfMemory
from mage.play.memory import MEMORIES, Memory, Say, Session
from mage.recipe import RecallSection
from mage.references import foreign, is_reference, load

OF_TRIALS = (*MEMORIES, Reflexion("reflexion", fresh=True, reflects=True))
SHELVED: dict[str, Callable[[Corner, Say], Session]] = {"a-mem": Notes, "memento": Cases}


def _own(reference: str, recall: RecallSection) -> Memory:
    wanted = "a mage.play.memory.Memory, or a function that makes one from the recipe's recall section"
    found = load("trial.memory", reference, wanted=wanted, fits=lambda thing: _fits(thing) or callable(thing))
    with foreign(f"trial.memory {reference!r}", GameError):
        memory: Memory = found if _fits(found) else found(recall)
    if not _fits(memory):
        raise GameError(f"trial.memory {reference!r} made a {type(memory).__name__}; expected {wanted}")
    return memory


def _fits(thing: object) -> bool:
    return isinstance(thing, Memory) and not isinstance(thing, type)


def memory_names() -> tuple[str, ...]:
    """The names that `trial.memory` accepts."""
    return (*(memory.name for memory in OF_TRIALS), *SHELVED)


def make_memory(name: str, recall: RecallSection | None = None) -> Memory:
    """The memory of a `trial.memory` key, a name or the reference of one's own.

    `recall` says how those with a store find and keep things. Raises GameError for a name that does not exist, RunError
    for a store that cannot be opened.

    >>> memory = make_memory("reflection")
    >>> memory.fresh, memory.reflects
    (True, True)
    """
    for memory in OF_TRIALS:
        if memory.name == name:
            return memory
    if is_reference(name):
        return _own(name, recall or RecallSection())
    if name in SHELVED:
        return ShelfMemory(name, Shelf.of(recall or RecallSection()), SHELVED[name])
    raise GameError(unknown("memory", name, memory_names()))
