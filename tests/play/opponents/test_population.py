"""The population: exact shares, even seats, one task per group."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.errors import GameError, MageError, RecipeError
from mage.play.games import make_game
from mage.play.opponents.population import Population, check_held_out, check_restart, draw_tasks, seats_of
from mage.recipe import Share

NAMES = ("conservative", "aggressive", "intermediate", "calling_station", "random", "minimax", "mcts:simulations=100")


def pool(**shares):
    return Population.of([Share(name=name, share=share) for name, share in shares.items()])


def of_weights(weights):
    return Population.of([Share(name=name, share=w) for name, w in zip(NAMES, weights, strict=False)])


weights = st.lists(st.one_of(st.integers(1, 9), st.floats(0.01, 100)), min_size=1, max_size=len(NAMES))


@given(weights, st.integers(1, 200), st.integers(0, 1000))
def test_shares_are_kept_to_within_one_group(shares, groups, iteration):
    population = of_weights(shares)
    assert sum(population.shares) == 1
    counts = population.counts(groups, iteration)
    assert sum(counts) == groups
    for count, share in zip(counts, population.shares, strict=True):
        assert abs(count - share * groups) < 1
    # Largest remainders: nobody rounded up has a smaller remainder than somebody rounded down.
    rests = [share * groups % 1 for share in population.shares]
    up = [rest for rest, count, share in zip(rests, counts, population.shares, strict=True) if count > share * groups]
    down = [rest for rest, count, share in zip(rests, counts, population.shares, strict=True) if count < share * groups]
    assert not up or not down or min(up) >= max(down)


def test_decimal_shares_are_exact():
    population = pool(conservative=0.3, aggressive=0.3, intermediate=0.4)
    assert population.shares == (Fraction(3, 10), Fraction(3, 10), Fraction(2, 5))
    assert population.counts(10) == population.counts(10, 7) == (3, 3, 4)
    assert pool(conservative=3, aggressive=3, intermediate=4) == population


def test_equal_remainders_take_turns():
    population = pool(conservative=1, aggressive=1, intermediate=1)
    assert [population.counts(64, i) for i in range(3)] == [(22, 21, 21), (21, 22, 21), (21, 21, 22)]
    assert [population.counts(2, i) for i in range(3)] == [(1, 1, 0), (1, 0, 1), (0, 1, 1)]


@given(weights, st.integers(1, 40), st.integers(1, 3), st.integers(1, 25))
def test_seats_are_even_within_each_opponent_now_and_over_time(shares, groups, seats, iterations):
    population = of_weights(shares)
    total = Counter()
    for iteration in range(iterations):
        pairs = Counter(population.allot(groups, range(seats), seed=0, iteration=iteration))
        for name, count in zip(population.names, population.counts(groups, iteration), strict=True):
            here = [pairs[name, seat] for seat in range(seats)]
            assert sum(here) == count
            assert max(here) - min(here) <= 1
        total += pairs
    for name in population.names:
        overall = [total[name, seat] for seat in range(seats)]
        assert max(overall) - min(overall) <= 1


def test_the_order_is_shuffled_by_seed_and_iteration_only():
    population = pool(conservative=1, aggressive=1)
    orders = [population.allot(32, (0, 1), seed, iteration) for seed in range(3) for iteration in (0, 2)]
    assert len({tuple(order) for order in orders}) == 6
    assert len({frozenset(Counter(order).items()) for order in orders}) == 1
    assert population.allot(32, (0, 1), 1, 2) == population.allot(32, (0, 1), 1, 2)


def test_tasks_are_whole_and_reproducible():
    population = pool(conservative=1, aggressive=1, intermediate=1)

    def draw(**changed):
        arguments = {"groups": 12, "seats": (0, 1), "episodes": 3, "restart": "redeal", "seed": 4, "iteration": 9}
        return draw_tasks(population, **(arguments | changed))

    tasks = draw()
    assert tasks == draw()
    assert [task.group for task in tasks] == list(range(12))
    assert Counter((task.opponent, task.seat) for task in tasks) == {
        (name, seat): 2 for name in population.names for seat in range(2)
    }
    assert {(task.episodes, task.restart) for task in tasks} == {(3, "redeal")}
    seeds = {task.seed for drawn in (tasks, draw(iteration=10), draw(seed=5)) for task in drawn}
    assert len(seeds) == 36
    assert {task.seat for task in draw(seats=(1,))} == {1}
    assert [replace(task, episodes=3) for task in draw(episodes=5)] == list(tasks)


def test_populations_that_cannot_be_are_refused():
    with pytest.raises(RecipeError, match="empty"):
        Population.of([])
    with pytest.raises(RecipeError, match="'mcts:simulations=100' twice"):
        Population.of([Share(name="mcts"), Share(name="random"), Share(name="mcts:uct=2.0")])
    with pytest.raises(GameError, match="unknown opponent"):
        Population.of([Share(name="agressive")])


def test_held_out_opponents_are_told_apart_by_what_they_are():
    train = [Share(name="mcts:simulations=100"), Share(name="random")]
    check_held_out(train, [Share(name="mcts:simulations=1000"), Share(name="minimax")])
    check_held_out(train, [])
    with pytest.raises(RecipeError, match=r"held_out has 'mcts', which is in population\.train"):
        check_held_out(train, [Share(name="mcts")])


def test_restart_and_seats_must_fit_the_game():
    check_restart(make_game("kuhn_poker"), "redeal")
    check_restart(make_game("tic_tac_toe"), "replay")
    with pytest.raises(MageError, match="'redeal': tic_tac_toe has no chance"):
        check_restart(make_game("tic_tac_toe"), "redeal")
    game = make_game("kuhn_poker")
    assert (seats_of(game, "both"), seats_of(game, 0), seats_of(game, 1)) == ((0, 1), (0,), (1,))
    with pytest.raises(GameError, match="seats = 2: kuhn_poker has seats 0 to 1"):
        seats_of(game, 2)
