from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.analysis.stats import interval, paired, probability_of_improvement
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


def test_nothing_to_average_is_an_error():
    for call in (
        lambda: interval([]),
        lambda: paired([], []),
        lambda: paired([1], [1, 2]),
    ):
        with pytest.raises(MageError):
            call()
