"""Whole credit: hand-worked trials, and what must hold for any of them."""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from fake_trials import Act, Ep, Note, plain, play
from hypothesis import given
from hypothesis import strategies as st

from mage.errors import RecipeError
from mage.learn.credit import assign_credit
from mage.learn.table import Reals, TurnTable
from mage.play.records import Trial
from mage.recipe import CreditSection

LIMITS = {"act": 8, "reflect": 4}
KINDS = ["episode", "cumulative", "differential", "differential_code", "final"]
ESTIMATORS = ["reinforce", "rloo", "grpo", "gigpo"]


def advantages(trials: Sequence[Trial], **credit: Any) -> list[list[float]]:
    given: dict[str, Any] = {"invalid_penalty": 0.0, "gamma_traj": 0.5, **credit}
    return [a.tolist() for a in assign_credit(trials, CreditSection(**given), max_tokens=LIMITS).advantages]


def test_differential_reinforce_by_hand() -> None:
    # G of trial 0 (rewards 0, 2): Δ = 0, 2, so 0 + ½·2 = 1 | reflection 2 | 2; of trial 1 (2, 2): 2 | 0 | 0
    trials = [plain([0.0, 2.0]), plain([2.0, 2.0])]
    expected = [[-0.5, 1, 1], [0.5, -1, -1]]
    assert advantages(trials, returns="differential", advantage="reinforce") == expected


def test_differential_gigpo_by_hand() -> None:
    # the step term as above (all at state s0); the trial term is 0: both end with 2
    trials = [plain([0.0, 2.0]), plain([2.0, 2.0])]
    assert advantages(trials, returns="differential") == [[-0.5, 1, 1], [0.5, -1, -1]]
    # with last rewards 2 and 4 it is ∓1: G of (2, 4): 2 + ½·2 = 3 | 2 | 2, so steps ∓1, 0, 0
    trials = [plain([0.0, 2.0]), plain([2.0, 4.0])]
    assert advantages(trials, returns="differential") == [[-2, -1, -1], [2, 1, 1]]
    assert advantages(trials, returns="differential", step_weight=0.0, trial_weight=3.0) == [[-3] * 3, [3] * 3]


def test_local_and_global_anchor() -> None:
    # one state throughout; kind final: G is 2 in trial 0, 4 in trial 1, at every turn
    trials = [plain([0.0, 2.0], acts=1), plain([0.0, 4.0], acts=1)]
    local = advantages(trials, returns="episode", trial_weight=0.0, baseline=("group", "episode"))
    assert local == [[0, -1, -1], [0, 1, 1]]
    # global: play values 0, 2, 0, 4 have mean 1.5
    both = advantages(trials, returns="episode", trial_weight=0.0, baseline=("group",))
    assert both == [[-1.5, -1, 0.5], [-1.5, 1, 2.5]]


def test_mixed_baseline_pools_opponents() -> None:
    trials = [
        plain([r], group=g, opponent=o) for g, o, r in [(0, "a", 1.0), (0, "a", 3.0), (1, "b", 7.0), (1, "b", 9.0)]
    ]
    for name in ESTIMATORS[::3]:
        keyed = advantages(trials, returns="final", advantage=name, step_weight=0.0)
        assert keyed == ([[-1], [1], [-1], [1]])
        mixed = advantages(trials, returns="final", advantage=name, step_weight=0.0, baseline=("episode",))
        assert mixed == [[-4], [-2], [2], [4]]


def test_episode_kind_lets_nothing_of_other_episodes_through() -> None:
    first = advantages([plain([1.0, 5.0]), plain([3.0, 6.0])], returns="episode")
    other = advantages([plain([1.0, -8.0]), plain([3.0, 90.0])], returns="episode")
    assert [a[0] for a in first] == [a[0] for a in other] == [-2, 2]  # −1 of the step, −1 of the episode
    assert [a[1:] for a in first] == [[-1, -1], [1, 1]]  # the reflection is paid by the second episode


