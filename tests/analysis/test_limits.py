from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass, field

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kuhn_brute_force import DEALS, adaptive
from kuhn_tables import AGGRESSIVE, CONSERVATIVE, INTERMEDIATE, MIXED, POOL, Table
from open_spiel.python.algorithms.best_response import BestResponsePolicy
from open_spiel.python.policy import TabularPolicy

from mage.analysis.limits import exact_limits
from mage.errors import GameError, MageError
from mage.play.game import CHANCE, TERMINAL
from mage.play.games import make_game
from mage.play.opponents import make_opponent

KUHN = make_game("kuhn_poker")
CHANCES = st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
TABLES = st.builds(Table, st.just("any"), st.tuples(CHANCES, CHANCES, CHANCES), st.tuples(CHANCES, CHANCES, CHANCES))


def test_known_values_of_kuhn_poker():
    opponents = [make_opponent(name, KUHN) for name in ("conservative", "aggressive", "intermediate")]
    started = time.perf_counter()
    limits = exact_limits(KUHN, opponents, [1, 1, 1], episodes=5)
    assert time.perf_counter() - started < 2
    assert limits.non_adaptive == pytest.approx(1 / 9)
    assert limits.pooled.adaptive_by_episodes[:3] == pytest.approx((0.1111, 0.2037, 0.2423), abs=5e-5)
    assert limits.known == pytest.approx(0.2778, abs=5e-5)
    assert limits.pooled.known_by_opponent == pytest.approx(
        {"conservative": 1 / 4, "aggressive": 1 / 3, "intermediate": 1 / 4}
    )
    assert list(limits.pooled.adaptive_by_episodes) == sorted(limits.pooled.adaptive_by_episodes)
    assert limits.adaptive == limits.pooled.adaptive_by_episodes[-1] < limits.known
    assert limits.sizes.hidden_types == 3
    assert limits.sizes.information_sets == 12


def test_natural_language_tells_as_much_as_the_compact_dialect():
    natural = exact_limits(make_game("kuhn_poker", "natural"), POOL, [1, 1, 1], episodes=3)
    assert natural.pooled == exact_limits(KUHN, POOL, [1, 1, 1], episodes=3).pooled


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("restart", ["redeal", "replay"])
@settings(max_examples=8, deadline=None)
@given(first=TABLES, second=TABLES, share=st.sampled_from([0.2, 0.5]))
def test_two_episodes_agree_with_all_pure_strategies(seat, restart, first, second, share):
    opponents = [Table("a", first.lead, first.call), Table("b", second.lead, second.call)]
    weights = [share, 1 - share]
    limits = exact_limits(KUHN, opponents, weights, episodes=2, restart=restart, seats=[seat])
    belief = {
        (opponent, deal): weight / (len(DEALS) if deal else 1)
        for opponent, weight in zip(opponents, weights, strict=True)
        for deal in (DEALS if restart == "replay" else [None])
    }
    expected = [adaptive(seat, belief, episodes) for episodes in (1, 2)]
    assert limits.by_seat[seat].adaptive_by_episodes == pytest.approx(expected)
    told = [{hidden: b for hidden, b in belief.items() if hidden[0] is opponent} for opponent in opponents]
    assert limits.known == pytest.approx(sum(adaptive(seat, part, 2) for part in told))


def test_three_episodes_agree_with_all_pure_strategies():
    limits = exact_limits(KUHN, [CONSERVATIVE, AGGRESSIVE], [1, 2], episodes=3, seats=[0])
    belief = {(CONSERVATIVE, None): 1 / 3, (AGGRESSIVE, None): 2 / 3}
    assert limits.adaptive == pytest.approx(adaptive(0, belief, 3))


@given(table=TABLES, other=TABLES, episodes=st.integers(1, 4), restart=st.sampled_from(["redeal", "replay"]))
@settings(max_examples=25, deadline=None)
def test_more_episodes_and_more_knowledge_never_hurt(table, other, episodes, restart):
    pool = [Table("a", table.lead, table.call), Table("b", other.lead, other.call), MIXED]
    values = exact_limits(KUHN, pool, [3, 2, 1], episodes=episodes, restart=restart).pooled
    assert len(values.adaptive_by_episodes) == episodes
    steps = [*values.adaptive_by_episodes, values.known]
    assert all(low <= high + 1e-9 for low, high in itertools.pairwise(steps))
    assert values.known == pytest.approx(
        sum(values.known_by_opponent[n] * w for n, w in {"a": 3 / 6, "b": 2 / 6, "mixed": 1 / 6}.items())
    )


class Uneven:
    """In any game: the i-th legal action with probability proportional to i."""

    name = "uneven"

    def policy(self, state):
        total = sum(range(1, len(state.actions) + 1))
        return [(action, (i + 1) / total) for i, action in enumerate(state.actions)]

    async def act(self, state, dice):
        return state.actions[dice.pick([p for _, p in self.policy(state)])]


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_knowing_the_opponent_is_worth_openspiels_best_response(name):
    native = pyspiel.load_game(name)
    table = TabularPolicy(native)
    for row in table.action_probability_array:
        legal = np.flatnonzero(row)
        row[legal] = np.arange(1, len(legal) + 1) / sum(range(1, len(legal) + 1))
    limits = exact_limits(make_game(name), [Uneven()], [1], episodes=1)
    for seat in (0, 1):
        expected = BestResponsePolicy(native, seat, table).value(native.new_initial_state())
        assert limits.by_seat[seat].known == pytest.approx(expected)
        assert limits.by_seat[seat].adaptive == pytest.approx(expected)


