"""The catalogue of opponents: what each is called, which parameters it takes, which games it fits, how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from mage.play.game import Opponent, TreeGame
from mage.play.games.openspiel import OpenSpielGame
from mage.play.opponents.equilibrium import Equilibrium, average_policy
from mage.play.opponents.policy import Mixed
from mage.play.opponents.scripted import KUHN_SCRIPTS, PREFERRED_ORDERS, kuhn_rule, preferred_rule, random_rule
from mage.play.opponents.search import SEED_SPAN, Mcts, Minimax, small_enough
from mage.play.specs import Parameter, Value

Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of opponent."""

    name: str
    summary: str
    needs: str
    """What it needs of a game, in words."""
    fits: Callable[[TreeGame], bool]
    build: Callable[[str, TreeGame, Values], Opponent]
    """(normalised spec, game that fits, parameters) → opponent."""
    parameters: tuple[Parameter, ...] = ()


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Entry]:
    """All kinds of opponents by name (read only)."""
    entries = [*_kuhn_scripts(), _random(), _preferred(), _mcts(), _minimax(), _cfr()]
    return MappingProxyType({entry.name: entry for entry in entries})


def _kuhn_scripts() -> list[Entry]:
    def entry(name: str, summary: str) -> Entry:
        return Entry(
            name, summary, "kuhn_poker", _is("kuhn_poker"), lambda spec, game, values: Mixed(spec, kuhn_rule(name))
        )

    return [entry(name, summary) for name, (summary, _, _) in KUHN_SCRIPTS.items()]


def _random() -> Entry:
    return Entry(
        "random",
        "every legal action with the same probability",
        "any game",
        lambda game: True,
        lambda spec, game, values: Mixed(spec, random_rule),
    )


def _preferred() -> Entry:
    order = Parameter(
        "order", "center_first", "list of cells; the first free one is taken", choices=tuple(PREFERRED_ORDERS)
    )
    return Entry(
        "preferred",
        "takes the first free cell of a fixed list",
        "tic_tac_toe",
        _is("tic_tac_toe"),
        lambda spec, game, values: Mixed(spec, preferred_rule(str(values["order"]))),
        (order,),
    )


def _mcts() -> Entry:
    def build(spec: str, game: TreeGame, values: Values) -> Opponent:
        assert isinstance(game, OpenSpielGame)
        simulations, uct, seed = values["simulations"], values["uct"], values["seed"]
        assert isinstance(simulations, int)
        assert isinstance(uct, float)
        assert seed is None or isinstance(seed, int)
        return Mcts(spec, game, simulations, uct, seed)

    return Entry(
        "mcts",
        "Monte-Carlo tree search with random rollouts",
        "a game of perfect information",
        lambda game: isinstance(game, OpenSpielGame) and game.perfect_information,
        build,
        (
            Parameter("simulations", 100, "simulations per move", low=1, high=1_000_000),
            Parameter("uct", 2.0, "exploration constant of UCT", hidden=True),
            Parameter("seed", None, "fixes the search of each position", high=SEED_SPAN - 1, hidden=True),
        ),
    )


def _minimax() -> Entry:
    return Entry(
        "minimax",
        "optimal play, uniform among equally good actions",
        "a small game of perfect information without chance",
        lambda game: (
            isinstance(game, OpenSpielGame) and game.perfect_information and not game.has_chance and small_enough(game)
        ),
        lambda spec, game, values: Minimax(spec),
    )


def _cfr() -> Entry:
    def build(spec: str, game: TreeGame, values: Values) -> Opponent:
        assert isinstance(game, OpenSpielGame)
        iterations = values["iterations"]
        assert isinstance(iterations, int)
        return Equilibrium(spec, average_policy(game, iterations))

    return Entry(
        "cfr",
        "equilibrium: samples the average policy of CFR+",
        "a small game of imperfect information",
        lambda game: isinstance(game, OpenSpielGame) and not game.perfect_information,
        build,
        (Parameter("iterations", 1000, "iterations of CFR+", low=1, high=1_000_000),),
    )


def _is(name: str) -> Callable[[TreeGame], bool]:
    return lambda game: game.name == name
