"""Words of the combination lock in two dialects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from mage.play.game import Dialect


class LockWords(Protocol):
    """How one dialect tells a lock; dials are numbered from 1."""

    rules: str
    open: str
    """Told when the last dial was right."""
    forfeit: str

    def show(self, dial: int) -> str:
        """What is seen at a dial: its number and nothing else."""
        ...

    def dial(self, view: str) -> int:
        """The number of the dial that `view` shows."""
        ...

    def jam(self, dial: int, letter: str) -> str:
        """Told when `letter` was wrong at `dial`; never which one would have been right."""
        ...

    def intention(self, dial: int, letter: str) -> str:
        """A strategy that leads to `letter` at `dial`."""
        ...


class CompactLock:
    """The compact dialect: `dial 3`, `jam -3c`, `open`; a letter at a dial is one word, and so is its being wrong."""

    def __init__(self, depth: int, letters: Sequence[str], dealt: bool) -> None:
        self.rules, self.open, self.forfeit = "", "open", "forfeit"

    def show(self, dial: int) -> str:
        """`dial 3`."""
        return f"dial {dial}"

    def dial(self, view: str) -> int:
        """The number after the word."""
        return int(view.split()[-1])

    def jam(self, dial: int, letter: str) -> str:
        """`jam -3c`."""
        return f"jam -{dial}{letter}"

    def intention(self, dial: int, letter: str) -> str:
        """`3c`."""
        return f"{dial}{letter}"


class NaturalLock:
    """The natural dialect: sentences."""

    def __init__(self, depth: int, letters: Sequence[str], dealt: bool) -> None:
        self._depth = depth
        self.rules = _rules(depth, letters, dealt)
        self.open = "The last dial clicked and the lock opened. You score 1."
        self.forfeit = "You gave up, and the lock stays shut. You score 0."

    def show(self, dial: int) -> str:
        """The number of the dial, in a sentence."""
        return f"You are at dial {dial} of {self._depth}."

    def dial(self, view: str) -> int:
        """The number after the fourth word."""
        return int(view.split()[4])

    def jam(self, dial: int, letter: str) -> str:
        """Which dial jammed with which letter."""
        return f"The letter {letter} is wrong at dial {dial}: the lock jammed and stays shut. You score 0."

    def intention(self, dial: int, letter: str) -> str:
        """A sentence of what will be done."""
        return f"At dial {dial} set the letter {letter}."


def _rules(depth: int, letters: Sequence[str], dealt: bool) -> str:
    dials = f"{depth} dials, which are set one after the other, from the first to the last" if depth > 1 else "one dial"
    drawn = "Each dial's right letter was drawn at random among all of them, independently of the other dials."
    kept = "" if dealt else " The code of this lock never changes."
    return f"""\
You open a combination lock. It has {dials}; each dial takes one of the letters {", ".join(letters)}.
One letter of each dial is right. If you set the right one, the dial clicks and you go on to the next dial. A wrong \
letter jams the lock, which ends the episode. When all dials are right, the lock opens.
{drawn}{kept}
You score 1 if the lock opens and 0 if it does not; a dial that clicks scores nothing by itself.
Your goal is to open the lock."""


WORDINGS: Mapping[Dialect, Callable[[int, Sequence[str], bool], LockWords]] = {
    "compact": CompactLock,
    "natural": NaturalLock,
}
