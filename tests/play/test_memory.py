from __future__ import annotations

import asyncio
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage.errors import GameError
from mage.play.collect import collect
from mage.play.memory import MEMORIES, Past, RemarkExchange, make_memory
from mage.play.records import EpisodeRecord, StopReason, Task, Trial
from mage.play.templates import make_prompts
from mage.recipe import MemoryMode

PAST = [
    Past(EpisodeRecord(1.0, "won", "+1 K", False, 1), "call Q"),
    Past(EpisodeRecord(-2.0, "lost", "-2 Q", False, 1), ""),
]


@pytest.mark.parametrize(
    ("name", "fresh", "reflects", "after_one", "after_two"),
    [
        ("history", False, False, "+1 K", "-2 Q"),
        ("reflection", True, True, "note call Q", "note call Q note"),
        ("history+reflection", False, True, "", ""),
        ("none", True, False, "", ""),
    ],
)
def test_what_each_memory_recalls(name, fresh, reflects, after_one, after_two):
    memory, prompts = make_memory(name), make_prompts("compact")
    assert (memory.name, memory.fresh, memory.reflects) == (name, fresh, reflects)
    assert asyncio.run(memory.recall([], prompts)) == ""
    assert asyncio.run(memory.recall(PAST[:1], prompts)) == after_one
    assert asyncio.run(memory.recall(PAST, prompts)) == after_two


def test_every_memory_of_a_recipe_exists():
    assert {memory.name for memory in MEMORIES} == set(get_args(MemoryMode))
    with pytest.raises(GameError, match=r"unknown memory 'reflections' \(did you mean 'reflection'\?\)"):
        make_memory("reflections")


def task(group):
    return Task(group, 0, "", 3, "redeal", group)


def swap(trials, borders, *, seed=0, delays=None, fail=()):
    """What each trial was given at each border; trial i passes `borders[i]` borders and hands in `i.border`."""
    exchange = RemarkExchange(trials, seed)
    given = [[] for _ in range(trials)]
    failing = set(fail)

    async def play(task, member):
        given[task.group] = []
        for border in range(borders[task.group]):
            for _ in range(delays[task.group] if delays else 0):
                await asyncio.sleep(0)
            if (task.group, border) in failing:
                failing.remove((task.group, border))
                raise OSError("the world broke")
            given[task.group].append(await exchange(task, member, border, f"{task.group}.{border}"))
        return Trial(task, member, (), (), (), StopReason.COMPLETED)

    async def run():
        tasks = [task(group) for group in range(trials)]
        return await asyncio.wait_for(collect(tasks, 1, exchange.around(play)), timeout=5)

    collected = asyncio.run(run())
    assert len(collected.groups) == trials
    return given


def test_nobody_gets_its_own_and_everything_is_passed_on():
    given = swap(9, [2] * 9)
    for border in range(2):
        received = [row[border] for row in given]
        assert sorted(received) == sorted(f"{i}.{border}" for i in range(9))
        assert all(remark != f"{i}.{border}" for i, remark in enumerate(received))


def test_the_exchange_depends_on_its_seed_and_not_on_who_came_first():
    assert swap(9, [2] * 9) == swap(9, [2] * 9, delays=[5, 1, 9, 2, 0, 3, 7, 1, 4])
    assert swap(9, [2] * 9) != swap(9, [2] * 9, seed=1)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_trials_that_end_early_do_not_hold_up_the_others(borders, seed):
    given = swap(len(borders), borders, seed=seed)
    for border in range(3):
        present = [i for i, count in enumerate(borders) if count > border]
        received = {i: given[i][border] for i in present}
        if len(present) == 1:
            assert received == {present[0]: ""}
        else:
            assert sorted(received.values()) == [f"{i}.{border}" for i in present]
            assert all(remark != f"{i}.{border}" for i, remark in received.items())


@given(st.integers(2, 6), st.data())
@settings(max_examples=50, deadline=None)
def test_a_trial_played_again_goes_on_with_the_others(trials, data):
    fail = data.draw(
        st.lists(st.tuples(st.integers(0, trials - 1), st.integers(0, 2)), max_size=trials, unique_by=lambda f: f[0])
    )
    given = swap(trials, [3] * trials, fail=fail, seed=data.draw(st.integers(0, 9)))
    for i, row in enumerate(given):
        assert len(row) == 3
        assert all(remark != f"{i}.{border}" for border, remark in enumerate(row))


def test_two_trials_at_least():
    with pytest.raises(GameError, match="at least 2"):
        RemarkExchange(1, 0)
