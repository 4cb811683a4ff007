import numpy as np
from fake_trials import Act, Ep, Note, plain, play

from mage.learn.baselines import (
    Baseline,
    first_of_trajectory,
    keyed_count,
    keyed_leave_one_out,
    keyed_mean,
    keyed_std,
    keys,
    trial_baseline,
    turn_baseline,
)
from mage.learn.table import turn_table


def same(key: np.ndarray) -> list[list[int]]:
    """Rows that share a key, in order of first appearance."""
    return sorted([np.flatnonzero(key == k).tolist() for k in np.unique(key)])


def four_trials() -> list:  # two groups of two, each trial: play, reflect, play
    return [plain([0.0, 0.0], group=g, member=m, opponent="ab"[g], seat=g) for g in (0, 1) for m in (0, 1)]


def test_phases_never_share_a_key() -> None:
    table = turn_table(four_trials())
    assert same(keys(table, ())) == [[0, 2, 3, 5, 6, 8, 9, 11], [1, 4, 7, 10]]


def test_columns_split_keys() -> None:
    table = turn_table(four_trials())
    by_group = [[0, 2, 3, 5], [1, 4], [6, 8, 9, 11], [7, 10]]
    assert same(keys(table, ("group",))) == by_group
    assert same(keys(table, ("opponent",))) == by_group
    assert same(keys(table, ("seat",))) == by_group
    assert same(keys(table, ("episode", "group"))) == [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8, 11]]


def test_anchor_is_the_state_for_play_and_the_episode_for_reflections() -> None:
    trials = [
        play([Ep(0.0, [Act("p"), Act("q")], Note()), Ep(0.0, [Act("p")], Note()), Ep(0.0, [Act("r")])], member=m)
        for m in (0, 1)
    ]  # turns: p q note p note r; notes of different trials have different anchor strings
    table = turn_table(trials)
    assert same(keys(table, ("group", "anchor"))) == [[0, 3, 6, 9], [1, 7], [2, 8], [4, 10], [5, 11]]
    assert same(keys(table, ("group", "anchor", "episode"))) == [[0, 6], [1, 7], [2, 8], [3, 9], [4, 10], [5, 11]]


def test_one_value_per_trajectory_unless_anchored() -> None:
    table = turn_table([plain([0.0, 0.0], acts=2), plain([0.0, 0.0], acts=1)])
    # turns: 0 1 play, 2 reflects, 3 4 play | 5 plays, 6 reflects, 7 plays
    assert np.flatnonzero(turn_baseline(table, ("group",)).counted).tolist() == [0, 2, 5, 6]
    assert np.flatnonzero(turn_baseline(table, ("group", "episode")).counted).tolist() == [0, 2, 3, 5, 6, 7]
    assert turn_baseline(table, ("group", "anchor")).counted.all()
    assert turn_baseline(table, ("group",)).weight.tolist() == [0.25] * 2 + [1] + [0.25] * 2 + [0.5, 1, 0.5]
    assert turn_baseline(table, ("group", "episode")).weight.tolist() == [0.5] * 2 + [1] + [0.5] * 2 + [1] * 3
    assert turn_baseline(table, ("group", "anchor")).weight.tolist() == [1] * 8


def test_one_value_per_episode_where_each_is_a_trajectory() -> None:
    table = turn_table([plain([0.0, 0.0], acts=2), plain([0.0, 0.0], acts=1)])
    found = turn_baseline(table, ("group",), by_episode=True)
    assert np.flatnonzero(found.counted).tolist() == [0, 2, 3, 5, 6, 7]
    assert found.weight.tolist() == [0.5] * 2 + [1] + [0.5] * 2 + [1] * 3
    assert found.trial.tolist() == table.trial.tolist()  # left out together: later episodes may know the earlier ones


def test_turns_without_outcome_are_not_counted() -> None:
    table = turn_table([play([Ep(1.0, [Act()], Note()), Ep(None, [Act()])])])
    assert turn_baseline(table, ("group",)).counted.tolist() == [True, False, False]
    assert turn_baseline(table, ("group", "anchor")).counted.tolist() == [True, False, False]


def test_trials_are_compared_within_their_columns() -> None:
    table = turn_table([*four_trials(), play([Ep(None, [Act()])], group=1, opponent="b", seat=1)])
    one = trial_baseline(table, ("group", "episode", "anchor"))
    assert same(one.key) == [[0, 1], [2, 3, 4]]
    assert one.counted.tolist() == [True, True, True, True, False]
    assert same(trial_baseline(table, ("episode",)).key) == [[0, 1, 2, 3, 4]]
    by_episode = trial_baseline(table, ("group",), by_episode=True)  # three columns each, two of them played
    assert same(by_episode.key)[:2] == [[0, 3], [1, 4]]
    assert by_episode.counted.tolist() == [True, True, False] * 4 + [False] * 3


VALUES = np.array([1.0, 3.0, 100.0, 5.0, 8.0])
BASELINE = Baseline(
    key=np.array([0, 0, 0, 0, 1]),
    trial=np.array([0, 1, 1, 2, 2]),
    counted=np.array([True, True, False, True, True]),
    weight=np.array([1, 0.5, 0.5, 1, 1]),
)


def test_statistics_by_hand() -> None:
    # key 0 counts 1, 3, 5: mean 3; the 100 has half of trial 1's weight: variance (4 + ½·0 + ½·97² + 4) / 3
    assert keyed_count(BASELINE).tolist() == [3, 3, 3, 3, 1]
    assert keyed_mean(VALUES, BASELINE).tolist() == [3, 3, 3, 3, 8]
    assert np.allclose(keyed_std(VALUES, BASELINE), [np.sqrt((8 + 97**2 / 2) / 3)] * 4 + [0])


def test_leave_one_out_leaves_out_the_whole_trajectory() -> None:
    mean, others = keyed_leave_one_out(VALUES, BASELINE)
    assert mean.tolist() == [4, 3, 3, 2, 0]  # the uncounted turn of trial 1 too is compared with 1 and 5
    assert others.tolist() == [2, 2, 2, 2, 0]


def test_leave_one_out_with_several_values_of_one_trial() -> None:
    every = Baseline(np.zeros(3, dtype=np.int64), np.array([0, 0, 1]), np.ones(3, dtype=np.bool_), np.ones(3))
    mean, others = keyed_leave_one_out(np.array([1.0, 3.0, 7.0]), every)
    assert mean.tolist() == [7, 7, 2]
    assert others.tolist() == [1, 1, 2]


def test_first_of_trajectory_skips_what_is_not_eligible() -> None:
    key, trial = np.array([0, 0, 1, 0]), np.array([0, 0, 0, 1])
    eligible = np.array([False, True, True, True])
    assert first_of_trajectory(key, trial, eligible).tolist() == [False, True, True, True]
