from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from mage.errors import GameError
from mage.play.collect import collect
from mage.play.records import StopReason, Task, Trial

TASKS = [Task(group, 0, "", 1, "redeal", 100 + group) for group in range(3)]


def trial(task, member):
    return Trial(task, member, (), (), (), StopReason.COMPLETED)


def test_groups_keep_the_order_of_tasks_and_members():
    async def play(task, member):
        for _ in range((7 * task.group + 3 * member) % 5):
            await asyncio.sleep(0)
        return trial(task, member)

    collected = asyncio.run(collect(TASKS, 4, play))
    assert [group.task for group in collected.groups] == TASKS
    assert [[trial.member for trial in group.trials] for group in collected.groups] == [[0, 1, 2, 3]] * 3
    assert [(trial.task.group, trial.member) for trial in collected.trials] == [
        (g, m) for g in range(3) for m in range(4)
    ]
    assert collected.dropped == ()
    assert collected.failure_share == 0


def test_a_failed_trial_is_played_again_with_its_own_seed(caplog):
    tries = []

    async def play(task, member):
        tries.append((task.seed, member))
        if tries.count((101, 2)) == 1 and (task.seed, member) == (101, 2):
            raise OSError("server gone")
        return trial(task, member)

    with caplog.at_level(logging.WARNING):
        collected = asyncio.run(collect(TASKS, 4, play))
    assert len(collected.groups) == 3
    assert tries.count((101, 2)) == 2
    assert len(tries) == 13
    assert "group 1, member 2: OSError: server gone (test_collect.py, line " in caplog.text
    assert "); played again" in caplog.text


@pytest.mark.parametrize("retries", [0, 2])
def test_a_group_that_keeps_failing_is_dropped_with_its_reason(retries):
    tries = []

    async def play(task, member):
        if (task.group, member) == (1, 1):
            tries.append(member)
            raise TimeoutError("no answer in 5 s")
        return trial(task, member)

    collected = asyncio.run(collect(TASKS, 2, play, retries=retries))
    assert [group.task.group for group in collected.groups] == [0, 2]
    (dropped,) = collected.dropped
    assert dropped.task == TASKS[1]
    assert dropped.reason.startswith("member 1: TimeoutError: no answer in 5 s (test_collect.py, line ")
    assert collected.failure_share == pytest.approx(1 / 3)
    assert len(collected.trials) == 4
    assert len(tries) == 1 + retries


def test_one_mistake_fills_no_screen(caplog):
    async def play(task, member):
        raise KeyError("moves")

    tasks = [replace(task, opponent="tilted") for task in TASKS]
    collected = asyncio.run(collect(tasks, 4, play))
    assert len(collected.dropped) == 3
    assert collected.dropped[0].reason.startswith("member 0 against tilted: KeyError: 'moves' (test_collect.py, line ")
    assert caplog.text.count("Traceback") == 1
    assert "23 more tries failed in the same round of play" in caplog.text
    assert len(caplog.records) == 2


@pytest.mark.parametrize("concurrency", [None, 2])
def test_a_users_mistake_ends_everything(concurrency):
    ended = []

    async def play(task, member):
        if (task.group, member) == (0, 1):
            await asyncio.sleep(0)
            raise GameError("no such opponent")
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append((task.group, member))

    with pytest.raises(GameError, match="no such opponent"):
        asyncio.run(asyncio.wait_for(collect(TASKS, 2, play, concurrency=concurrency), timeout=5))
    assert len(ended) == (5 if concurrency is None else 1)


def test_cancellation_ends_everything_and_is_no_failure():
    ended = []

    async def play(task, member):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append((task.group, member))

    async def run():
        collecting = asyncio.ensure_future(collect(TASKS, 2, play))
        await asyncio.sleep(0.01)
        collecting.cancel()
        await collecting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert len(ended) == 6


@pytest.mark.parametrize(("concurrency", "most"), [(None, 12), (1, 1), (5, 5), (50, 12)])
def test_concurrency_is_bounded(concurrency, most):
    under_way, seen = 0, []

    async def play(task, member):
        nonlocal under_way
        under_way += 1
        seen.append(under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return trial(task, member)

    collected = asyncio.run(collect(TASKS, 4, play, concurrency=concurrency))
    assert max(seen) == most
    assert [(t.task.group, t.member) for t in collected.trials] == [(g, m) for g in range(3) for m in range(4)]


def test_nothing_to_play():
    collected = asyncio.run(collect([], 4, lambda task, member: None))
    assert (collected.groups, collected.dropped, collected.failure_share) == ((), (), 0.0)


def test_repr_is_short():
    async def play(task, member):
        return trial(task, member)

    assert repr(asyncio.run(collect(TASKS, 4, play))) == "Collected(3 groups of 12 trials, 0 dropped)"
