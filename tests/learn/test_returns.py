"""Hand-worked returns. Three episodes with rewards 1, 3, 2, so Δ = 1, 2, −1; γ_step = γ_traj = 1/2 where not said."""

from collections.abc import Sequence

import numpy as np
import pytest
from fake_trials import Act, Ep, Note, plain, play
from hypothesis import given
from hypothesis import strategies as st

from mage.learn import returns
from mage.learn.table import Reals, turn_table
from mage.play.records import Trial
from mage.recipe_values import ReturnKind

HALF = 0.5


def of(
    kind: ReturnKind, trial: Trial, penalties: Sequence[float] = (), step: float = HALF, traj: float = HALF
) -> Reals:
    table = turn_table([trial])
    given = np.array(penalties, dtype=np.float64) if penalties else np.zeros(len(table))
    return returns.turn_returns(kind, table, given, step, traj)


def three() -> Trial:
    """Turns: 0, 1 play episode 1; 2 reflects; 3 plays episode 2; 4 reflects; 5, 6 play episode 3."""
    return play([Ep(1.0, [Act(), Act()], Note()), Ep(3.0, [Act()], Note()), Ep(2.0, [Act(), Act()])])


def test_episode() -> None:
    # play: ½·1, 1 | 3 | ½·2, 2; reflections look at the first turn of the next episode: 3 and 1
    assert of("episode", three()).tolist() == [0.5, 1, 3, 3, 1, 1, 2]


def test_cumulative() -> None:
    # g at the first turns: ½, 3, 1. Beyond episode 1: ½·3 + ¼·1 = 1.75; beyond 2: ½·1 = ½
    # play: ½+1.75, 1+1.75 | 3+½ | 1, 2; reflections: 3.5 and 1
    assert of("cumulative", three()).tolist() == [2.25, 2.75, 3.5, 3.5, 1, 1, 2]


def test_differential() -> None:
    # g at the first turns: ½·1, 2, ½·(−1). G_3 = −½; G_2 = 2 + ½·(−½) = 1.75; beyond 1: ½·1.75 + ¼·(−½) = 0.75
    # play: ½+.75, 1+.75 | 1.75 | −½, −1; reflections: 1.75 and −½
    assert of("differential", three()).tolist() == [1.25, 1.75, 1.75, 1.75, -0.5, -0.5, -1]


def test_differential_code() -> None:
    # backwards: −1, then ½·(−1) = −½ | 2 + ½·(−½) = 1.75 | 1 + ½·1.75 = 1.875, then ½·1.875 = 0.9375
    assert of("differential_code", three()).tolist() == [0.9375, 1.875, 1.75, 1.75, -0.5, -0.5, -1]


def test_final() -> None:
    assert of("final", three()).tolist() == [2] * 7


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # penalties −1 at turn 1 (play of episode 1), −2 at turn 2 (reflection), −4 at turn 6 (last turn of play):
        # the play's penalties flow back to earlier turns, a reflection's stays its own
        ("episode", [0.5 - 0.5, 0, 3 - 2, 3, 1 - 2, 1 - 2, 2 - 4]),
        # g at the first turns: 0, 3, −1. Beyond 1: 1.5 − ¼ = 1.25; beyond 2: −½
        ("cumulative", [1.25, 1.25, 2.5 - 2, 2.5, -1, -1, -2]),
        # g at the first turns: 0, 2, ½·(−1−4) = −2.5. G_2 = 2 − 1.25 = .75; beyond 1: ½·.75 − ¼·2.5 = −.25
        ("differential", [-0.25, -0.25, 0.75 - 2, 0.75, -2.5, -2.5, -5]),
        # backwards: −5, −2.5 | 2 − 1.25 = .75 | −1 + 1 + .375, half of it
        ("differential_code", [0.1875, 0.375, 0.75 - 2, 0.75, -2.5, -2.5, -5]),
        ("final", [2, 2 - 1, 2 - 2, 2, 2, 2, 2 - 4]),
    ],
)
def test_penalties_reach_every_kind_and_are_not_differenced(kind: ReturnKind, expected: list[float]) -> None:
    assert of(kind, three(), [0, -1, -2, 0, 0, 0, -4]).tolist() == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("episode", [1, 3, 2, 2]),
        ("cumulative", [1 + 0.5 * 3 + 0.25 * 2, 3 + 0.5 * 2, 2, 2]),  # the reflection before it sees its 3
        ("differential", [1 + 0.5 * 1.5 + 0.25 * -1, 1.5, -1, -1]),  # G_2 = 2 + ½·(−1)
        ("differential_code", [1 + 0.5 * 1.5, 1.5, -1, -1]),
        ("final", [2, 2, 2, 2]),
    ],
)
def test_an_episode_in_which_the_agent_never_moved_still_pays(kind: ReturnKind, expected: list[float]) -> None:
    # turns: play 1, reflect, (episode 2 without a turn), reflect, play 3
    trial = play([Ep(1.0, [Act()], Note()), Ep(3.0, [], Note()), Ep(2.0, [Act()])])
    assert of(kind, trial).tolist() == expected


def test_a_last_episode_without_turns_pays_to_those_before() -> None:
    trial = play([Ep(1.0, [Act()], Note()), Ep(3.0, [])], planned=2)
    assert of("differential", trial).tolist() == [2, 2]
    assert of("final", trial).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("episode", [1, 3, 3]),
        ("cumulative", [2.5, 3, 3]),
        ("differential", [2, 2, 2]),
        ("differential_code", [2, 2, 2]),
        ("final", [3, 3, 3]),
    ],
)
def test_a_trial_that_stops_early_pays_nothing_for_what_was_not_played(kind: ReturnKind, expected: list[float]) -> None:
    assert of(kind, plain([1.0, 3.0])).tolist() == expected