def test_every_episode_is_counted_where_they_are_not_told_apart() -> None:
    # plays 0, 10 and 2, 10 have mean 5.5; the remarks are both followed by 10
    trials = [plain([0.0, 10.0]), plain([2.0, 10.0])]
    credit: dict[str, Any] = {"returns": "episode", "baseline": ("group", "opponent")}
    assert advantages(trials, advantage="reinforce", **credit) == [[-5.5, 0, 4.5], [-3.5, 0, 4.5]]
    spread = np.sqrt((5.5**2 + 3.5**2 + 2 * 4.5**2) / 4)
    for found, raw in zip(
        advantages(trials, advantage="grpo", **credit), ([-5.5, 0, 4.5], [-3.5, 0, 4.5]), strict=True
    ):
        assert found == pytest.approx(np.array(raw) / spread, abs=1e-5)
    # what the other trial's episodes brought: 6 and 5 on average
    assert advantages(trials, advantage="rloo", **credit) == [[-6, 0, 4], [-3, 0, 5]]
    credit["baseline"] = ()
    assert advantages(trials, advantage="reinforce++", std=False, **credit) == [[-5.5, 0, 4.5], [-3.5, 0, 4.5]]


def test_long_trajectories_do_not_weigh_more() -> None:
    # first turns have G 0 and 4: the mean is 2, though three of four turns have G 0
    trials = [play([Ep(0.0, [Act("p"), Act("q"), Act("r")])]), play([Ep(4.0, [Act("p")])])]
    assert advantages(trials, returns="episode", advantage="reinforce") == [[-2, -2, -2], [2]]


def test_penalties_reach_trial_and_step_term() -> None:
    trials = [play([Ep(1.0, [Act("p", legal=False)])]), play([Ep(1.0, [Act("p")])])]
    assert advantages(trials, returns="final", invalid_penalty=2.0) == [[-2], [2]]  # ∓1 in each term
    assert advantages(trials, returns="final", invalid_penalty=2.0, step_weight=0.0) == [[-1], [1]]
    assert advantages(trials, returns="differential", advantage="reinforce", invalid_penalty=2.0) == [[-1], [1]]


def test_length_penalty_grows_from_half_the_limit() -> None:
    # limit 8: 4, 6, 8 tokens cost 0, 1, 2; limit 4 of a reflection: 3 tokens cost 1
    trials = [play([Ep(0.0, [Act("p", tokens=n)], Note(tokens=3)), Ep(0.0, [])], planned=2) for n in (4, 6, 8)]
    credit = CreditSection(returns="final", advantage="reinforce", length_penalty=2.0)
    got, _, seen = assign_credit(trials, credit, max_tokens=LIMITS)
    assert [a.tolist() for a in got] == [[1, 0], [0, 0], [-1, 0]]
    assert seen["length_penalty"] == -(0 + 1 + 2 + 3 * 1) / 6


def test_a_penalty_in_a_group_of_equal_outcomes_is_not_divided_by_zero() -> None:
    # G is 1 at both first turns; at the second turn of trial 0 it is −1: variance (½·0 + ½·4 + 0) / 2 = 1
    trials = [play([Ep(1.0, [Act("p"), Act("p", legal=False)])]), play([Ep(1.0, [Act("p")])])]
    (first, second), (other,) = advantages(trials, returns="final", advantage="grpo", invalid_penalty=2.0)
    assert (first, other) == (0, 0)
    assert second == pytest.approx(-2, abs=1e-5)


def test_reward_scale_multiplies_rewards_and_not_penalties() -> None:
    trials = [play([Ep(1.0, [Act("p", legal=False)])]), play([Ep(3.0, [Act("p")])])]
    got = advantages(trials, returns="final", advantage="reinforce", invalid_penalty=2.0, reward_scale=10.0)
    assert got == [[-11], [11]]  # 10 − 2 and 30, mean 19


def test_turns_without_outcome_get_their_penalty_and_shift_nobody() -> None:
    whole = [plain([0.0, 2.0]), plain([2.0, 2.0])]
    cut = play([Ep(1.0, [Act()], Note(legal=False)), Ep(None, [Act()])], planned=2)
    got = advantages([*whole, cut], advantage="reinforce", invalid_penalty=2.0)
    assert got[2][1:] == [-2, 0]
    assert [a[1:] for a in got[:2]] == [a[1:] for a in advantages(whole, advantage="reinforce")]


