"""Scripted opponents, random play, and the spelling of opponents."""

import asyncio
import itertools
from fractions import Fraction

import pytest
from no_dice import NoDice

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL, PolicyOpponent
from mage.play.games import make_game
from mage.play.opponents import make_opponent, normalise, opponent_names, opponents


def kuhn(cards, betting):
    node = make_game("kuhn_poker").root()
    for action in (*("JQK".index(card) for card in cards), *(("pb").index(word) for word in betting)):
        node = node.child(action)
    return node


# Own card, betting so far; then what conservative, aggressive, intermediate, calling station do (p, b), by PAPERS.
@pytest.mark.parametrize(
    ("card", "betting", "plays"),
    [
        ("J", "", "pbpp"),
        ("Q", "", "pbbp"),
        ("K", "", "bbbp"),
        ("J", "p", "pbpp"),
        ("Q", "p", "pbbp"),
        ("K", "p", "bbbp"),
        ("J", "b", "pppb"),
        ("Q", "b", "pbpb"),
        ("K", "b", "bbbb"),
        ("J", "pb", "pppb"),
        ("Q", "pb", "pbpb"),
        ("K", "pb", "bbbb"),
    ],
)
def test_kuhn_scripts_play_as_the_paper_says(card, betting, plays):
    names = ("conservative", "aggressive", "intermediate", "calling_station")
    for name, play in zip(names, plays, strict=True):
        for other in set("JQK") - {card}:
            state = kuhn((card, other) if len(betting) % 2 == 0 else (other, card), betting)
            opponent = make_opponent(name, make_game("kuhn_poker"))
            assert isinstance(opponent, PolicyOpponent)
            assert opponent.policy(state) == (("pb".index(play), 1.0),)
            assert asyncio.run(opponent.act(state, NoDice())) == "pb".index(play)


def expected(node, seat, choice, opponent):
    """Exact return of `seat` when it plays `choice[what it sees]` against a policy."""
    if node.player == TERMINAL:
        return Fraction(node.returns[seat])
    if node.player == CHANCE:
        return sum(expected(node.child(a), seat, choice, opponent) for a in node.actions) / len(node.actions)
    if node.player == seat:
        return expected(node.child(choice[node.show(seat)]), seat, choice, opponent)
    return sum(Fraction(p) * expected(node.child(a), seat, choice, opponent) for a, p in opponent.policy(node))


def test_best_responses_to_the_kuhn_pool_have_their_known_value():
    """Over the pool of three and both seats: 0.2778 chips per hand with the opponent known, 0.1111 without."""
    game = make_game("kuhn_poker")
    pool = [make_opponent(name, game) for name in ("conservative", "aggressive", "intermediate")]
    known = unknown = Fraction(0)
    for seat in range(2):
        sees = [
            f"{('first', 'second')[seat]} {card}{bets}"
            for card in "JQK"
            for bets in (("", " pass bet"), (" pass", " bet"))[seat]
        ]
        choices = [dict(zip(sees, plays, strict=True)) for plays in itertools.product((0, 1), repeat=6)]
        values = [[expected(game.root(), seat, choice, opponent) for opponent in pool] for choice in choices]
        known += sum(max(column) for column in zip(*values, strict=True))
        unknown += max(sum(row) for row in values)
    assert (known / 6, unknown / 6) == (Fraction(5, 18), Fraction(1, 9))


def test_preferred_takes_the_first_free_cell():
    game = make_game("tic_tac_toe")
    center = make_opponent("preferred", game)
    assert center.name == "preferred:order=center_first"
    node = game.root()
    names = []
    while node.player != TERMINAL and len(names) < 6:
        action = asyncio.run(center.act(node, NoDice()))
        names.append(game.action_name(node, action))
        node = node.child(action)
    assert names == ["b2", "a1", "c1", "a3", "c3", "b1"]
    for order, first in [("corners_first", "a1"), ("edges_first", "b1"), ("rows", "a1")]:
        opponent = make_opponent(f"preferred:order={order}", game)
        assert opponent.policy(game.root()) == ((game.root().names.index(first), 1.0),)


