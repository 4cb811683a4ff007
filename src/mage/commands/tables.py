"""What the tables of several commands have in common: lists on the command line, and intervals."""

from __future__ import annotations

from mage.errors import MageError

Ends = tuple[float, float] | None


def names(option: str, text: str) -> list[str]:
    """The names of a comma-separated list. Raises MageError where one is empty.

    >>> names("methods", "mage, grpo")
    ['mage', 'grpo']
    """
    words = [word.strip() for word in text.split(",")]
    if "" in words:
        raise MageError(f"--{option} {text!r}: expected names separated by commas")
    return words


def numbers(option: str, text: str) -> list[int]:
    """Different whole numbers of a comma-separated list. Raises MageError for anything else.

    >>> numbers("seeds", "0, 1,2")
    [0, 1, 2]
    """
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or len(set(found)) < len(found):
        raise MageError(f"--{option} {text!r}: expected different whole numbers separated by commas, such as 0,1,2")
    return found


def span(ends: Ends, digits: int, missing: str = "") -> str:
    """An interval.

    >>> span((-0.001, 0.25), 2)
    '0.00 … 0.25'
    """
    return missing if ends is None else f"{ends[0]:z.{digits}f} … {ends[1]:z.{digits}f}"