def test_diagnostics() -> None:
    equal = [plain([1.0, 1.0], group=0, member=m) for m in range(2)]
    mixed = [
        plain([0.0, 2.0], group=1),
        play([Ep(2.0, [Act("s0", legal=False)], Note()), Ep(2.0, [Act("s0")])], group=1),
    ]
    credit = CreditSection(returns="differential", advantage="reinforce", gamma_traj=0.5, invalid_penalty=6.0)
    seen = assign_credit([*equal, *mixed], credit, max_tokens=LIMITS).diagnostics
    assert seen["silent_groups"] == 0.5
    assert seen["invalid_penalty"] == -6 / 12
    # play of group 1: G first 1 and −4 (∓2.5), then 2 and 0 (∓1); reflections ±1
    assert seen["advantage_mean_act"] == 0
    assert seen["advantage_std_act"] == pytest.approx(np.sqrt((2 * 6.25 + 2 * 1) / 8))
    assert seen["advantage_std_reflect"] == pytest.approx(np.sqrt(2 / 4))


def test_no_trials() -> None:
    got, _, seen = assign_credit([], CreditSection(), max_tokens=LIMITS)
    assert got == []
    assert seen["silent_groups"] == 0


# Properties. Rewards are multiples of ¼ and discounts of ½, so that sums are exact.

quarters = st.integers(-20, 20).map(lambda n: n / 4)


@st.composite
def groups(draw: st.DrawFn, whole: bool = False, count: int = 2) -> list[list[list[Ep]]]:
    """Episodes of each group's members, who may stop early unless `whole`, or not move in an episode."""
    act = st.builds(Act, anchor=st.sampled_from("pqr"), legal=st.booleans(), tokens=st.integers(1, 8))
    note = st.builds(Note, legal=st.booleans(), tokens=st.integers(1, 4))

    def member() -> list[Ep]:
        length = 3 if whole else draw(st.integers(1, 3))
        eps = [Ep(draw(quarters), draw(st.lists(act, max_size=3)), draw(note)) for _ in range(length)]
        return [*eps[:-1], Ep(eps[-1].reward, eps[-1].acts, None)]

    return [[member() for _ in range(draw(st.integers(2, 4)))] for _ in range(count)]


def built(made: list[list[list[Ep]]], shift: Sequence[float] = (0, 0), factor: float = 1.0) -> list[Trial]:
    return [
        play([Ep(factor * e.reward + shift[g], e.acts, e.note) for e in member], group=g, member=m, opponent="ab"[g])
        for g, members in enumerate(made)
        for m, member in enumerate(members)
    ]


def flat(trials: Sequence[Trial], **credit: Any) -> np.ndarray:
    given: dict[str, Any] = {"invalid_penalty": 2.0, "length_penalty": 2.0, "gamma_traj": 0.5, **credit}
    return np.concatenate([np.zeros(0), *advantages(trials, **given)])


kinds = st.sampled_from(KINDS)
estimators = st.sampled_from(ESTIMATORS)


@given(kind=kinds, estimator=estimators, data=st.data())
def test_a_constant_on_a_groups_rewards_changes_nothing(kind: str, estimator: str, data: st.DataObject) -> None:
    # Cumulative returns of trials of different length shift differently, so there trials are played whole.
    made = data.draw(groups(whole=kind == "cumulative"))
    shift = data.draw(st.tuples(quarters, quarters))
    credit = {"returns": kind, "advantage": estimator, "baseline": ("group", "opponent", "episode")}
    assert np.allclose(flat(built(made, shift), **credit), flat(built(made), **credit), atol=1e-6)


@given(kind=st.sampled_from(["episode", "final"]), made=groups(), shift=st.tuples(quarters, quarters))
def test_also_with_the_anchor_kept_over_episodes(kind: str, made: Any, shift: tuple[float, float]) -> None:
    # Differential returns shift in the first episode alone, so a global anchor would mix shifted with unshifted ones.
    credit = {"returns": kind, "baseline": ("group",)}
    assert np.allclose(flat(built(made, shift), **credit), flat(built(made), **credit), atol=1e-9)


