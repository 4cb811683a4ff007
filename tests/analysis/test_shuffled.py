from __future__ import annotations

import asyncio

import pytest

from mage.analysis.exact import enumerate_trials
from mage.analysis.shuffled import remark_distributions, remarks_of, shared_chance, shuffled
from mage.chance import SeededDice
from mage.play.records import StopReason, Task, Trial, Turn

TASK = Task(0, 0, "x", 3, "redeal", 0)
LAWS = ({"red": 0.5, "blue": 0.5}, {"red": 0.2, "blue": 0.8})


def turn(phase, said):
    return Turn(phase, 0, 0, 0, 0, (), "", "", said, "", True)


def test_remarks_of_a_trial():
    turns = (turn("act", "bet"), turn("reflect", "red"), turn("act", "pass"), turn("reflect", ""))
    assert remarks_of(Trial(TASK, 0, (), turns, (), StopReason.COMPLETED)) == ("red", "")


def test_distributions_are_pooled_over_opponents_and_seats():
    """After episode 1: opponent a (weight 3) says red half the time, b (weight 1) always blue."""
    results = {
        ("a", 0): [(0.5, ("red", "red")), (0.5, ("blue", "red"))],
        ("b", 0): [(1.0, ("blue", "blue"))],
    }
    laws = remark_distributions(results, {"a": 3, "b": 1}, lambda remarks: remarks)
    assert laws == ({"blue": 0.625, "red": 0.375}, {"red": 0.75, "blue": 0.25})
    assert list(laws[0]) == ["blue", "red"]


def test_shuffled_remarks_do_not_depend_on_what_was_written():
    async def play(dice):
        given = shuffled(dice, LAWS)
        return [await given(TASK, 0, episode, "mine") for episode in (0, 1)]

    trials = asyncio.run(enumerate_trials(play, limit=10))
    found = {tuple(remarks): probability for probability, remarks in trials}
    assert found == pytest.approx(
        {("red", "red"): 0.1, ("red", "blue"): 0.4, ("blue", "red"): 0.1, ("blue", "blue"): 0.4}
    )


def test_sampled_trials_can_be_shuffled_too():
    given = shuffled(lambda kind, episode: SeededDice(7), [{"red": 1.0}])
    assert asyncio.run(given(TASK, 0, 0, "mine")) == "red"


def test_sharing_chance_changes_no_expected_payoff():
    """Payoff n depends on the remarks given so far and on the deal and the draw of n, as with memory reflection."""

    def play(share):
        async def trial(dice):
            rooms = shared_chance(dice) if share else dice
            given = shuffled(rooms, LAWS)
            remarks, rewards = [], []
            for episode in range(3):
                deal, draw = rooms("deal", episode).pick([1, 1, 2]), rooms("opponent", episode).pick([0.3, 0.7])
                rewards.append(deal * (1 + 2 * len(remarks)) - draw * remarks.count("red") * deal)
                if episode < 2:
                    remarks.append(await given(TASK, 0, episode, "mine"))
            return rewards

        return trial

    whole = asyncio.run(enumerate_trials(play(False), limit=1000))
    small = asyncio.run(enumerate_trials(play(True), limit=1000))
    assert len(whole) == 6**3 * 4
    assert len(small) == 6 * 4
    for episode in range(3):
        expected = [sum(p * rewards[episode] for p, rewards in trials) for trials in (whole, small)]
        assert expected[0] == pytest.approx(expected[1])
