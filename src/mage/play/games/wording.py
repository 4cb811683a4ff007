"""What a game brings besides its rules in code: its words. One `Description` per game, told in two dialects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mage.play.game import UNITS, Dialect, State

SEATS = ("first", "second")


@dataclass(frozen=True, slots=True)
class Wording:
    """How one dialect tells a game; every function is pure and gets a state and the seat that reads."""

    rules: Callable[[int], str]
    """Rules and goal for a seat."""
    show: Callable[[State, int], str]
    """What a seat sees; equal texts are one information state."""
    outcome: Callable[[State, int], str]
    """How a finished episode ended, as the seat may know it."""
    forfeit: Callable[[State, int, int, float], str]
    """(state, seat, loser, payoff): what `seat` is told when `loser` forfeited and `seat` got `payoff`."""


@dataclass(frozen=True, slots=True)
class Description:
    """A game of OpenSpiel and all the words it needs."""

    name: str
    summary: str
    """One line for listings."""
    native: str
    """The string that OpenSpiel loads the game from."""
    actions: tuple[str, ...]
    """Name of each action, in both dialects; index = OpenSpiel's action."""
    vocabulary: tuple[str, ...]
    """Every word of the compact dialect."""
    wordings: Mapping[Dialect, Wording]
    facts: Callable[[State, int], tuple[str, ...]]
    """True remarks `seat` could make of an episode that ended in `state` (not terminal: it was forfeited)."""
    units: str = UNITS
    """What a return counts, for captions."""


def no_rules(seat: int) -> str:
    """The compact dialect tells no rules: its reader has learned the game from play."""
    return ""


def signed(value: float) -> str:
    """A payoff as one word.

    >>> signed(2.0), signed(-1.0), signed(0.0)
    ('+2', '-1', '0')
    """
    return f"{value:+g}" if value else "0"


def chips(value: float) -> str:
    """A payoff in chips as the end of a sentence that starts with "You".

    >>> chips(2.0), chips(-1.0), chips(0.0)
    ('win 2 chips', 'lose 1 chip', 'neither win nor lose chips')
    """
    if not value:
        return "neither win nor lose chips"
    return f"{'win' if value > 0 else 'lose'} {abs(value):g} chip{'s' if abs(value) != 1 else ''}"


def result(value: float) -> str:
    """The result that a payoff means: won, lost or drawn.

    >>> result(1.0), result(-1.0), result(0.0)
    ('won', 'lost', 'drawn')
    """
    return "won" if value > 0 else "lost" if value < 0 else "drawn"


def distinct(words: Sequence[str]) -> tuple[str, ...]:
    """The words in order, each once.

    >>> distinct(["took c4", "took c1", "took c4"])
    ('took c4', 'took c1')
    """
    return tuple(dict.fromkeys(words))
