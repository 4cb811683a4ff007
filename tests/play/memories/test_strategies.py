"""SGE's buffers: what goes where, what is drawn how often, what is kept over trials and checkpoints."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from mage.errors import RunError
from mage.play.memories import make_memory
from mage.play.memories.strategies import Strategies
from mage.play.memory import Past
from mage.play.records import EpisodeRecord, Task, Turn
from mage.play.templates import make_prompts
from mage.recipe import RecallSection, StrategiesSection

COMPACT, NATURAL = make_prompts("compact"), make_prompts("natural")


def task(group: int = 0, seed: int = 0) -> Task:
    return Task(group, 0, "", 1, "replay", seed)


def played(*strategies: str | None, reward: float = 0.0, outcome: str = "jam -2c") -> Past:
    turns = [
        Turn("act", 0, 0, 0, 1, (0.0,), "", f"<strategy>{s}</strategy><action>a</action>" if s else "a", "a", "", True)
        for s in strategies
    ]
    return Past(EpisodeRecord(reward, "won" if reward else "lost", outcome, False, len(turns)), "", tuple(turns))


def leave(memory: Strategies, past: Past, group: int = 0, member: int = 0) -> None:
    asyncio.run(memory.session(task(group), member, None).ended(past))


def head(memory: Strategies, seed: int, prompts: object = COMPACT) -> str:
    return asyncio.run(memory.session(task(seed=seed), 0, None).head((), "dial 1", prompts))


def test_failures_and_successes_go_to_queues_of_their_own_and_the_oldest_leave() -> None:
    memory = Strategies(StrategiesSection(size=2, failure=1.0, success=0.0))
    for number in range(3):
        leave(memory, played(f"1{'abc'[number]}", outcome=f"jam -1{'abc'[number]}"), group=number)
    leave(memory, played("1d", "2e", reward=1.0, outcome="open"), group=3)
    assert not memory.buffers.failures  # nothing is taken up before the trials under way are settled
    memory.settle(memory.pending)
    assert [tried.strategies for tried in memory.buffers.failures] == [("1b",), ("1c",)]
    assert [tried.strategies for tried in memory.buffers.successes] == [("1d", "2e")]
    assert head(memory, 0) in {"tried 1b jam -1b", "tried 1c jam -1c"}


def test_what_is_left_is_taken_up_in_the_order_of_tasks_and_a_failed_try_is_forgotten() -> None:
    memory = Strategies(StrategiesSection())
    leave(memory, played("late"), group=2)
    leave(memory, played("half-way"), group=1)
    leave(memory, played("again"), group=1)  # the same trial, played anew
    memory.settle(memory.pending)
    assert [tried.strategies for tried in memory.buffers.failures] == [("again",), ("late",)]


def test_shares_are_drawn_as_the_recipe_says_and_entries_uniformly() -> None:
    memory = Strategies(StrategiesSection(failure=0.25, success=0.1))
    for number in range(2):
        leave(memory, played(f"f{number}", outcome="no"), group=number)
    leave(memory, played("s", reward=1.0, outcome="yes"), group=9)
    memory.settle(memory.pending)
    seen = Counter(head(memory, seed) for seed in range(4000))
    assert set(seen) == {"", "tried f0 no", "tried f1 no", "tried s yes"}
    assert abs(seen["tried f0 no"] / 4000 - 0.125) < 0.02
    assert abs(seen["tried f1 no"] / 4000 - 0.125) < 0.02
    assert abs(seen["tried s yes"] / 4000 - 0.1) < 0.02
    assert [head(memory, 7)] * 3 == [head(memory, 7) for _ in range(3)]


def test_an_empty_buffer_and_an_episode_without_strategies_show_nothing() -> None:
    memory = Strategies(StrategiesSection(failure=1.0, success=0.0))
    leave(memory, played(None))
    memory.settle(memory.pending)
    assert head(memory, 1) == ""


def test_natural_prompts_ask_for_a_critique_with_the_feedback_or_for_inspiration() -> None:
    failed = NATURAL.tried(["go left", "go up"], "You fell.", succeeded=False)
    assert "1. go left\n2. go up" in failed
    assert "You fell." in failed
    assert "made it fail" in failed
    assert "inspire" in NATURAL.tried(["go left"], "You won.", succeeded=True)


def test_buffers_of_a_trial_end_with_it() -> None:
    memory = make_memory("strategies", RecallSection(scope="trial"), StrategiesSection(failure=1.0, success=0.0))
    session = memory.session(task(), 0, None)
    asyncio.run(session.ended(played("1a")))
    assert asyncio.run(session.head((), "dial 1", COMPACT)) == "tried 1a jam -2c"
    memory.settle(memory.pending)
    assert asyncio.run(memory.session(task(), 1, None).head((), "dial 1", COMPACT)) == ""


def test_checkpoints_keep_the_buffers_and_damage_is_named(tmp_path) -> None:
    memory = Strategies(StrategiesSection())
    leave(memory, played("1 ä", "2 b"), group=0)
    leave(memory, played("1 c", reward=1.0, outcome="open"), group=1)
    memory.settle(memory.pending)
    memory.save(tmp_path)
    other = Strategies(StrategiesSection())
    other.load(tmp_path)
    assert other.buffers.as_data() == memory.buffers.as_data()
    (tmp_path / "strategies.json").write_text("[[1, 2]]")
    with pytest.raises(RunError, match=r"strategies\.json: cannot be read as buffers of strategies"):
        other.load(tmp_path)
    assert other.buffers.as_data() == memory.buffers.as_data()
