"""LinUCB against numbers worked by hand and against ridge regression in closed form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage.errors import MageError
from mage.peers.linucb import LinUCB, pick_best, upper_bounds, with_outer


def bandit(arms=2, size=2, *, alpha=1.0, ridge=1.0, seed=0):
    return LinUCB(arms, size, alpha=alpha, ridge=ridge, seed=seed)


def test_one_update_by_hand():
    """λ = 1, x = (1, 1): A = [[2, 1], [1, 2]], A⁻¹ = [[2, −1], [−1, 2]]/3; r = 1: b = (1, 1), θ̂ = (1/3, 1/3)."""
    learner = bandit()
    learner.learn(0, np.array([1.0, 1.0]), 1.0)
    assert learner.inverse[0] == pytest.approx(np.array([[2, -1], [-1, 2]]) / 3)
    assert learner.weights()[0] == pytest.approx([1 / 3, 1 / 3])
    assert learner.weights()[1] == pytest.approx([0, 0])


def test_bounds_by_hand():
    """After that update, x = (1, 0): θ̂ᵀx = 1/3, xᵀA⁻¹x = 2/3; the untouched arm: 0 and 1. With α = 2."""
    learner = bandit(alpha=2.0)
    learner.learn(0, np.array([1.0, 1.0]), 1.0)
    x = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert upper_bounds(learner.inverse, learner.sums, x, 2.0) == pytest.approx([1 / 3 + 2 * np.sqrt(2 / 3), 2.0])
    assert learner.choose(x, explore=False) == 0  # 1/3 beats 0
    assert learner.choose(np.array([[1.0, 1.0], [1.0, 1.0]]), explore=True) == 1  # 2/3 + 2√(2/3) < 0 + 2√2


def test_other_ridge_by_hand():
    """λ = 2, x = (2), r = 3: A = 6, b = 6, θ̂ = 1."""
    learner = bandit(size=1, ridge=2.0)
    learner.learn(1, np.array([2.0]), 3.0)
    assert (learner.inverse[1, 0, 0], learner.weights()[1, 0]) == pytest.approx((1 / 6, 1.0))


def test_against_ridge_regression():
    """θ̂ = (XᵀX + λI)⁻¹Xᵀr, each arm on its own rows only."""
    generator = np.random.default_rng(0)
    learner = bandit(3, 9, ridge=0.7)
    rows = [(int(generator.integers(3)), generator.random(9), float(generator.integers(2))) for _ in range(200)]
    for arm, x, reward in rows:
        learner.learn(arm, x, reward)
    for arm in range(3):
        x = np.array([row[1] for row in rows if row[0] == arm])
        reward = np.array([row[2] for row in rows if row[0] == arm])
        closed = np.linalg.solve(x.T @ x + 0.7 * np.eye(9), x.T @ reward)
        assert learner.weights()[arm] == pytest.approx(closed, abs=1e-10)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 60), st.floats(0.01, 10), st.integers(0, 2**32))
def test_the_inverse_stays_the_inverse(size, updates, ridge, seed):
    generator = np.random.default_rng(seed)
    matrix, inverse = ridge * np.eye(size), np.eye(size) / ridge
    for _ in range(updates):
        x = generator.uniform(-1, 1, size)
        matrix += np.outer(x, x)
        inverse = with_outer(inverse, x)
    assert inverse @ matrix == pytest.approx(np.eye(size), abs=1e-7)
    assert inverse == pytest.approx(inverse.T)


def test_the_bonus_falls_with_what_was_seen():
    learner, x = bandit(alpha=1.0), np.ones((2, 2))
    bonuses = []
    for _ in range(20):
        bonuses.append(upper_bounds(learner.inverse, np.zeros((2, 2)), x, 1.0)[0])
        learner.learn(0, x[0], 1.0)
    assert bonuses == sorted(bonuses, reverse=True)
    assert bonuses[:2] == pytest.approx([np.sqrt(2), np.sqrt(2 / 3)])  # n updates: xᵀA⁻¹x = 2/(1 + 2n)


def test_ties_are_drawn_from_the_seed():
    x = np.ones((4, 2))
    draws = [[bandit(4, seed=seed).choose(x, explore=True) for seed in range(200)] for _ in range(2)]
    assert draws[0] == draws[1]
    assert np.bincount(draws[0], minlength=4).min() > 30
    assert pick_best(np.array([0.0, 2.0, 1.0]), np.random.default_rng(0)) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arms": 1}, "fewer than 2"),
        ({"alpha": -1.0}, "alpha = -1.0: expected"),
        ({"alpha": float("nan")}, "alpha = nan: expected"),
        ({"ridge": 0.0}, "ridge = 0.0: expected"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(MageError, match=message):
        bandit(**change)
