"""What opponents that can tell their mixture have in common: sampling it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mage.chance import Dice
from mage.play.game import State
from mage.play.soundness import check_mixture

Mixture = Sequence[tuple[int, float]]
"""(action, probability) pairs; probabilities are positive and sum to 1."""
MOST_CHECKED = 10_000
"""Positions at which an opponent remembers that its mixture was sound; at others it is checked each time."""


def sample(mixture: Mixture, dice: Dice) -> int:
    """An action drawn from `mixture`; the dice stay untouched where there is only one.

    >>> from mage.chance import SeededDice
    >>> sample([(4, 1.0)], SeededDice(0))
    4
    """
    if len(mixture) == 1:
        return mixture[0][0]
    return mixture[dice.pick([probability for _, probability in mixture])][0]


class Mixed:
    """An opponent given by a rule from states to mixtures: a `PolicyOpponent`.

    Args:
        name: its normalised spec.
        rule: pure function from a state (never chance or terminal) to a mixture.
    """

    __slots__ = ("_checked", "_rule", "name")

    def __init__(self, name: str, rule: Callable[[State], Mixture]) -> None:
        self.name = name
        self._rule = rule
        self._checked: set[tuple[int, ...]] = set()

    def policy(self, state: State) -> Mixture:
        """(action, probability) pairs at `state`. Raises GameError where the rule gives no mixture."""
        mixture = self._rule(state)
        if state.history not in self._checked:
            check_mixture(self.name, state, mixture)
            if len(self._checked) < MOST_CHECKED:
                self._checked.add(state.history)
        return mixture

    async def act(self, state: State, dice: Dice) -> int:
        """An action drawn from the mixture at `state`."""
        return sample(self.policy(state), dice)
