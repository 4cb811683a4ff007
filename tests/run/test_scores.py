import json
import math
import random

import pytest

from mage.analysis.stats import interval
from mage.play.records import EpisodeRecord, StopReason, Task, Trial, Turn
from mage.run.scores import pooled_scores, successes


def trial(rewards, legal=(True,)):
    results = ["won" if r > 0 else "lost" if r < 0 else "drawn" for r in rewards]
    episodes = tuple(EpisodeRecord(r, result, "", False, 2) for r, result in zip(rewards, results, strict=True))
    turns = tuple(Turn("act", 0, 0, 0, 1, (0.0,), "", "", "", "", fine) for fine in legal)
    return Trial(Task(0, 0, "x", 3, "redeal", 0), 0, ((0,),), turns, episodes, StopReason.COMPLETED)


def equally(*trials):
    return [(1 / len(trials), one) for one in trials]


FOUND = {
    ("a", 0): [(0.25, trial([1, 2], (True, False))), (0.75, trial([-1, 0]))],
    ("a", 1): [(1.0, trial([0, 1]))],
    ("b", 0): [(1.0, trial([2, -2]))],
    ("b", 1): [(0.5, trial([1, 1])), (0.5, trial([1, -1]))],
}


def test_exact_by_hand():
    """Opponent a has share 3/4; seats have equal shares."""
    scores = pooled_scores(FOUND, {"a": 3, "b": 1}, 2, exact=True)
    first = {("a", 0): -0.5, ("a", 1): 0, ("b", 0): 2, ("b", 1): 1}
    second = {("a", 0): 0.5, ("a", 1): 1, ("b", 0): -2, ("b", 1): 0}
    weight = {"a": 3 / 8, "b": 1 / 8}
    means = [sum(weight[name] * value for (name, _), value in values.items()) for values in (first, second)]
    assert scores.payoff == pytest.approx(means)
    assert scores.interval == tuple((mean, mean) for mean in scores.payoff)
    assert scores.by_seat[0] == pytest.approx([(3 * -0.5 + 2) / 4, (3 * 0.5 - 2) / 4])
    assert scores.by_seat[1] == pytest.approx([(3 * 0 + 1) / 4, (3 * 1 + 0) / 4])
    assert scores.trials == 6
    assert scores.won == pytest.approx([3 / 8 * 0.25 + 1 / 8 * 2, 3 / 8 * 0.25 + 3 / 8 + 1 / 8 * 0.5])
    assert scores.lost == pytest.approx([3 / 8 * 0.75, 1 / 8 * 1.5])
    assert scores.drawn == pytest.approx([3 / 8, 3 / 8 * 0.75])
    assert scores.pass_at_k == pytest.approx([3 / 8 * 0.25 + 1 / 8 * 2, 3 / 8 * 1.25 + 1 / 8 * 2])
    assert scores.turns == pytest.approx([2, 2])
    assert scores.invalid_share == pytest.approx(3 / 8 * 0.25 / (1 + 3 / 8 * 0.25))


def test_one_opponent_of_several():
    scores = pooled_scores({pair: FOUND[pair] for pair in FOUND if pair[0] == "b"}, {"b": 1.0}, 2, exact=True)
    assert scores.payoff == pytest.approx([1.5, -1.0])


def test_success_is_cumulative():
    assert successes(trial([-1, 1, -1]), 3) == [0.0, 1.0, 1.0]
    assert successes(trial([1]), 3) == [1.0, 1.0, 1.0]  # it stopped there
    assert successes(trial([0, -1, 0]), 3) == [0.0, 0.0, 0.0]


def test_sampled_strata_add_their_variances():
    """Weights 1/2 · share of each pair; half-widths by Student add in squares."""
    a, b = [1.0, 2.0, -1.0, 0.0], [2.0, -2.0, 1.0]
    found = {("a", 0): equally(*(trial([r]) for r in a)), ("b", 0): equally(*(trial([r]) for r in b))}
    scores = pooled_scores(found, {"a": 3, "b": 1}, 1, exact=False)
    halves = [interval(values).high - sum(values) / len(values) for values in (a, b)]
    half = math.hypot(0.75 * halves[0], 0.25 * halves[1])
    mean = 0.75 * 0.5 + 0.25 * 1 / 3
    assert scores.payoff == pytest.approx([mean])
    assert scores.interval[0] == pytest.approx((mean - half, mean + half))


def test_intervals_cover():
    """Of 400 samples of a stratified mean about 95% have it in their interval."""
    chance, inside = random.Random(0), 0
    for _ in range(400):
        draws = {("a", 0): [chance.gauss(1, 1) for _ in range(20)], ("b", 0): [chance.gauss(-1, 3) for _ in range(20)]}
        found = {pair: equally(*(trial([r]) for r in rewards)) for pair, rewards in draws.items()}
        low, high = pooled_scores(found, {"a": 1, "b": 1}, 1, exact=False).interval[0]
        inside += low <= 0 <= high
    assert 0.91 < inside / 400 < 0.985


def test_one_trial_in_a_stratum_borrows_the_spread_of_all():
    found = {("a", 0): equally(trial([2.0])), ("a", 1): equally(trial([-2.0]))}
    low, high = pooled_scores(found, {"a": 1}, 1, exact=False).interval[0]
    assert low < -2
    assert high > 2


def test_an_early_stop_moves_weight_to_who_went_on():
    """Episode 2 was played by one trial of three against a, by all against b."""
    found = {
        ("a", 0): equally(trial([1.0]), trial([1.0]), trial([-1.0, 2.0])),
        ("b", 0): equally(trial([-1.0, 0.0]), trial([-1.0, -1.0]), trial([-1.0, 1.0])),
    }
    scores = pooled_scores(found, {"a": 1, "b": 1}, 3, exact=False)
    assert scores.payoff == (pytest.approx(-1 / 3), pytest.approx((1 / 3 * 2 + 0) / (1 / 3 + 1)), None)
    assert scores.interval[2] is None
    assert (scores.won[2], scores.turns[2], scores.by_seat[0][2]) == (None, None, None)
    assert scores.pass_at_k == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    widths = [high - low for low, high in scores.interval[:2]]
    alone = pooled_scores({("b", 0): found["b", 0]}, {"b": 1}, 3, exact=False)
    assert widths[1] > 0.75 * (alone.interval[1][1] - alone.interval[1][0])  # three quarters of the weight


def test_plain_data():
    row = pooled_scores(FOUND, {"a": 1, "b": 1}, 3, exact=False).as_dict()
    assert json.loads(json.dumps(row, allow_nan=False))["by_seat"]["0"][2] is None
