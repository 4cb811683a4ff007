import numpy as np
import pytest

from mage.recall.case_value import CaseValue, Pairs


def pairs(states: list[list[float]], cases: list[list[float]], good: list[float]) -> Pairs:
    return Pairs(
        np.array(states, np.float32), np.array(states, np.float32), np.array(cases, np.float32), np.array(good)
    )


def test_the_minimum_of_the_cross_entropy_where_only_the_constant_speaks() -> None:
    """Three wins of four, features (0, 0, 0, 1): 4 σ(w) − 3 + w = 0, which is w = 0.5052, Q = 0.6237."""
    value = CaseValue(pairs([[0.0]] * 4, [[0.0]] * 4, [0.0] * 4), np.array([1.0, 1.0, 1.0, 0.0]))
    (learned,) = value(pairs([[0.0]], [[0.0]], [0.0]))
    weight = np.log(learned / (1 - learned))
    assert 4 * learned - 3 + weight == pytest.approx(0, abs=1e-4)
    assert learned == pytest.approx(0.6237, abs=1e-4)


def test_a_case_that_was_shown_before_wins_is_worth_more_than_one_before_losses() -> None:
    shown = pairs([[1.0, 0.0]] * 4, [[1.0, 0.0], [0.0, 1.0]] * 2, [1.0] * 4)
    value = CaseValue(shown, np.array([1.0, 0.0, 1.0, 0.0]))
    helped, hindered = value(pairs([[1.0, 0.0]] * 2, [[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]))
    assert helped > 0.5 > hindered