@pytest.mark.parametrize("kind", ["episode", "cumulative", "differential", "differential_code", "final"])
def test_a_reflection_that_nothing_follows_gets_its_own_penalty(kind: ReturnKind) -> None:
    trial = play([Ep(1.0, [Act()], Note())])
    assert of(kind, trial, [0, -2]).tolist() == [1, -2]
    full = play([Ep(1.0, [Act()], Note())], planned=1)
    assert of(kind, full, [0, -2]).tolist() == [1, -2]


def test_outcome_is_of_the_own_episode_and_for_reflections_of_the_next() -> None:
    trial = play([Ep(1.0, [Act()], Note()), Ep(2.0, [Act()], Note()), Ep(None, [Act()])])
    assert returns.has_outcome(turn_table([trial])).tolist() == [True, True, True, False, False]


def test_weights_of_the_rewards_at_the_papers_discount() -> None:
    def weights(kind: ReturnKind) -> list[float]:
        return [round(float(of(kind, plain(list(row)), step=1.0, traj=0.6)[0]), 10) for row in np.eye(3)]

    assert weights("differential") == [0.4, -0.12, 0.72]
    assert weights("differential_code") == [0.4, 0.24, 0.36]
    assert weights("cumulative") == [1, 0.6, 0.36]
    assert weights("final") == [0, 0, 1]
    assert weights("episode") == [1, 0, 0]


@pytest.mark.parametrize(
    ("kind", "total"),
    [("cumulative", 6 - 7), ("differential", 2 - 7), ("differential_code", 2 - 7), ("final", 2 - 7)],
)
def test_whole_trial(kind: ReturnKind, total: float) -> None:
    table = turn_table([three()])
    values = returns.trial_returns(kind, table, np.array([0, -1.0, -2, 0, 0, 0, -4]))
    assert values.tolist() == [[total]]
    assert returns.trial_return_index(kind, table).tolist() == [0] * 7


def test_whole_episodes_stay_apart_for_kind_episode() -> None:
    # the first reflection writes for episode 2, so its −2 is taken there
    table = turn_table([plain([5.0]), three()])
    penalties = np.array([0, 0, -1.0, -2, 0, 0, 0, -4])
    assert returns.trial_returns("episode", table, penalties).tolist() == [[5, 0, 0], [1 - 1, 3 - 2, 2 - 4]]
    assert returns.trial_return_index("episode", table).tolist() == [0, 3, 3, 4, 4, 5, 5, 5]


quarters = st.integers(-20, 20).map(lambda n: n / 4)
shape = st.lists(st.tuples(quarters, st.integers(0, 4)), min_size=1, max_size=5)


def shaped(rows: list[tuple[float, int]]) -> Trial:
    last = len(rows) - 1
    eps = [Ep(r, [Act()] * count, None if n == last else Note()) for n, (r, count) in enumerate(rows)]
    return play(eps, planned=5)


@given(shape)
def test_running_sum_telescopes_to_the_last_reward(rows: list[tuple[float, int]]) -> None:
    trial = shaped(rows)
    before = [0.0, *(r for r, _ in rows)]
    expected = [
        rows[-1][0] - before[turn.episode + (turn.phase == "reflect")] for turn in trial.turns
    ]  # R_last − R_{n−1}: exactly R_last in the first episode
    assert of("differential_code", trial, step=1.0, traj=1.0).tolist() == expected


@given(st.lists(st.tuples(quarters, st.integers(0, 4)), min_size=1, max_size=2))
def test_figure_telescopes_for_two_episodes(rows: list[tuple[float, int]]) -> None:
    trial = shaped(rows)
    values = of("differential", trial, step=1.0, traj=1.0)
    assert [v for v, t in zip(values, trial.turns, strict=True) if t.episode == 0 and t.phase == "act"] == [
        rows[-1][0]
    ] * rows[0][1]


@given(shape, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0]), st.data())
def test_figure_equals_its_formula_written_out(
    rows: list[tuple[float, int]], step: float, traj: float, data: st.DataObject
) -> None:
    trial = shaped(rows)
    count = len(trial.turns)
    penalties = np.array(data.draw(st.lists(quarters, min_size=count, max_size=count)), dtype=np.float64)
    table = turn_table([trial])
    got = returns.differential_returns(table, penalties, step, traj)

    def inside(n: int, t: int) -> float:
        own = [penalties[i] for i, turn in enumerate(trial.turns) if turn.episode == n and turn.phase == "act"]
        delta = rows[n][0] - (rows[n - 1][0] if n else 0.0)
        if own:
            own[-1] += delta
        else:
            own = [delta]
        return float(sum(step ** (i - t) * own[i] for i in range(t, len(own))))

    def full(n: int, t: int) -> float:
        return inside(n, t) + sum(traj ** (m - n) * full(m, 0) for m in range(n + 1, len(rows)))

    for i, turn in enumerate(trial.turns):
        if turn.phase == "reflect":
            assert got[i] == pytest.approx(full(turn.episode + 1, 0) + penalties[i])
        else:
            assert got[i] == pytest.approx(full(turn.episode, int(table.step[i])))
