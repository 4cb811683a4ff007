"""Writing that cannot harm what is there: whole files by rename, lines by append, failures said in words."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mage.errors import RunError

Row = dict[str, Any]
REMOVE = "remove that line to go on"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write `path` (a full disk, no permission) into a RunError that names it."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        if error.errno == errno.ENOSPC:
            raise RunError(
                f"{where}: the disk is full; what was saved before is whole: free space, then resume"
            ) from error
        raise RunError(f"{where}: cannot be written ({error.strerror or error})") from error
    except Exception as error:
        # safetensors and Arrow report a full disk with exceptions of their own
        if "no space left on device" in str(error).lower():
            raise RunError(
                f"{path}: the disk is full; what was saved before is whole: free space, then resume"
            ) from error
        raise


def encode(value: object) -> str:
    """One line of strict JSON; NumPy values become plain ones and numbers that are not finite become null.

    >>> encode({"payoff": [0.5, float("nan")]})
    '{"payoff": [0.5, null]}'
    """
    return json.dumps(_plain(value), allow_nan=False, ensure_ascii=False)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` at once: a reader sees the old file or the new one, never a part."""
    part = path.with_name(f".{path.name}.partial")
    with writing(path):
        try:
            with part.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def append_line(path: Path, row: Row) -> None:
    """Append `row` as one line of JSON; if that fails half-way, the file is cut back to what it was."""
    line = (encode(row) + "\n").encode()
    with writing(path), path.open("ab", buffering=0) as file:
        size = file.tell()
        try:
            left = memoryview(line)
            while left:
                left = left[file.write(left) :]
        except OSError:
            file.truncate(size)
            raise


def read_json(path: Path) -> Row:
    """The JSON object in a file. Raises RunError where it cannot be read or is something else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise RunError(f"{path}: expected a JSON object")
    return value


def read_lines(path: Path, keys: Sequence[str] = (), *, advice: str = REMOVE) -> list[Row]:
    """All rows of a JSON Lines file; a last line cut short by a kill is left out.

    Raises RunError, with `advice`, for other damage, and for a row without one of `keys`.
    """
    rows = []
    for number, line in enumerate(_lines(path), start=1):
        row = _row(line)
        if isinstance(row, str):
            raise RunError(f"{path}: line {number} is {row}; {advice}")
        for key in keys:
            if key not in row:
                raise RunError(f"{path}: line {number} has no {key!r}; {advice}")
        rows.append(row)
    return rows


def keep_lines(path: Path, last_iteration: int) -> None:
    """Drop the rows after `last_iteration` and a half-written last line; the rows that stay keep their bytes.

    Raises RunError for other damage, and if it cannot be written.
    """
    rows = read_lines(path)
    lines = [line for line, row in zip(_lines(path), rows, strict=True) if row["iteration"] <= last_iteration]
    write_text(path, "".join(line + "\n" for line in lines))


def keep_first(path: Path, count: int) -> None:
    """Drop all but the first `count` lines, whatever the others are. Raises RunError if it cannot be written."""
    write_text(path, "".join(line + "\n" for line in _lines(path)[:count]))


def unbroken_rows(path: Path) -> tuple[int, int]:
    """How many rows there are from iteration 1 on until one is missing, repeated or damaged; and how many lines."""
    lines = _lines(path)
    for count, line in enumerate(lines):
        row = _row(line)
        if isinstance(row, str) or row["iteration"] != count + 1:
            return count, len(lines)
    return len(lines), len(lines)


def set_aside(path: Path) -> Path:
    """Copy a damaged file beside itself, under a name that is free."""
    number = 1
    while (copy := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    with writing(copy):
        shutil.copyfile(path, copy)
    return copy


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's entries, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a folder and all in it, a file or a link (not what it leads to); what is not there is left alone."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def _lines(path: Path) -> list[str]:
    """The lines of a file but for one that was cut short; none if there is no file."""
    if not path.exists():
        return []
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    return text.split("\n")[:-1]  # what follows the last line break was cut short


def _row(line: str) -> Row | str:
    """The row of an iteration, or what the line is instead."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return "not JSON"
    return row if isinstance(row, dict) and isinstance(row.get("iteration"), int) else "no row of an iteration"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):  # NumPy's float64 too
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return value
