"""What the episodes of games of one seat have in common: how they end, are given up, and refuse an action."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mage.errors import GameError


class SoloEpisode(ABC):
    """An episode of one seat, until the world ends it or its player gives up; what is said of the end waits for it."""

    __slots__ = ("gave_up",)

    def __init__(self) -> None:
        self.gave_up = False

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether the world has ended it."""

    @abstractmethod
    def score(self) -> float:
        """The return of an episode that has ended; also of one that was given up."""

    @abstractmethod
    def ending(self) -> str:
        """How it ended, in words."""

    @property
    def seat(self) -> int | None:
        """0 until it has ended."""
        return None if self.gave_up or self.over else 0

    async def forfeit(self, seat: int) -> None:
        """Give up. Raises GameError if the episode has ended."""
        if self.seat is None:
            raise GameError(f"seat {seat} cannot forfeit: the episode has ended")
        self.gave_up = True

    def returns(self) -> tuple[float, ...]:
        """The score. Raises GameError before the end."""
        self._check_ended("returns")
        return (self.score(),)

    def outcome(self, seat: int) -> str:
        """How it ended. Raises GameError before the end."""
        self._check_ended("outcome")
        return self.ending()

    def refusal(self, action: str, accepted: str) -> GameError:
        """What to raise for an `action` that is not legal, where `accepted` is."""
        legal = "none (the episode has ended)" if self.seat is None else accepted
        return GameError(f"action {action!r} is not legal here; legal: {legal}")

    def _check_ended(self, what: str) -> None:
        if self.seat is not None:
            raise GameError(f"the episode has not ended: it has no {what} yet")