def test_a_replayed_kuhn_deal_is_learned_at_once():
    limits = exact_limits(KUHN, POOL, [1, 1, 1], episodes=3, restart="replay")
    assert limits.sizes.hidden_types == 18
    assert limits.non_adaptive == pytest.approx(1 / 9)
    assert limits.pooled.adaptive_by_episodes == pytest.approx((1 / 9, 7 / 18, 7 / 18))
    assert limits.known == pytest.approx(7 / 18)


@dataclass(frozen=True)
class Branch:
    """A node of a hand-made tree."""

    player: int
    history: tuple[int, ...] = ()
    children: tuple[Branch, ...] = ()
    chance: tuple[float, ...] = ()
    returns: tuple[float, ...] = ()

    @property
    def actions(self):
        return tuple(range(len(self.children)))

    def child(self, action):
        return self.children[action]


@dataclass
class Gamble:
    """The agent picks L or R, then chance: L pays 1 with probability .5, R pays 0 with probability .3, else .6."""

    name: str = "gamble"
    seats: int = 1
    has_chance: bool = True
    dialect: str = "compact"
    tree: Branch = field(init=False)

    def __post_init__(self):
        def lottery(action, chance, pays):
            ends = tuple(Branch(TERMINAL, (action, i), returns=(pay,)) for i, pay in enumerate(pays))
            return Branch(CHANCE, (action,), ends, chance)

        self.tree = Branch(0, (), (lottery(0, (0.5, 0.5), (1, 0)), lottery(1, (0.3, 0.7), (0, 0.6))))

    def root(self):
        return self.tree

    def show(self, state, seat):
        return "choose"

    def outcome(self, state, seat):
        return str(state.history)

    def action_name(self, state, action):
        return "LR"[action]

    def rules(self, seat):
        return ""

    def vocabulary(self):
        return ()

    async def start(self, dice):
        raise NotImplementedError

    def facts(self, episode, seat):
        return ()


def test_replay_repeats_the_draw_even_where_the_odds_differ():
    """L first: u < .5 is seen, then L pays 1; or u ≥ .5, then R pays .6 for sure: (1 + .6)/2 = .8. R first: .72."""
    replayed = exact_limits(Gamble(), [MIXED], [1], episodes=2, restart="replay")
    assert replayed.sizes.hidden_types == 3
    assert replayed.pooled.adaptive_by_episodes == pytest.approx((0.5, 0.8))
    assert exact_limits(Gamble(), [MIXED], [1], episodes=2).adaptive == pytest.approx(0.5)


def test_scripts_of_tic_tac_toe_are_told_apart_by_play():
    @dataclass
    class Ordered:
        name: str
        place: int

        def policy(self, state):
            return [(state.actions[self.place], 1.0)]

        async def act(self, state, dice):
            return state.actions[self.place]

    pool = [Ordered("first", 0), Ordered("last", -1)]
    limits = exact_limits(make_game("tic_tac_toe"), pool, [1, 1], episodes=2, restart="replay")
    assert limits.adaptive == limits.known == 1


def test_as_dict_is_plain_json():
    limits = exact_limits(KUHN, POOL, [2, 1, 1], episodes=2)
    data = json.loads(json.dumps(limits.as_dict()))
    assert data["pool"] == {"conservative": 0.5, "aggressive": 0.25, "intermediate": 0.25}
    assert data["adaptive"] == limits.adaptive
    assert data["by_seat"]["1"]["known"] == limits.by_seat[1].known
    assert set(data) >= {"game", "restart", "episodes", "non_adaptive", "known", "adaptive_by_episodes", "sizes"}
    assert np.mean([data["by_seat"][seat]["adaptive"] for seat in "01"]) == pytest.approx(data["adaptive"])


def test_search_has_no_policy_that_could_be_told():
    game = make_game("tic_tac_toe")
    pool = [make_opponent("random", game), make_opponent("mcts:simulations=10", game)]
    with pytest.raises(MageError, match="'mcts:simulations=10' cannot tell its policy"):
        exact_limits(game, pool, [1, 1], episodes=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"weights": [1, 1]}, "weights"),
        ({"weights": [1, 1, 0]}, "weights"),
        ({"weights": [1, 1, float("nan")]}, "weights"),
        ({"opponents": [MIXED, MIXED], "weights": [1, 1]}, "named twice"),
        ({"episodes": 0}, "episodes = 0"),
        ({"seats": [2]}, "seat 2"),
        ({"max_positions": 20}, "more than 20 positions"),
        ({"max_positions": 20, "restart": "replay"}, "more than 20 positions"),
        ({"max_work": 500, "episodes": 3}, "before episode 2 there are at least 10 beliefs over 3 hidden types"),
        ({"max_beliefs": 9, "episodes": 3}, "before episode 2 there are at least 10 beliefs over 3 hidden types"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(arguments, words):
    settled = {"opponents": POOL, "weights": [1, 1, 1], "episodes": 2, **arguments}
    with pytest.raises(MageError, match=words):
        exact_limits(KUHN, settled.pop("opponents"), settled.pop("weights"), **settled)


def test_a_large_game_is_refused():
    with pytest.raises(GameError, match="'connect_four' has more than 2,000 positions"):
        exact_limits(make_game("connect_four"), [Uneven()], [1], episodes=1, max_positions=2000)


def test_the_last_episode_is_bounded_too():
    with pytest.raises(MageError, match="before episode 1"):
        exact_limits(KUHN, [INTERMEDIATE], [1], episodes=1, max_work=0)
