import numpy as np
import pytest

from mage.learn.advantages import gigpo, grpo, reinforce, reinforce_plus, rloo
from mage.learn.baselines import Baseline

# two groups: values 1, 3, 8 (mean 4, std √(26/3)) and 5 alone
VALUES = np.array([1.0, 3.0, 8.0, 5.0])
GROUPS = Baseline(np.array([0, 0, 0, 1]), np.arange(4), np.ones(4, dtype=np.bool_), np.ones(4))
STD = np.sqrt((9 + 1 + 16) / 3)


def test_reinforce() -> None:
    assert reinforce(VALUES, GROUPS).tolist() == [-3, -1, 4, 0]


def test_grpo() -> None:
    assert np.allclose(grpo(VALUES, GROUPS), np.array([-3, -1, 4, 0]) / (STD + 1e-6), rtol=1e-12)
    assert np.array_equal(grpo(VALUES, GROUPS), reinforce(VALUES, GROUPS, std=True))


def test_grpo_of_equal_values_is_zero() -> None:
    assert grpo(np.full(4, 2.5), GROUPS).tolist() == [0, 0, 0, 0]


def test_reinforce_plus_has_the_scale_of_the_batch() -> None:
    # centred in their groups: −3, −1, 4, 0; of all four: mean 0, variance (9 + 1 + 16) / 4
    spread = np.sqrt(26 / 4) + 1e-6
    assert np.allclose(reinforce_plus(VALUES, GROUPS), np.array([-3, -1, 4, 0]) / spread, rtol=1e-12)
    assert reinforce_plus(VALUES, GROUPS, std=False).tolist() == [-3, -1, 4, 0]
    together = Baseline(np.zeros(4, dtype=np.int64), GROUPS.trial, GROUPS.counted, GROUPS.weight)
    assert np.allclose(reinforce_plus(VALUES, together), (VALUES - 4.25) / (VALUES.std() + 1e-6), rtol=1e-12)


def test_rloo() -> None:
    # 1 − (3+8)/2, 3 − (1+8)/2, 8 − (1+3)/2
    assert rloo(VALUES, GROUPS).tolist() == [-4.5, -1.5, 6, 0]
    assert np.allclose(rloo(VALUES, GROUPS, std=True), np.array([-4.5, -1.5, 6, 0]) / (STD + 1e-6), rtol=1e-12)


def test_rloo_is_reinforce_times_n_over_n_minus_1() -> None:
    assert np.allclose(rloo(VALUES, GROUPS), reinforce(VALUES, GROUPS) * 1.5)


def test_gigpo() -> None:
    # turns 0, 1 of trial 0, turn 2 of trial 1. States: turns 0 and 2 share one, turn 1 has its own.
    returns = np.array([2.0, 9.0, 6.0])
    steps = Baseline(np.array([0, 1, 0]), np.array([0, 0, 1]), np.ones(3, dtype=np.bool_), np.ones(3))
    trials = Baseline(np.zeros(2, dtype=np.int64), np.arange(2), np.ones(2, dtype=np.bool_), np.ones(2))
    index = np.array([0, 0, 1])
    # trial term of 10, 20: −5, 5; step term: −2, 0 (alone), 2
    assert gigpo(returns, steps, np.array([10.0, 20.0]), trials, index).tolist() == [-7, -5, 7]
    weighted = gigpo(returns, steps, np.array([10.0, 20.0]), trials, index, trial_weight=2.0, step_weight=0.5)
    assert weighted.tolist() == [-11, -10, 11]
    normed = gigpo(returns, steps, np.array([10.0, 20.0]), trials, index, std=True)
    assert normed == pytest.approx([-2, -1, 2], abs=1e-5)  # both terms ±1 by their own std
