from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.analysis.stats import interval, paired, pass_at, probability_of_improvement, proportion
from mage.errors import MageError


def test_interval_by_hand():
    """s = 1, n = 3, t_2(.975) = 4.30265: half width 4.30265/√3 = 2.48414."""
    assert interval([1, 2, 3]) == pytest.approx((2, -0.48414, 4.48414), abs=1e-5)


def test_ninety_percent_is_narrower():
    """t_2(.95) = 2.91999."""
    assert interval([1, 2, 3], level=0.9).high == pytest.approx(2 + 2.91999 / math.sqrt(3), abs=1e-5)


def test_one_value_says_nothing_about_its_spread():
    assert interval([5.0]) == (5.0, -math.inf, math.inf)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rows = np.random.default_rng(0).normal(3.0, 2.0, size=(2000, 5))
    hits = np.mean([low <= 3 <= high for _, low, high in map(interval, rows)])
    assert hits == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(5, 10, 0.23659, 0.76341), (0, 10, 0.0, 0.27753), (10, 10, 0.72247, 1.0), (1, 1, 0.20655, 1.0)],
)
def test_wilson_by_hand(successes, trials, low, high):
    """At 0 of n the upper end is z²/(n + z²) with z² = 3.84146: 3.84146/13.84146 = .27753."""
    assert proportion(successes, trials) == pytest.approx((successes / trials, low, high), abs=1e-5)


@given(st.integers(1, 500), st.data())
def test_wilson_stays_within_bounds_and_is_symmetric(trials, data):
    successes = data.draw(st.integers(0, trials))
    share, low, high = proportion(successes, trials)
    assert 0 <= low <= share <= high <= 1
    _, other_low, other_high = proportion(trials - successes, trials)
    assert (1 - other_high, 1 - other_low) == pytest.approx((low, high))


def test_pairs_cancel_what_they_share():
    """Differences 1, 2, 3: their interval, however much the tasks differ."""
    assert paired([101, -48, 3], [100, -50, 0]) == interval([1, 2, 3])


def test_probability_of_improvement_by_hand():
    """2 > 1, 2 = 2, 3 > 1, 3 > 2: 3.5 of 4."""
    assert probability_of_improvement([2, 3], [1, 2]) == 0.875


@given(st.lists(st.integers(-3, 3), min_size=1), st.lists(st.integers(-3, 3), min_size=1))
def test_one_of_the_two_improves(first, second):
    total = probability_of_improvement(first, second) + probability_of_improvement(second, first)
    assert total == pytest.approx(1)


def test_pass_at_k_counts_trials_not_episodes():
    trials = [[False, True, True], [False, False, False], [True], [False, False, True]]
    assert [pass_at(k, trials).mean for k in (1, 2, 3)] == [0.25, 0.5, 0.75]
    assert pass_at(3, trials) == proportion(3, 4)


def test_nothing_to_average_is_an_error():
    for call in (
        lambda: interval([]),
        lambda: proportion(0, 0),
        lambda: pass_at(1, []),
        lambda: paired([], []),
        lambda: paired([1], [1, 2]),
        lambda: proportion(3, 2),
    ):
        with pytest.raises(MageError):
            call()
