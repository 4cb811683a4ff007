from __future__ import annotations

import asyncio

import pytest

from mage.errors import GameError
from mage.play.memories import make_memory
from mage.play.memory import Past
from mage.play.records import EpisodeRecord, Task
from mage.play.templates import make_prompts

PAST = [
    Past(EpisodeRecord(1.0, "won", "+1 K", False, 1), "call Q"),
    Past(EpisodeRecord(-2.0, "lost", "-2 Q", False, 1), ""),
]


async def silent(question, most):
    raise AssertionError("these memories ask nothing")


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
    session = memory.session(Task(0, 0, "random", 3, "redeal", 0), 0, silent)
    assert asyncio.run(session.head([], "K", prompts)) == ""
    assert asyncio.run(session.head(PAST[:1], "K", prompts)) == after_one
    assert asyncio.run(session.head(PAST, "K", prompts)) == after_two


def test_names_that_do_not_exist():
    with pytest.raises(GameError, match=r"unknown memory 'reflections' \(did you mean 'reflection'\?\)"):
        make_memory("reflections")
