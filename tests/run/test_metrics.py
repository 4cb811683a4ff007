import json
import math

import pytest

from mage.play.collect import Collected, Dropped, Group
from mage.play.records import EpisodeRecord, StopReason, Task, Trial, Turn
from mage.run.metrics import result_shares, reward_table, trial_metrics

RESULTS = {1: "won", 0: "drawn", -1: "lost"}


def trial(group, member, rewards, opponent="random", legal=(True,), truncated=(False,)):
    turns = tuple(
        Turn("act", 0, 0, 2 + 3 * k, 4 + 3 * k, (-0.5, -0.5), "", "", "", "", fine, cut)
        for k, (fine, cut) in enumerate(zip(legal, truncated, strict=True))
    )
    episodes = tuple(EpisodeRecord(r, RESULTS[(r > 0) - (r < 0)], "", False, 1) for r in rewards)
    task = Task(group, 0, opponent, 3, "redeal", group)
    return Trial(task, member, ((0,) * 10, (0,) * 5), turns, episodes, StopReason.COMPLETED)


def gather(*groups, dropped=()):
    listed = tuple(Group(trials[0].task, tuple(trials)) for trials in groups)
    return Collected(listed, tuple(Dropped(Task(9, 0, "random", 3, "redeal", 9), reason) for reason in dropped))


@pytest.fixture
def collected():
    return gather(
        [trial(0, 0, [1.0, 2.0]), trial(0, 1, [-1.0], legal=(True, False), truncated=(False, True))],
        [trial(1, 0, [2.0, 0.0, -2.0], "cfr"), trial(1, 1, [0.0, -1.0], "cfr")],
        dropped=["member 1: it broke", "member 0: it broke", "member 1: it broke"],
    )


def test_by_hand(collected):
    row = trial_metrics(collected, 3)
    assert row["payoff"] == pytest.approx([2 / 4, 1 / 3, -2.0])
    assert row["payoff_by_opponent"] == {"random": [0.0, 2.0, None], "cfr": [1.0, -0.5, -2.0]}
    assert list(row["payoff_by_opponent"]) == ["cfr", "random"]  # in the same order every time
    assert row["trials_by_opponent"] == {"cfr": 2, "random": 2}
    assert row["won"] == pytest.approx([2 / 4, 1 / 3, 0])
    assert row["drawn"] == pytest.approx([1 / 4, 1 / 3, 0])
    assert row["lost"] == pytest.approx([1 / 4, 1 / 3, 1])
    assert (row["trials"], row["dropped_groups"]) == (4, 3)
    assert row["drop_reasons"] == ["member 0: it broke", "member 1: it broke"]
    assert (row["invalid_share"], row["truncated_share"]) == (1 / 5, 1 / 5)
    assert (row["tokens_sampled"], row["tokens_read"]) == (10, 50)


def test_standard_errors_are_those_of_groups(collected):
    """Members share their deals and are not independent: group means are 0 and 1, then 2 and −0.5, then one alone."""
    row = trial_metrics(collected, 3)
    spread = [math.sqrt(0.5), math.sqrt(2 * 1.25**2)]
    assert row["payoff_sem"] == pytest.approx([spread[0] / math.sqrt(2), spread[1] / math.sqrt(2), None])


def test_what_lies_between_opponents_is_no_error():
    groups = [
        [trial(n, 0, [reward], name)] for n, (reward, name) in enumerate([(1.0, "a"), (1.0, "a"), (-1.0, "b")] * 2)
    ]
    assert trial_metrics(gather(*groups), 1)["payoff_sem"] == [0.0]
    # a: 0 and 2, s² = 2; b: 5, 5, 5, 9: s² = 4. √(2²·2/2 + 4²·4/4) / 6
    rewards = [(0.0, "a"), (2.0, "a"), (5.0, "b"), (5.0, "b"), (5.0, "b"), (9.0, "b")]
    groups = [[trial(n, 0, [reward], name)] for n, (reward, name) in enumerate(rewards)]
    assert trial_metrics(gather(*groups), 1)["payoff_sem"] == [pytest.approx(math.sqrt(4 + 16) / 6)]


def test_standard_errors_by_opponent_are_those_of_its_groups():
    """Group means against cfr: 1 and 3, spread √2, so an error of √2 / √2 = 1; random met one group alone."""
    row = trial_metrics(
        gather(
            [trial(0, 0, [0.0], "cfr"), trial(0, 1, [2.0], "cfr")],
            [trial(1, 0, [3.0], "cfr"), trial(1, 1, [3.0], "cfr")],
            [trial(2, 0, [5.0]), trial(2, 1, [-5.0])],
        ),
        1,
    )
    assert row["payoff_sem_by_opponent"] == {"cfr": [pytest.approx(1.0)], "random": [None]}
    assert row["trials_by_opponent"] == {"cfr": 4, "random": 2}


def test_an_episode_that_nobody_played(collected):
    row = trial_metrics(collected, 4)
    assert (row["payoff"][3], row["payoff_sem"][3], row["won"][3]) == (None, None, None)
    json.dumps(row, allow_nan=False)


def test_nothing_was_played():
    row = trial_metrics(gather(dropped=["it broke"]), 2)
    assert (row["payoff"], row["payoff_sem"], row["trials"]) == ([None, None], [None, None], 0)
    assert (row["invalid_share"], row["tokens_sampled"]) == (0.0, 0)


def test_rewards_are_not_cumulative():
    table = reward_table([trial(0, 0, [1.0, 2.0]), trial(0, 1, [3.0])], 3)
    assert table[0, :2].tolist() == [1.0, 2.0]
    assert [math.isnan(value) for value in table.ravel().tolist()] == [False, False, True, False, True, True]


def test_shares_count_over_who_came_there():
    shares = result_shares([trial(0, 0, [1.0, -1.0]), trial(0, 1, [1.0])], 3)
    assert shares == {"won": [1.0, 0.0, None], "drawn": [0.0, 0.0, None], "lost": [0.0, 1.0, None]}
