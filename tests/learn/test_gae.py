"""Hand-worked advantage estimation, and its limits: λ = 1 with V = 0 is the return of the same kind."""

from __future__ import annotations

import numpy as np
import pytest
from fake_trials import Act, Ep, Note, play
from hypothesis import given
from hypothesis import strategies as st

from mage.learn.credit import assign_credit, turn_advantages
from mage.learn.gae import gae, turn_discounts, turn_rewards
from mage.learn.returns import turn_returns
from mage.learn.table import turn_table
from mage.play.records import Trial
from mage.recipe import CreditSection
from mage.recipe_values import ReturnKind

LIMITS = {"act": 8, "reflect": 8}
halves = st.integers(-8, 8).map(lambda number: number / 2)


def three() -> Trial:
    """Turns: 0, 1 play episode 1; 2 reflects; 3 plays episode 2; 4 reflects; 5, 6 play episode 3."""
    return play([Ep(1.0, [Act(), Act()], Note()), Ep(3.0, [Act()], Note()), Ep(2.0, [Act(), Act()])])


def test_by_hand() -> None:
    # δ_2 = 4 − 1 = 3; δ_1 = ½·1 − 2 = −1.5; δ_0 = 1 + 1·2 − 0 = 3; λ = ½: A_1 = −1.5 + ½·½·3, A_0 = 3 + ½·A_1
    rewards, discounts, values = np.array([1.0, 0, 4]), np.array([1.0, 0.5, 0]), np.array([0.0, 2, 1])
    assert gae(rewards, discounts, values, 0.5).tolist() == [3 + 0.5 * -0.75, -0.75, 3]
    assert gae(rewards, discounts, values, 0.0).tolist() == [3, -1.5, 3]


def test_rewards_and_discounts_by_hand() -> None:
    table = turn_table([three(), three()])
    penalties = np.zeros(14)
    penalties[2] = -4
    wanted = {
        "episode": ([0, 1, -4, 3, 0, 0, 2], [0.9, 0, 1, 0, 1, 0.9, 0]),
        "cumulative": ([0, 1, -4, 3, 0, 0, 2], [0.9, 0.6, 1, 0.6, 1, 0.9, 0]),
        "differential": ([0, 1, -4, 2, 0, 0, -1], [0.9, 0.6, 1, 0.6, 1, 0.9, 0]),
        "final": ([0, 0, -4, 0, 0, 0, 2], [1, 1, 1, 1, 1, 1, 0]),
    }
    for kind, (rewards, discounts) in wanted.items():
        assert turn_rewards(kind, table, penalties, 0.6)[:7].tolist() == rewards
        assert turn_discounts(kind, table, 0.9, 0.6).tolist() == discounts * 2


def test_what_an_episode_without_a_turn_pays_goes_to_the_turn_before_it() -> None:
    # rewards 0, 5, 5 and 1, 2, 4; the agent has no turn in the second, in the last, and in the last two
    first = play([Ep(0.0, [Act()]), Ep(5.0, []), Ep(5.0, [Act()])])
    last = play([Ep(1.0, [Act()]), Ep(2.0, [Act()]), Ep(4.0, [])])
    both = play([Ep(1.0, [Act()], Note()), Ep(2.0, [], Note()), Ep(4.0, [])])
    wanted = {
        "episode": [[0, 5], [1, 2], [1, 2, 4]],
        "cumulative": [[0 + 2.5, 5], [1, 2 + 2], [1, 2, 4]],
        "differential": [[0 + 2.5, 0], [1, 1 + 1], [1, 1, 2]],
        "final": [[0, 5], [0, 4], [0, 0, 4]],
    }
    kind: ReturnKind
    for kind, rewards in wanted.items():  # type: ignore[assignment]
        for trial, row in zip((first, last, both), rewards, strict=True):
            table = turn_table([trial])
            assert turn_rewards(kind, table, np.zeros(len(table)), 0.5).tolist() == row
    assert turn_discounts("cumulative", turn_table([first]), 1.0, 0.5).tolist() == [0.25, 0]
    without_remarks = turn_table([play([Ep(1.0, [Act()]), Ep(2.0, []), Ep(4.0, [])])])
    assert turn_rewards("cumulative", without_remarks, np.zeros(1), 0.5).tolist() == [1 + 0.5 * 2 + 0.25 * 4]


