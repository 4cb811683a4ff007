"""Opponents of Kuhn poker given by a table."""

from __future__ import annotations

from dataclasses import dataclass

from mage.chance import Dice
from mage.play.game import State


@dataclass(frozen=True)
class Table:
    """Probability of betting with J, Q, K (`lead`) and of calling a bet with them (`call`)."""

    name: str
    lead: tuple[float, float, float]
    call: tuple[float, float, float]

    def policy(self, state: State) -> list[tuple[int, float]]:
        card = state.history[state.player]
        bet = (self.call if 1 in state.history[2:] else self.lead)[card]
        return [(0, 1 - bet), (1, bet)]

    async def act(self, state: State, dice: Dice) -> int:
        bet = self.policy(state)[1][1]
        return int(bet) if bet in (0, 1) else dice.pick([1 - bet, bet])


CONSERVATIVE = Table("conservative", (0, 0, 1), (0, 0, 1))
AGGRESSIVE = Table("aggressive", (1, 1, 1), (0, 1, 1))
INTERMEDIATE = Table("intermediate", (0, 1, 1), (0, 0, 1))
MIXED = Table("mixed", (0.25, 0.5, 1), (0, 0.75, 0.5))
POOL = (CONSERVATIVE, AGGRESSIVE, INTERMEDIATE)
