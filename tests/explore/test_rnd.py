"""Random network distillation: the gradient, the scale, and that what was seen often is not new."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from walks import walk

from mage.explore.rnd import INPUTS, Distillation, _merged, _Network
from mage.recall.embed import HashedNgrams


def test_errors_fall_where_states_are_seen_and_are_high_at_a_new_one() -> None:
    novelty = Distillation()
    known, fresh = "the red door is shut", "a dragon sleeps on gold"
    found = [novelty.rewards([walk([(known, "x")])])[0][0] for _ in range(20)]
    assert found[-1] < 0.05 * found[0]
    assert all(later < earlier for earlier, later in pairwise(found))
    (new,) = novelty.rewards([walk([(fresh, "x")])])[0]
    assert new > 10 * found[-1]


def test_the_first_reward_by_hand() -> None:
    # one error e beside one 0: their standard deviation is e / 2
    (reward,) = Distillation(weight=0.5).rewards([walk([("a", "x")])])[0]
    assert reward == pytest.approx(0.5 * 2)


def test_rewards_are_errors_in_standard_deviations_of_all_so_far() -> None:
    novelty = Distillation(weight=2.0, seed=1)
    views = ["red door", "blue key", "gold"]
    vectors = HashedNgrams(INPUTS).embed([f"{view}\n> x\nend" for view in views])
    errors = ((novelty._predictor(vectors) - novelty._target(vectors)) ** 2).mean(axis=1)
    found = novelty.rewards(
        [
            walk(
                [
                    (views[0], "x"),
                ]
            ),
            walk([("", "r")], [(views[1], "x")], [(views[2], "x")]),
        ]
    )
    spread = np.std([0.0, *errors])
    assert np.concatenate(found) == pytest.approx(2 * np.array([errors[0], 0, errors[1], errors[2]]) / spread, rel=1e-5)


def test_networks_are_of_the_seed() -> None:
    trials = [walk([("a b", "x"), ("c", "y")]), walk([("d", "x")])]
    one, same, other = (np.concatenate(Distillation(seed=seed).rewards(trials)).tolist() for seed in (0, 0, 1))
    assert one == same != other
    assert Distillation().rewards([]) == []
    assert Distillation().rewards([walk([("", "r")])])[0].tolist() == [0]


def test_moments_by_hand() -> None:
    moments = np.array([1.0, 0.0, 0.0])
    for part in ([2.0, 4.0], [], [6.0]):
        moments = _merged(moments, np.array(part))
    values = [0, 2, 4, 6]
    assert moments.tolist() == pytest.approx([4, np.mean(values), 4 * np.var(values)])


def test_descent_follows_the_gradient() -> None:
    draws = np.random.default_rng(0)
    network = _Network.drawn(draws)
    network.first, network.second = network.first.astype(np.float64), network.second.astype(np.float64)
    x, wanted = draws.standard_normal((3, INPUTS)) / math.sqrt(INPUTS), draws.standard_normal((3, 32))

    def loss() -> float:
        return float(0.5 * ((network(x) - wanted) ** 2).sum(axis=1).mean())

    first, second = network.first.copy(), network.second.copy()
    slopes = []
    for name, at in (("first", (5, 7)), ("second", (7, 3))):
        values = getattr(network, name)
        ends = []
        for step in (1e-5, -1e-5):
            values[at] += step
            ends.append(loss())
            values[at] -= step
        slopes.append((ends[0] - ends[1]) / 2e-5)
    network.descend(x, wanted, 0.1)
    assert (first - network.first)[5, 7] / 0.1 == pytest.approx(slopes[0], rel=1e-4)
    assert (second - network.second)[7, 3] / 0.1 == pytest.approx(slopes[1], rel=1e-4)