def test_random_is_uniform_and_replays():
    game = make_game("tic_tac_toe")
    opponent = make_opponent("random", game)
    assert opponent.policy(game.root()) == tuple((action, 1 / 9) for action in range(9))

    async def draws(seed):
        dice = SeededDice(seed)
        return [await opponent.act(game.root(), dice) for _ in range(3600)]

    first = asyncio.run(draws(0))
    assert asyncio.run(draws(0)) == first
    counts = [first.count(action) for action in range(9)]
    assert max(abs(count - 400) for count in counts) < 5 * (400 * 8 / 9) ** 0.5


def test_random_with_one_legal_action_leaves_the_dice_alone():
    game = make_game("tic_tac_toe")
    node = game.root()
    for action in (0, 1, 2, 4, 3, 6, 7, 8):
        node = node.child(action)
    assert asyncio.run(make_opponent("random", game).act(node, NoDice())) == 5


@pytest.mark.parametrize(
    ("spec", "normal"),
    [
        ("random", "random"),
        (" conservative ", "conservative"),
        ("random: ", "random"),
        ("mcts", "mcts:simulations=100"),
        ("mcts:", "mcts:simulations=100"),
        ("mcts:simulations=0100", "mcts:simulations=100"),
        ("mcts:uct=2", "mcts:simulations=100"),
        ("mcts:seed=7,simulations=5,uct=1", "mcts:simulations=5,uct=1.0,seed=7"),
        ("cfr", "cfr:iterations=1000"),
        ("preferred", "preferred:order=center_first"),
    ],
)
def test_normal_form(spec, normal):
    assert normalise(spec) == normal
    assert normalise(normal) == normal


@pytest.mark.parametrize(
    ("spec", "game", "says"),
    [
        (
            "agressive",
            "kuhn_poker",
            r"unknown opponent 'agressive' \(did you mean 'aggressive'\?\); known: aggressive,",
        ),
        ("", "kuhn_poker", "unknown opponent ''"),
        (
            "mcts:simulation=5",
            "tic_tac_toe",
            r"unknown parameter 'simulation' \(did you mean 'simulations'\?\); known: seed,",
        ),
        ("mcts:simulations=many", "tic_tac_toe", "simulations = 'many' is not an integer in 1..1000000"),
        ("mcts:simulations=1.5", "tic_tac_toe", "simulations = '1.5' is not an integer"),
        ("mcts:simulations=0", "tic_tac_toe", "simulations = '0' is not an integer in 1"),
        ("mcts:uct=nan", "tic_tac_toe", "uct = 'nan' is not a number of at least 0"),
        ("mcts:seed=2147483648", "tic_tac_toe", "seed = '2147483648' is not an integer in 0"),
        ("mcts:simulations", "tic_tac_toe", "expected name:param=value"),
        ("mcts:seed=1,seed=2", "tic_tac_toe", "seed is given twice"),
        ("random:seed=1", "tic_tac_toe", "takes no parameters, found 'seed'"),
        ("preferred:order=middle", "tic_tac_toe", "order = 'middle' is not one of center_first, corners_first"),
        (
            "mcts",
            "kuhn_poker",
            "needs a game of perfect information, not kuhn_poker; for kuhn_poker there are: conserv",
        ),
        (
            "minimax",
            "connect_four",
            "needs a small game of perfect information .* for connect_four there are: random, mcts",
        ),
        ("minimax", "leduc_poker", "needs a small game"),
        ("cfr", "tic_tac_toe", "needs a small game of imperfect information"),
        ("conservative", "leduc_poker", "needs kuhn_poker, not leduc_poker"),
        ("preferred", "connect_four", "needs tic_tac_toe, not connect_four"),
    ],
)
def test_what_does_not_exist_or_fit_is_refused_with_what_does(spec, game, says):
    with pytest.raises(GameError, match=says):
        make_opponent(spec, make_game(game))


def test_listing():
    assert set(opponent_names("kuhn_poker")) == {
        *("conservative", "aggressive", "intermediate", "calling_station", "random", "cfr")
    }
    assert set(opponent_names("connect_four")) == {"random", "mcts"}
    mcts = next(info for info in opponents() if info.name == "mcts")
    assert mcts.parameters[0] == "simulations=100: simulations per move; an integer in 1..1000000"
    assert mcts.parameters[2].startswith("seed=: ")
    with pytest.raises(GameError, match="unknown game"):
        opponent_names("chess")
