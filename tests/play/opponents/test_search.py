"""Tree search and minimax."""

import asyncio
import random

import pytest
from no_dice import NoDice

from mage.chance import SeededDice
from mage.play.game import TERMINAL, PolicyOpponent
from mage.play.games import make_game
from mage.play.opponents import make_opponent


async def play(game, players, seed):
    dice = SeededDice(seed)
    node = game.root()
    while node.player != TERMINAL:
        node = node.child(await players[node.player].act(node, dice))
    return node


def after(game, names):
    node = game.root()
    for name in names:
        node = node.after(name)
    return node


def test_minimax_never_loses_to_random_and_wins_most():
    game = make_game("tic_tac_toe")
    best, other = make_opponent("minimax", game), make_opponent("random", game)
    for seat in range(2):
        players = [other, other]
        players[seat] = best
        returns = [asyncio.run(play(game, players, seed)).returns[seat] for seed in range(60)]
        assert min(returns) >= 0
        assert sum(returns) > 30


def test_minimax_against_itself_draws():
    game = make_game("tic_tac_toe")
    best = make_opponent("minimax", game)
    ends = [asyncio.run(play(game, [best, best], seed)) for seed in range(20)]
    assert {end.returns for end in ends} == {(0.0, 0.0)}
    assert len({end.history for end in ends}) > 10


def test_minimax_mixes_over_exactly_the_optimal_actions():
    game = make_game("tic_tac_toe")
    best = make_opponent("minimax", game)
    assert isinstance(best, PolicyOpponent)
    assert best.policy(game.root()) == tuple((action, 1 / 9) for action in range(9))  # every opening draws

    def names(*moves):
        node = after(game, moves)
        assert sum(p for _, p in best.policy(node)) == pytest.approx(1)
        return {game.action_name(node, action) for action, _ in best.policy(node)}

    assert names("a1") == {"b2"}  # a corner is answered in the center
    assert names("b2") == {"a1", "c1", "a3", "c3"}  # the center in a corner
    assert names("a1", "b2", "b1") == {"c1"}  # the only block
    block = after(game, ["a1", "b2", "b1"])
    assert asyncio.run(best.act(block, NoDice())) == 2


def test_mcts_replays_from_its_dice_whatever_else_is_drawn():
    game = make_game("tic_tac_toe")
    opponent = make_opponent("mcts:simulations=30", game)
    assert not isinstance(opponent, PolicyOpponent)
    ends = [asyncio.run(play(game, [opponent, opponent], seed)).history for seed in range(8)]
    random.seed(1)
    others = make_opponent("mcts:simulations=30", make_game("tic_tac_toe"))
    assert [asyncio.run(play(game, [others, others], seed)).history for seed in range(8)] == ends
    assert len(set(ends)) > 1


def test_mcts_with_a_seed_is_deterministic_and_leaves_the_dice_alone():
    game = make_game("connect_four")
    acts = {
        seed: asyncio.run(make_opponent(f"mcts:simulations=3,seed={seed}", game).act(game.root(), NoDice()))
        for seed in range(20)
    }
    again = make_opponent("mcts:simulations=3,seed=5", game)
    assert asyncio.run(again.act(game.root(), NoDice())) == acts[5]
    assert len(set(acts.values())) > 1


def test_mcts_plays_well_and_its_parameters_count():
    game = make_game("tic_tac_toe")
    strong, other = make_opponent("mcts:simulations=300", game), make_opponent("random", game)
    returns = [asyncio.run(play(game, [strong, other], seed)).returns[0] for seed in range(25)]
    assert sum(returns) > 20
    position = after(game, ["a1", "b2", "c1"])  # b1 must be blocked
    assert {asyncio.run(strong.act(position, SeededDice(seed))) for seed in range(5)} == {1}
    weak = make_opponent("mcts:simulations=1", game)
    assert len({asyncio.run(weak.act(position, SeededDice(seed))) for seed in range(30)}) > 1


def test_mcts_plays_connect_four():
    game = make_game("connect_four")
    node = after(game, ["c1", "c7", "c1", "c7", "c1", "c7"])
    assert asyncio.run(make_opponent("mcts:simulations=200", game).act(node, SeededDice(0))) == 0  # wins at once
