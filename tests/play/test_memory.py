from __future__ import annotations

import asyncio
from typing import get_args

import pytest

from mage.errors import GameError
from mage.play.memory import MEMORIES, Past, make_memory
from mage.play.records import EpisodeRecord
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
