"""Folders sealed by a manifest with the size and SHA-256 of each file: damage is seen before anything is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mage.run.files import encode, sha256, sync, write_text

SEAL = "seal.json"


def seal(folder: Path, manifest: str = SEAL, **facts: int) -> None:
    """Bring all files of `folder` to the disk and write their manifest, with `facts` beside them."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            sync(path)
            files[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    write_text(folder / manifest, encode({**facts, "files": files}) + "\n")
    sync(folder)


def damage(folder: Path, manifest: str = SEAL, needs: Sequence[str] = (), **facts: int) -> str | None:
    """What is wrong with a sealed folder, in words; None if all is as it was written.

    `needs`: files that must be among the sealed ones. `facts`: what the manifest must say besides.
    """
    try:
        told = json.loads((folder / manifest).read_text(encoding="utf-8"))
        files = {name: (entry["bytes"], entry["sha256"]) for name, entry in told["files"].items()}
    except OSError:
        return f"{manifest} is missing: it was not written to its end"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{manifest} is not readable"
    for key, value in facts.items():
        if told.get(key) != value:
            return f"{manifest} is of {key} {told.get(key)}"
    unlisted = [name for name in needs if name not in files]
    if unlisted or not files:
        return f"{manifest} does not list {unlisted[0] if unlisted else 'any file'}"
    return next((found for name, sealed in files.items() if (found := _file_damage(folder, name, *sealed))), None)


def _file_damage(folder: Path, name: str, size: int, digest: str) -> str | None:
    path = folder / name
    try:
        if path.stat().st_size != size:
            size_now = path.stat().st_size
            return (
                f"{name} {'was cut short' if size_now < size else 'has grown'} ({size_now} bytes, {size} were written)"
            )
        return None if sha256(path) == digest else f"{name} has other bytes than were written"
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError as error:
        return f"{name} cannot be read ({error.strerror})"
