"""Checkpoints that are whole or not there: written under a temporary name, sealed by a manifest, renamed."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mage.errors import RunError
from mage.run.files import remove, sync, writing
from mage.run.seal import damage, seal

MANIFEST = "checkpoint.json"
STATE = ("engine.json", "weights.safetensors", "optimizer.safetensors")
"""Files without which no engine's state is whole."""
NAME = re.compile("iteration_([0-9]{6,})")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint: its iteration and its folder."""

    iteration: int
    path: Path


@contextmanager
def saving(parent: Path, iteration: int, keep: int) -> Iterator[Path]:
    """An empty folder to write a checkpoint into; at the end it is sealed, renamed, and older ones beyond `keep` go.

    If the body or the disk fails, the unfinished folder is removed and the checkpoints that were there stay. A body
    that fails for want of space raises RunError.
    """
    final = parent / f"iteration_{iteration:06d}"
    part = parent / f".{final.name}.partial"
    with writing(final):
        for stale in parent.glob(".iteration_*"):  # left by a kill
            remove(stale)
        part.mkdir(parents=True)
        try:
            yield part
            seal(part, MANIFEST, iteration=iteration)
            _swap(part, final)
        finally:
            remove(part)
    _prune(parent, iteration, keep)


def found(parent: Path) -> list[Checkpoint]:
    """All checkpoints, whole or not, oldest first; what has another name is somebody's own and left alone."""
    named = [(NAME.fullmatch(path.name), path) for path in parent.glob("iteration_*")]
    return sorted(
        (Checkpoint(int(match[1]), path) for match, path in named if match),
        key=lambda checkpoint: (checkpoint.iteration, checkpoint.path),
    )


def latest(parent: Path, up_to: int | None = None) -> Checkpoint | None:
    """The newest whole checkpoint (of iteration `up_to` at most); None if there is none at all.

    Damaged ones are skipped with a warning. Raises RunError if there are some and each of them is damaged.
    """
    damages = []
    for checkpoint in reversed(found(parent)):
        if up_to is not None and checkpoint.iteration > up_to:
            continue
        wrong = damage(checkpoint.path, MANIFEST, STATE, iteration=checkpoint.iteration)
        if wrong is None:
            return checkpoint
        damages.append(f"{checkpoint.path}: {wrong}")
        log.warning("checkpoint skipped: %s", damages[-1])
    if damages:
        raise RunError("no checkpoint can be resumed from: " + "; ".join(damages))
    return None


def _swap(part: Path, final: Path) -> None:
    old = final.with_name(f".{final.name}.old")
    if final.exists():  # a damaged one that training has come past again
        final.rename(old)
    part.rename(final)
    sync(final.parent)
    remove(old)


def _prune(parent: Path, iteration: int, keep: int) -> None:
    # one that claims a later iteration than the newest was skipped as damaged: it does not count
    for checkpoint in [one for one in found(parent) if one.iteration <= iteration][:-keep]:
        remove(checkpoint.path)