@given(kind=kinds, estimator=estimators, data=st.data())
def test_permuting_members_permutes_advantages(kind: str, estimator: str, data: st.DataObject) -> None:
    trials = built(data.draw(groups()))
    order = data.draw(st.permutations(range(len(trials))))
    credit: dict[str, Any] = {"returns": kind, "advantage": estimator, "invalid_penalty": 2.0}
    straight = advantages(trials, **credit)
    permuted = advantages([trials[i] for i in order], **credit)
    for place, i in enumerate(order):
        assert permuted[place] == pytest.approx(straight[i], abs=1e-6)


@given(
    kind=kinds,
    estimator=estimators,
    baseline=st.sampled_from([("group",), ("group", "opponent", "episode"), ("group", "anchor")]),
    made=groups(),
)
def test_groups_never_influence_each_other(kind: str, estimator: str, baseline: tuple[str, ...], made: Any) -> None:
    trials = built(made)
    credit = {"returns": kind, "advantage": estimator, "baseline": baseline}
    alone = [flat([t for t in trials if t.task.group == g], **credit) for g in (0, 1)]
    assert np.allclose(flat(trials, **credit), np.concatenate(alone), atol=1e-9)


@given(kind=kinds, estimator=estimators, std=st.booleans(), made=groups())
def test_advantages_scale_with_rewards_and_penalties(kind: str, estimator: str, std: bool, made: Any) -> None:
    trials = built(made)
    credit = {"returns": kind, "advantage": estimator, "std": std}
    scaled = flat(trials, **credit, reward_scale=4.0, invalid_penalty=8.0, length_penalty=8.0)
    factor = 1 if std or estimator == "grpo" else 4  # in standard deviations nothing has a scale
    assert np.allclose(scaled, factor * flat(trials, **credit), atol=1e-4)


@given(estimator=estimators, kind=kinds, made=groups())
def test_normalized_advantages_are_bounded(estimator: str, kind: str, made: Any) -> None:
    # At most 4 members of 9 turns per key: a value is at most √36 deviations off, in each of GiGPO's terms; RLOO's
    # factor is at most 2.
    assert np.abs(flat(built(made), returns=kind, advantage=estimator, std=True)).max(initial=0) <= 12


@given(kind=kinds, made=groups())
def test_first_turns_are_centred(kind: str, made: Any) -> None:
    single = [[[Ep(e.reward, e.acts[:1], e.note) for e in member] for member in group] for group in made]
    trials = built(single)
    got = flat(trials, returns=kind, advantage="reinforce")
    place = [(t.task.group, turn.episode, turn.phase) for t in trials for turn in t.turns]
    for key in set(place):
        total = sum(a for a, own in zip(got, place, strict=True) if own == key)
        assert total == pytest.approx(0, abs=1e-9)


def centred(table: TurnTable, returns: Reals, credit: CreditSection) -> Reals:
    return returns - returns.mean()


def short(table: TurnTable, returns: Reals, credit: CreditSection) -> Reals:
    return returns[1:]


def endless(table: TurnTable, returns: Reals, credit: CreditSection) -> Reals:
    return returns * np.inf


def broken(table: TurnTable, returns: Reals, credit: CreditSection) -> Reals:
    raise KeyError("margin")


def test_an_advantage_of_one_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("own_credit")
    module.centred, module.short, module.endless, module.broken, module.none = centred, short, endless, broken, 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_credit", module)
    trials = [plain([1.0]), plain([3.0])]

    def advantages(name: str) -> list[list[float]]:
        credit = CreditSection(returns="episode", advantage=f"own_credit:{name}")
        return [turns.tolist() for turns in assign_credit(trials, credit, max_tokens=LIMITS).advantages]

    assert advantages("centred") == [[-1], [1]]
    for name, words in (
        ("short", "own_credit:short': expected 2 finite numbers, one a turn, not an array of shape"),
        ("endless", "with others"),
        ("none", "has a int there; expected a function"),
        ("missing", "has no 'missing'"),
        ("broken", "own_credit:broken': KeyError: 'margin' .test_credit.py, line"),
    ):
        with pytest.raises(RecipeError, match=words):
            advantages(name)