episodes = st.lists(st.tuples(halves, st.integers(0, 3), st.booleans()), min_size=1, max_size=4)


@given(
    episodes,
    st.sampled_from(["episode", "cumulative", "differential_code", "final"]),
    st.sampled_from([0.5, 1.0]),
    st.sampled_from([0.5, 1.0]),
)
def test_without_values_and_with_lambda_1_it_is_the_return(
    rows: list[tuple[float, int, bool]], kind: ReturnKind, step: float, traj: float
) -> None:
    trial = play([Ep(reward, [Act()] * n, Note() if noted else None) for reward, n, noted in rows], planned=len(rows))
    table = turn_table([trial, trial])
    if kind == "cumulative" and step < 1:
        # LaMer's sum leaves the discount inside an episode out of what comes after it; a running sum cannot
        step = 1.0
    zeros = np.zeros(len(table))
    found = gae(turn_rewards(kind, table, zeros, traj), turn_discounts(kind, table, step, traj), zeros, 1.0)
    assert found == pytest.approx(turn_returns(kind, table, zeros, step, traj))


@given(st.lists(halves, min_size=7, max_size=7), st.sampled_from([0.0, 0.5, 1.0]))
def test_values_cancel_in_the_targets_at_lambda_1(values: list[float], lam: float) -> None:
    credit = CreditSection(returns="cumulative", advantage="gae", gamma_traj=0.5, gae_lambda=lam)
    known = np.array(values)
    given_credit = assign_credit([three()], credit, max_tokens=LIMITS, values=[known])
    assert given_credit.states is not None
    assert given_credit.states.target[0] == pytest.approx(known + given_credit.advantages[0])
    if lam == 1:
        plain = turn_returns("cumulative", turn_table([three()]), np.zeros(7), 1.0, 0.5)
        assert given_credit.states.target[0] == pytest.approx(plain)


def test_a_state_that_nothing_follows_has_no_value() -> None:
    # the second reflection looks ahead to an episode that was never played: it is not learned, and 9 is not its value
    trial = play([Ep(1.0, [Act()], Note()), Ep(3.0, [Act()], Note(legal=False))], planned=2)
    credit = CreditSection(returns="cumulative", advantage="gae", gamma_traj=0.5, gae_lambda=0.0, invalid_penalty=2.0)
    found = assign_credit([trial], credit, max_tokens=LIMITS, values=[np.array([1.0, 2, 3, 9])])
    # δ: 1 + ½·2 − 1; 0 + 3 − 2; 3 + ½·0 − 3; the penalty alone
    assert found.advantages[0].tolist() == [1, 1, 0, -2]
    assert found.states is not None
    assert found.states.target[0][:3].tolist() == [2, 3, 3]
    assert found.states.learned[0].tolist() == [True, True, True, False]
    assert found.diagnostics["value_error"] == pytest.approx(np.sqrt(2 / 3))
    silent = assign_credit([trial], credit, max_tokens=LIMITS, values=[np.array([1.0, 2, 3, -9])])
    assert silent.advantages[0].tolist() == found.advantages[0].tolist()


def test_scaled_over_the_batch() -> None:
    credit = CreditSection(returns="episode", advantage="gae", std=True)
    given_credit = assign_credit([three(), three()], credit, max_tokens=LIMITS, values=[np.zeros(7), np.ones(7)])
    flat = np.concatenate(given_credit.advantages)
    assert (flat.mean(), flat.std()) == pytest.approx((0, 1), abs=1e-5)
    assert given_credit.diagnostics["value_error"] > 0


def test_values_are_needed() -> None:
    credit = CreditSection(advantage="gae")
    table = turn_table([three()])
    with pytest.raises(ValueError, match="needs the values"):
        turn_advantages(table, credit, np.zeros(7))
