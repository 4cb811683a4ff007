"""Opponents that look ahead: Monte-Carlo tree search (OpenSpiel's C++ bot) and exact minimax."""

from __future__ import annotations

from typing import Any

import pyspiel

from mage.chance import Dice, derive
from mage.play.game import State
from mage.play.games.openspiel import Node, OpenSpielGame
from mage.play.opponents.policy import Mixture

SEED_SPAN = 2**31
"""OpenSpiel's generators take seeds below this."""
_MEMORY_MB = 200
_LARGEST_TREE = 10**9


class Mcts:
    """UCT with random rollouts: a fresh, seeded search at each move, so that play replays exactly.

    The tree is proven where it can be (MCTS-Solver), as OpenSpiel's bot does.

    Args:
        name: normalised spec.
        game: a perfect-information game.
        simulations: simulations per move.
        uct: exploration constant c of UCT.
        seed: None: each search draws a seed from the dice, play is mixed. A number: the search of a position is always
            the same one, play is deterministic and leaves the dice alone.
    """

    def __init__(self, name: str, game: OpenSpielGame, simulations: int, uct: float, seed: int | None) -> None:
        self.name = name
        self._native = game.native
        self._simulations = simulations
        self._uct = uct
        self._seed = seed

    async def act(self, state: State, dice: Dice) -> int:
        """The action that the search likes best at `state`."""
        assert isinstance(state, Node)
        seed = (dice.seed() if self._seed is None else derive(self._seed, "mcts", *state.history)) % SEED_SPAN
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        bot = pyspiel.MCTSBot(
            self._native, evaluator, self._uct, self._simulations, _MEMORY_MB, solve=True, seed=seed, verbose=False
        )
        return int(bot.step(state.native()))


class Minimax:
    """Optimal play of a small perfect-information game: uniform over the actions of the best minimax value.

    v(s) = max over a of v(s·a) where seat 0 moves, min where seat 1 moves; values are kept per position, so that
    tic-tac-toe (5,478 positions) is solved once. A `PolicyOpponent`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._values: dict[str, float] = {}
        self._best: dict[str, Mixture] = {}

    def value(self, native: Any) -> float:
        """Return of seat 0 from a `pyspiel.State` when both seats play optimally."""
        position = str(native)
        known = self._values.get(position)
        if known is None:
            if native.is_terminal():
                known = float(native.player_return(0))
            else:
                values = [self.value(native.child(action)) for action in native.legal_actions()]
                known = max(values) if native.current_player() == 0 else min(values)
            self._values[position] = known
        return known

    def policy(self, state: State) -> Mixture:
        """The optimal actions at `state`, each with the same probability."""
        assert isinstance(state, Node)
        native = state.native()
        position = str(native)
        mixture = self._best.get(position)
        if mixture is None:
            best = self.value(native)
            actions = [action for action in state.actions if self.value(native.child(action)) == best]
            mixture = self._best[position] = tuple((action, 1.0 / len(actions)) for action in actions)
        return mixture

    async def act(self, state: State, dice: Dice) -> int:
        """One of the optimal actions at `state`; the dice choose between them if there are several."""
        mixture = self.policy(state)
        return mixture[0][0] if len(mixture) == 1 else mixture[dice.pick([1.0] * len(mixture))][0]


def small_enough(game: OpenSpielGame) -> bool:
    """Whether minimax can search the game whole: actions ** longest game is at most 10⁹ (a bound on its lines)."""
    return bool(game.native.num_distinct_actions() ** game.native.max_game_length() <= _LARGEST_TREE)
