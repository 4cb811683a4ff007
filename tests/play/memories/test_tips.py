"""EMPO²'s tips: kept under the chat they come from, recalled by likeness and return."""

from __future__ import annotations

import asyncio

from mage.play.memories import make_memory
from mage.play.memories.shelf import ShelfMemory
from mage.play.memories.tips import chat
from mage.play.memory import Adviser, Past
from mage.play.records import EpisodeRecord, Task, Turn
from mage.play.templates import Tip, make_prompts
from mage.recipe import RecallSection

NATURAL = make_prompts("natural")


def task(group: int = 0) -> Task:
    return Task(group, 0, "", 1, "replay", 0)


def turn(view: str, said: str) -> Turn:
    return Turn("act", 0, 0, 0, 1, (0.0,), f"tip something {view}", "", said, view, True)


def memory(**recall: object) -> ShelfMemory:
    return make_memory("tips", RecallSection(**{"scope": "game", "least": 0.5, **recall}))


def leave(memory: ShelfMemory, group: int, turns: list[Turn], remark: str, reward: float, outcome: str) -> None:
    record = EpisodeRecord(reward, "won" if reward else "lost", outcome, False, len(turns))
    asyncio.run(memory.session(task(group), 0, None).ended(Past(record, remark, tuple(turns))))


def recalled(memory: ShelfMemory, turns: list[Turn], view: str) -> list[Tip]:
    return list(asyncio.run(memory.session(task(99), 0, None).tips(turns, view)))


def test_the_key_is_the_chat_without_tips() -> None:
    assert chat([turn("dial 1", "a")], "dial 2") == "dial 1\n> a\ndial 2"


def test_best_return_first_among_the_alike_then_the_most_alike() -> None:
    store = memory(count=2)
    leave(store, 0, [turn("dial 1", "a"), turn("dial 2", "b")], "jam 2 b", 0.0, "jam 2 b")
    leave(store, 1, [turn("dial 1", "a"), turn("dial 2", "c")], "1 a", 1.0, "open")
    leave(store, 2, [turn("dial 1", "h")], "jam 1 h", 0.0, "jam 1 h")
    leave(store, 3, [turn("elsewhere entirely", "north")], "go south", 5.0, "lost in the woods")
    assert recalled(store, [turn("dial 1", "a")], "dial 2") == []  # before the trials under way are settled
    store.settle(store.shelf.pending)
    found = recalled(store, [turn("dial 1", "a")], "dial 2")
    assert found == [Tip("1 a", "c", 1.0), Tip("jam 2 b", "b", 0.0)]


def test_nothing_below_the_least_cosine_is_recalled() -> None:
    store = memory(least=0.99)
    leave(store, 0, [turn("dial 1", "a")], "jam 1 a", 0.0, "jam 1 a")
    store.settle(store.shelf.pending)
    assert recalled(store, [], "dial 1") == []
    assert recalled(store, [turn("dial 1", "a")], "jam 1 a") == [Tip("jam 1 a", "a", 0.0)]


def test_equal_texts_are_kept_once_and_the_oldest_leave() -> None:
    store = memory(limit=2, least=-1.0)
    for group, remark in enumerate(["one", "two", "two", "three"]):
        leave(store, group, [turn("dial 1", "a")], remark, 0.0, "jam 1 a")
    store.settle(store.shelf.pending)
    assert sorted(tip.text for tip in recalled(store, [], "dial 1")) == ["three", "two"]
    leave(store, 9, [turn("dial 1", "a")], "two", 1.0, "open")  # of another return: another tip
    store.settle(store.shelf.pending)
    assert recalled(store, [], "dial 1")[0] == Tip("two", "a", 1.0)


def test_a_tip_that_is_confirmed_stays_longer_than_one_that_is_not() -> None:
    store = memory(limit=2, least=-1.0)
    for group, remark in enumerate(["one", "two", "one", "three"]):
        leave(store, group, [turn("dial 1", "a")], remark, 0.0, "jam 1 a")
    store.settle(store.shelf.pending)
    assert sorted(tip.text for tip in recalled(store, [], "dial 1")) == ["one", "three"]


def test_a_tip_is_asked_for_after_every_episode_the_last_included() -> None:
    session = memory().session(task(), 0, None)
    assert isinstance(session, Adviser)
    record = EpisodeRecord(0.0, "lost", "You fell.", False, 1)
    for asked in (session.ask(1, 2, record, NATURAL), session.farewell(2, 2, record, NATURAL)):
        assert "fewer than 100 words" in asked
        assert "You fell." in asked


def test_natural_tips_stand_behind_the_message_with_what_came_of_them() -> None:
    text = NATURAL.advised("You are at dial 2.", [Tip("try b", "c", 0.5)])
    assert text.startswith("You are at dial 2.\n")
    assert text.endswith("<tip>try b; action: c; score: 0.5</tip>")


def test_no_tip_no_entry_and_a_checkpoint_keeps_them(tmp_path) -> None:
    store = memory(least=-1.0)
    leave(store, 0, [turn("dial 1", "a")], "", 0.0, "jam 1 a")
    leave(store, 1, [turn("dial 1", "b")], "jam 1 b", 0.0, "jam 1 b")
    store.settle(store.shelf.pending)
    store.save(tmp_path)
    other = memory(least=-1.0)
    other.load(tmp_path)
    assert recalled(other, [], "dial 1") == recalled(store, [], "dial 1") == [Tip("jam 1 b", "b", 0.0)]
