"""Positions of the combination lock."""

from __future__ import annotations

from dataclasses import dataclass

from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL


@dataclass(frozen=True, slots=True)
class LockState:
    """A position: what is dealt of the code and which letters were tried; an action is the number of a letter."""

    depth: int
    symbols: int
    dealt: bool
    """Whether the code is chance's: it is then part of the history."""
    code: tuple[int, ...]
    """The right letter of each dial, as far as they are dealt."""
    tried: tuple[int, ...] = ()

    @property
    def jammed(self) -> bool:
        """Whether the last letter tried was wrong."""
        return bool(self.tried) and self.tried[-1] != self.code[len(self.tried) - 1]

    @property
    def player(self) -> int:
        """0 while there is a dial to set; CHANCE before, TERMINAL after."""
        if len(self.code) < self.depth:
            return CHANCE
        return TERMINAL if self.jammed or len(self.tried) == self.depth else 0

    @property
    def history(self) -> tuple[int, ...]:
        """The letters that chance drew, then those that were tried."""
        return self.code + self.tried if self.dealt else self.tried

    @property
    def actions(self) -> tuple[int, ...]:
        """All letters, at every dial and for chance; none at the end."""
        return () if self.player == TERMINAL else tuple(range(self.symbols))

    @property
    def chance(self) -> tuple[float, ...]:
        """All letters alike, at a chance node."""
        return (1 / self.symbols,) * self.symbols if self.player == CHANCE else ()

    @property
    def returns(self) -> tuple[float, ...]:
        """1 for an open lock, 0 for a jammed one; nothing before the end."""
        return (float(not self.jammed),) if self.player == TERMINAL else ()

    def child(self, action: int) -> LockState:
        """The state after `action`. Raises GameError if it is not legal."""
        player = self.player
        if player == TERMINAL or not 0 <= action < self.symbols:
            legal = ", ".join(map(str, self.actions)) or "none (the episode has ended)"
            raise GameError(f"action {action!r} is not legal here; legal: {legal}")
        if player == CHANCE:
            return LockState(self.depth, self.symbols, self.dealt, (*self.code, action))
        return LockState(self.depth, self.symbols, self.dealt, self.code, (*self.tried, action))
