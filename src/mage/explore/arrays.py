"""Named arrays in a file of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from mage.errors import RunError

Arrays = Mapping[str, npt.NDArray[Any]]


def write(path: Path, arrays: Arrays) -> None:
    """Write the arrays into a file (safetensors)."""
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


def read(path: Path, like: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file that `write` wrote.

    Raises RunError, naming the file, where it cannot be read, or where names, types or shapes behind the first
    dimension are not those of `like`.
    """
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path}: cannot be read ({error})") from None
    if _kinds(found) != _kinds(like):
        raise RunError(f"{path}: written by novelty of another kind: {_kinds(found)} there, {_kinds(like)} here")
    return found


def _kinds(arrays: Arrays) -> dict[str, str]:
    return {name: f"{arrays[name].dtype}{[..., *arrays[name].shape[1:]]}" for name in sorted(arrays)}
