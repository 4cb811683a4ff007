"""Opponents written as rules: the paper's Kuhn population, preferred positions at tic-tac-toe, uniform random play.

Source of the Kuhn scripts and of the idea of preferred positions: MAGE (arXiv 2603.03680), its population.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from mage.play.game import State
from mage.play.games.kuhn import BET, PASS
from mage.play.games.tic_tac_toe import ACTIONS as CELLS
from mage.play.opponents.policy import Mixture

Rule = Callable[[State], Mixture]

_J, _Q, _K = 0, 1, 2
_PASS: Mixture = ((PASS, 1.0),)
_BET: Mixture = ((BET, 1.0),)

# name -> (summary, cards it bets with, cards it calls with)
KUHN_SCRIPTS = MappingProxyType(
    {
        "conservative": ("bets and calls only with K", frozenset({_K}), frozenset({_K})),
        "aggressive": ("bets every card, folds only J", frozenset({_J, _Q, _K}), frozenset({_Q, _K})),
        "intermediate": ("bets Q and K, calls only with K", frozenset({_Q, _K}), frozenset({_K})),
        "calling_station": ("never bets, calls every bet", frozenset[int](), frozenset({_J, _Q, _K})),
    }
)


def kuhn_rule(name: str) -> Rule:
    """The rule of one of `KUHN_SCRIPTS`: deterministic play by its own card.

    >>> from mage.play.games import make_game
    >>> root = make_game("kuhn_poker").root()
    >>> kuhn_rule("aggressive")(root.child(0).child(1))  # holds J, nobody has bet: bets
    ((1, 1.0),)
    """
    _, bets, calls = KUHN_SCRIPTS[name]

    def rule(state: State) -> Mixture:
        history = state.history
        answers = len(history) > 2 and history[-1] == BET
        return _BET if history[state.player] in (calls if answers else bets) else _PASS

    return rule


_CENTER, _CORNERS, _EDGES = ("b2",), ("a1", "c1", "a3", "c3"), ("b1", "a2", "c2", "b3")

PREFERRED_ORDERS = MappingProxyType(
    {
        "center_first": _CENTER + _CORNERS + _EDGES,
        "corners_first": _CORNERS + _CENTER + _EDGES,
        "edges_first": _EDGES + _CENTER + _CORNERS,
        "rows": CELLS,
    }
)


def preferred_rule(order: str) -> Rule:
    """Takes the first free cell of the list `PREFERRED_ORDERS[order]`, whatever the other player does.

    >>> from mage.play.games import make_game
    >>> preferred_rule("center_first")(make_game("tic_tac_toe").root())
    ((4, 1.0),)
    """
    actions = [CELLS.index(cell) for cell in PREFERRED_ORDERS[order]]

    def rule(state: State) -> Mixture:
        free = state.actions
        return ((next(action for action in actions if action in free), 1.0),)

    return rule


def random_rule(state: State) -> Mixture:
    """Every legal action with the same probability."""
    share = 1.0 / len(state.actions)
    return tuple((action, share) for action in state.actions)
