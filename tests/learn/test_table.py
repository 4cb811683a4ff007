import numpy as np
from fake_trials import Act, Ep, Note, play

from mage.learn.table import turn_table


def test_turns_in_order_with_place_phase_and_owner() -> None:
    trials = [
        play(
            [Ep(1.0, [Act("a"), Act("b", legal=False)], Note(tokens=5)), Ep(3.0, [Act("a")])], group=7, opponent="tom"
        ),
        play([Ep(-1.0, [Act("b")])], group=9, opponent="ann", seat=1),
    ]
    table = turn_table(trials, reward_scale=2.0)
    assert table.trial.tolist() == [0, 0, 0, 0, 1]
    assert table.episode.tolist() == [0, 0, 0, 1, 0]
    assert table.reflects.tolist() == [False, False, True, False, False]
    assert table.step.tolist() == [0, 1, 0, 0, 0]
    assert table.last.tolist() == [False, True, True, True, True]
    assert table.group.tolist() == [0, 0, 0, 0, 1]
    assert table.opponent.tolist() == [0, 0, 0, 0, 1]
    assert table.seat.tolist() == [0, 0, 0, 0, 1]
    assert table.anchor.tolist() == [0, 1, 2, 0, 1]
    assert table.legal.tolist() == [True, False, True, True, True]
    assert table.length.tolist() == [2, 2, 5, 2, 2]
    assert table.trials.rewards.tolist() == [[2.0, 6.0, 0.0], [-2.0, 0.0, 0.0]]
    assert table.trials.played.tolist() == [[True, True, False], [True, False, False]]


def test_columns_follow_the_longest_task() -> None:
    table = turn_table([play([Ep(1.0)], planned=1), play([Ep(1.0)], planned=4)])
    assert table.trials.columns == 4


def test_nothing_gives_an_empty_table() -> None:
    table = turn_table([])
    assert len(table) == 0
    assert len(table.trials) == 0
    assert table.step.dtype == np.int64


def test_a_trial_in_which_the_agent_never_moved_has_a_row_and_no_turns() -> None:
    table = turn_table([play([Ep(1.0, [])]), play([Ep(2.0)])])
    assert len(table.trials) == 2
    assert table.trial.tolist() == [1]
