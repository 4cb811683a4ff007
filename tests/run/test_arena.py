import asyncio

import pytest
from small import POOL, small

from mage.errors import GameError, MageError, RecipeError
from mage.play.actors import RandomActor
from mage.play.records import Task
from mage.run.arena import make_arena


def test_a_recipe_becomes_objects():
    arena = make_arena(
        small(trial={"memory": "history", "reprompts": 3, "stop_at_success": True}), extra=["cfr", "random"]
    )
    assert (arena.game.name, arena.game.dialect, arena.seats) == ("kuhn_poker", "compact", (0, 1))
    assert arena.population.names == POOL
    assert arena.held_out.names == ("random",)
    assert list(arena.opponents) == [*POOL, "random", "cfr:iterations=1000"]
    assert all(opponent.name == name for name, opponent in arena.opponents.items())
    assert (arena.memory.name, arena.settings.reprompts, arena.settings.stop_at_success) == ("history", 3, True)


def test_nobody_is_held_out():
    assert make_arena(small(population={"held_out": []})).held_out is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"game": {"name": "tic_tac_toe"}}, r"trial.restart = 'redeal': tic_tac_toe has no chance.*use 'replay'"),
        ({"game": {"name": "kuhn"}}, "unknown game 'kuhn'; known: babyai, combination_lock, connect_four, kuhn_poker"),
        ({"trial": {"seats": 2}}, "trial.seats = 2: kuhn_poker has seats 0 to 1, or 'both'"),
        ({"population": {"train": [{"name": "agressive"}]}}, r"unknown opponent 'agressive' \(did you mean"),
        ({"population": {"held_out": [{"name": "cfr:iteration=3"}]}}, "unknown parameter 'iteration'"),
        ({"population": {"train": [{"name": "preferred"}]}}, "'preferred:order=center_first' needs tic_tac_toe"),
        (
            {"population": {"train": [{"name": "random"}, {"name": "random"}], "held_out": []}},
            "population.train has 'random' twice",
        ),
        (
            {"population": {"train": [{"name": "cfr"}], "held_out": [{"name": "cfr: iterations=1000"}]}},
            "population.held_out has 'cfr: iterations=1000', which is in population.train",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    with pytest.raises(MageError, match=words):
        make_arena(small(**changes))


def test_a_held_out_opponent_in_another_spelling():
    changes = {
        "game": {"name": "tic_tac_toe"},
        "trial": {"restart": "replay"},
        "population": {"train": [{"name": "mcts"}], "held_out": [{"name": "mcts:simulations=100"}]},
    }
    with pytest.raises(RecipeError, match=r"population.held_out has 'mcts:simulations=100'"):
        make_arena(small(**changes))


def test_an_unknown_guest():
    with pytest.raises(GameError, match="unknown opponent 'nobody'"):
        make_arena(small(), extra=["nobody"])


def test_it_plays_the_task_it_is_given():
    arena = make_arena(small())
    task = Task(3, 1, "aggressive", 3, "redeal", 17)
    actor = RandomActor(reports=True)
    trial, again = (asyncio.run(play(task, 2)) for play in (arena.player(actor), lambda *x: arena.play(*x, actor)))
    assert (trial.task, trial.member, len(trial.episodes)) == (task, 2, 3)
    assert trial == again
    assert trial.turns[0].observation.startswith("ep1 second")
    assert trial.turns[0].anchor.endswith("bet")  # aggressive bets every card


def test_the_actor_has_the_recipes_limits():
    class Sampler:
        context_length = 100
        renderer = RandomActor().renderer

    actor = make_arena(small(trial={"max_action_tokens": 5, "max_remark_tokens": 9})).actor(Sampler(), 0.5)
    assert (actor.fits(95, "act"), actor.fits(96, "act")) == (True, False)
    assert (actor.fits(91, "reflect"), actor.fits(92, "reflect")) == (True, False)
