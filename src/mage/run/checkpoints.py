"""Checkpoints that are whole or not there: written under a temporary name, sealed by a manifest, renamed."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mage.errors import RunError
from mage.run.files import encode, remove, sha256, sync, write_text, writing

MANIFEST = "checkpoint.json"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A whole checkpoint: its iteration and its folder."""

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
            _seal(part, iteration)
            _swap(part, final)
        finally:
            remove(part)
    _prune(parent, iteration, keep)


def latest(parent: Path) -> Checkpoint | None:
    """The newest whole checkpoint, None if there is none at all; damaged ones are skipped with a warning.

    Raises RunError if there are checkpoints and each of them is damaged.
    """
    damages = []
    for path in sorted(parent.glob("iteration_*"), reverse=True):
        damage = _damage(path)
        if damage is None:
            return Checkpoint(_iteration(path), path)
        damages.append(f"{path}: {damage}")
        log.warning("checkpoint skipped: %s", damages[-1])
    if damages:
        raise RunError("no checkpoint can be resumed from: " + "; ".join(damages))
    return None


def _seal(folder: Path, iteration: int) -> None:
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            sync(path)
            files[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    write_text(folder / MANIFEST, encode({"iteration": iteration, "files": files}) + "\n")
    sync(folder)


def _swap(part: Path, final: Path) -> None:
    old = final.with_name(f".{final.name}.old")
    if final.exists():  # a damaged one that training has come past again
        final.rename(old)
    part.rename(final)
    sync(final.parent)
    remove(old)


def _prune(parent: Path, iteration: int, keep: int) -> None:
    # one that claims a later iteration than the newest was skipped as damaged: it does not count
    whole = sorted(path for path in parent.glob("iteration_*") if _iteration(path) <= iteration)
    for path in whole[:-keep]:
        remove(path)


def _iteration(path: Path) -> int:
    return int(path.name.removeprefix("iteration_"))


def _damage(folder: Path) -> str | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {name: (entry["bytes"], entry["sha256"]) for name, entry in manifest["files"].items()}
    except OSError:
        return f"{MANIFEST} is missing (the checkpoint was cut short)"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{MANIFEST} is not readable"
    for name, (size, digest) in files.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} was cut short ({path.stat().st_size} bytes of {size})"
        if sha256(path) != digest:
            return f"{name} has other bytes than were written"
    return None
