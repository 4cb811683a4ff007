"""Intrinsic rewards reach advantages: EMPO²'s released code computes them and loses them on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_trials import Act, Ep, Note, plain, play

from mage.learn.credit import Credit, assign_credit
from mage.play.records import Trial
from mage.recipe import CreditSection

LIMITS = {"act": 8, "reflect": 4}


def credited(trials: list[Trial], rewards: list[list[float]] | None, values: Any = None, **credit: Any) -> Credit:
    section = CreditSection(**{"returns": "episode", "advantage": "reinforce", "gamma_traj": 0.5, **credit})
    given = None if rewards is None else [np.array(turns) for turns in rewards]
    return assign_credit(trials, section, max_tokens=LIMITS, values=values, rewards=given)


def advantages(*args: Any, **credit: Any) -> list[list[float]]:
    return [turns.tolist() for turns in credited(*args, **credit).advantages]


def test_by_hand() -> None:
    # whole episodes got 1 + 1.5 and 1 + 0.75; the mean is 2.125
    trials = [plain([1.0], acts=2), plain([1.0], acts=2)]
    novelty = [[1.0, 0.5], [0.5, 0.25]]
    assert advantages(trials, novelty) == [[0.375, 0.375], [-0.375, -0.375]]
    assert credited(trials, novelty).diagnostics["intrinsic_reward"] == 2.25 / 4
    assert "intrinsic_reward" not in credited(trials, None).diagnostics
    assert advantages(trials, None) == [[0, 0], [0, 0]]


@pytest.mark.parametrize("advantage", ["reinforce", "reinforce++", "rloo", "grpo"])
def test_the_same_behaviour_has_no_advantage_however_long_it_is(advantage: str) -> None:
    trials = [plain([0.0], acts=3) for _ in range(4)]
    found = advantages(trials, [[0.5, 0.5, 0.5]] * 4, advantage=advantage)
    np.testing.assert_allclose(found, np.zeros((4, 3)), atol=1e-6)


@pytest.mark.parametrize("returns", ["episode", "cumulative", "differential", "differential_code", "final"])
@pytest.mark.parametrize("advantage", ["reinforce", "reinforce++", "rloo", "grpo", "gigpo", "gae"])
def test_it_reaches_every_return_and_estimator(returns: str, advantage: str) -> None:
    """Outcomes are equal: whoever saw more that is new has the larger advantage at its first turn."""
    trials = [plain([1.0, 1.0]), plain([1.0, 1.0])]
    values = [np.zeros(3), np.zeros(3)] if advantage == "gae" else None
    novelty = [[1.0, 0.0, 0.0], [0.25, 0.0, 0.0]]
    (more, *_), (less, *_) = advantages(trials, novelty, values, returns=returns, advantage=advantage)
    assert more > less + 0.1


def test_it_adds_to_penalties_and_is_not_scaled() -> None:
    trials = [play([Ep(1.0, [Act(legal=False)])]), play([Ep(1.0, [Act()])])]
    # 10 − 2 + 1 = 9 and 10 + 0.5: mean 9.75
    got = advantages(trials, [[1.0], [0.5]], reward_scale=10.0, invalid_penalty=2.0)
    assert got == [[-0.75], [0.75]]


def test_values_are_trained_towards_it() -> None:
    trials = [plain([1.0], acts=2)]
    found = credited(trials, [[1.0, 0.5]], [np.zeros(2)], advantage="gae", gae_lambda=1.0)
    assert found.states is not None
    assert [turns.tolist() for turns in found.states.target] == [[2.5, 1.5]]


def test_without_an_outcome_it_is_dropped() -> None:
    """The last remark and the moves of an episode under way are compared with nobody: they have penalties alone."""
    trials = [play([Ep(1.0, [Act()], Note(legal=False)), Ep(None, [Act()])], planned=2), plain([1.0])]
    found = credited(trials, [[0.0, 0.0, 1.0], [0.0]], invalid_penalty=2.0)
    assert [turns.tolist() for turns in found.advantages] == [[0, -2, 0], [0]]
    assert found.diagnostics["intrinsic_reward"] == 0
