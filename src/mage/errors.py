"""Errors that a user can mend: the command line prints them without a traceback and exits with status 2."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path


class MageError(Exception):
    """A mistake in what was asked (a recipe, a file, an argument), said in words that tell how to mend it."""


class RecipeError(MageError):
    """A recipe that cannot be run: the message names the key, the value and what is accepted."""


class GameError(MageError):
    """A game, opponent or action that does not exist or does not fit."""


class EngineError(MageError):
    """A model, server or device that cannot do what was asked of it."""


class RunError(MageError):
    """A run folder or one of its files that is missing, cut short or of another recipe."""


def told(error: BaseException) -> str:
    """What was raised by code that is not ours, and where, in one line.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     told(error)
    'ZeroDivisionError: division by zero (<doctest mage.errors.told[0]>, line 2)'
    """
    message = " ".join(str(error).split())
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or isinstance(error, SyntaxError):  # a SyntaxError says itself where it is
        return said
    return f"{said} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def unknown(kind: str, given: str, known: Iterable[str]) -> str:
    """A sentence for a name that does not exist, with the nearest name and all that exist.

    >>> unknown("opponent", "agressive", ["aggressive", "random"])
    "unknown opponent 'agressive' (did you mean 'aggressive'?); known: aggressive, random"
    """
    names = sorted(known)
    near = difflib.get_close_matches(given, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown {kind} {given!r}{hint}; known: {', '.join(names)}"
