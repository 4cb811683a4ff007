"""What is checked of games and opponents of a user's own: probabilities that sum to 1, returns that are numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Real

from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL, State, TreeGame

TOLERANCE = 1e-9
"""How far from 1 probabilities may sum."""
FIRST = 200
"""Positions of a game that are looked at before it is played."""


def check_mixture(name: str, state: State, mixture: Iterable[tuple[int, float]]) -> None:
    """Raise GameError if what opponent `name` plays at `state` is no mixture over its legal actions."""
    total, actions, sound = 0.0, state.actions, True
    for action, probability in mixture:
        total += probability
        sound = sound and probability >= 0 and action in actions
    if not (sound and abs(total - 1) <= TOLERANCE):  # so that NaN is no probability
        raise GameError(
            f"opponent {name!r} is no mixture after history {state.history}: {_listed(mixture)}, sum {total:.10g}; "
            f"expected probabilities of legal actions ({_listed(actions)}) that sum to 1"
        )


def check_chance(game: str, state: State) -> None:
    """Raise GameError if the outcomes at a chance node of `game` have no probabilities that sum to 1."""
    chance = state.chance
    sound = len(chance) == len(state.actions) and all(weight >= 0 for weight in chance)
    if not (sound and abs(sum(chance) - 1) <= TOLERANCE):
        raise GameError(
            f"game {game!r}: chance after history {state.history} has probabilities {_listed(chance)}, sum "
            f"{sum(chance):.10g}; expected one for each of {len(state.actions)} outcomes, and a sum of 1"
        )


def check_returns(game: str, state: State) -> None:
    """Raise GameError if `state`, at which an episode of `game` ends, has returns that are no finite numbers."""
    if not all(map(is_number, state.returns)):
        raise GameError(
            f"game {game!r}: after history {state.history} the returns are {_listed(state.returns)}; "
            "expected a finite number for each seat"
        )


def is_number(value: object) -> bool:
    """Whether a return is a finite number."""
    return isinstance(value, (float, Real)) and isfinite(value)


def check_start(game: TreeGame) -> None:
    """Raise GameError if chance or returns are unsound at one of the first positions of `game`, in order of depth."""
    waiting = deque([game.root()])
    for _ in range(FIRST):
        if not waiting:
            return
        state = waiting.popleft()
        if state.player == TERMINAL:
            check_returns(game.name, state)
            continue
        if state.player == CHANCE:
            check_chance(game.name, state)
        if len(waiting) < FIRST:
            waiting.extend(state.child(action) for action in state.actions)


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items)) if isinstance(items, Sequence) and items else "none"
