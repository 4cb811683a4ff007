from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.errors import RunError
from mage.recall.store import Entry, Store


def key(*values: float) -> np.ndarray:
    vector = np.array(values, np.float32)
    return vector / (np.linalg.norm(vector) or 1)


def test_nearest_by_cosine_above_a_threshold() -> None:
    store = Store()
    for text, vector in (("east", key(1, 0)), ("north-east", key(1, 1)), ("north", key(0, 1)), ("west", key(-1, 0))):
        store.add("a", Entry(text), vector)
    store.add("b", Entry("elsewhere"), key(1, 0))
    found = store.nearest("a", key(1, 0), 10, least=0.5)
    assert [(each.entry.text, round(each.cosine, 4)) for each in found] == [("east", 1.0), ("north-east", 0.7071)]
    assert [each.entry.text for each in store.nearest("a", key(1, 0), 1)] == ["east"]
    assert store.nearest("nothing", key(1, 0), 3) == []


def test_of_two_alike_the_newer_comes_first() -> None:
    store = Store()
    store.add("a", Entry("old"), key(1, 0))
    store.add("a", Entry("new"), key(1, 0))
    assert [each.entry.text for each in store.nearest("a", key(1, 0), 2)] == ["new", "old"]


def test_the_same_text_is_kept_once_in_a_scope() -> None:
    store = Store()
    assert store.add("a", Entry("x", 1.0), key(1, 0)) == 1
    assert store.add("a", Entry("x", 2.0), key(1, 0)) is None
    assert store.add("b", Entry("x", 2.0), key(1, 0)) == 2
    assert [entry.score for entry in store.entries("a")] == [1.0]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=40), st.integers(1, 5))
def test_the_oldest_go_first(added: list[tuple[str, int]], limit: int) -> None:
    store = Store(limit=limit)
    wanted: dict[str, list[str]] = {"a": [], "b": []}
    for scope, number in added:
        if str(number) not in wanted[scope]:
            wanted[scope] = [*wanted[scope], str(number)][-limit:]
        store.add(scope, Entry(str(number)), key(1, number))
    for scope, texts in wanted.items():
        assert [entry.text for entry in store.entries(scope)] == texts
        assert len(store.nearest(scope, key(1, 0), 100)) == len(texts)


def test_entries_are_rewritten_with_or_without_another_key() -> None:
    store = Store()
    number = store.add("a", Entry("x", more={"tags": ["one"]}), key(1, 0))
    (entry,) = store.entries("a")
    assert (entry.id, entry.more) == (number, {"tags": ["one"]})
    store.rewrite(Entry("y", 3.0, {"tags": ["two"]}, entry.id))
    assert store.nearest("a", key(1, 0), 1)[0].cosine == pytest.approx(1)
    store.rewrite(Entry("y", 3.0, {}, entry.id), key(0, 1))
    assert store.nearest("a", key(1, 0), 1)[0].cosine == pytest.approx(0)
    assert store.get([99, entry.id]) == [Entry("y", 3.0, {}, entry.id)]


def test_it_survives_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    Store(path).add("a", Entry("kept", 0.5, {"n": 1}), key(0.6, 0.8))
    (found,) = Store(path).nearest("a", key(0.6, 0.8), 1)
    assert (found.entry.text, found.entry.score, found.entry.more) == ("kept", 0.5, {"n": 1})


def test_a_copy_holds_everything_and_replaces_what_was_there(tmp_path: Path) -> None:
    one, other = Store(), Store()
    one.add("a", Entry("one"), key(1, 0))
    other.add("a", Entry("other"), key(1, 0))
    other.nearest("a", key(1, 0), 1)
    one.save(tmp_path / "copy.sqlite")
    other.load(tmp_path / "copy.sqlite")
    assert [each.entry.text for each in other.nearest("a", key(1, 0), 5)] == ["one"]
    assert one.add("a", Entry("two"), key(1, 0)) == other.add("a", Entry("two"), key(1, 0))  # numbers go on too


def test_files_that_are_no_store(tmp_path: Path) -> None:
    bad = tmp_path / "bad.sqlite"
    bad.write_text("this is no database, and long enough not to be taken for an empty one " * 20)
    with pytest.raises(RunError, match=r"bad\.sqlite: cannot be opened as a store"):
        Store(bad)
    with pytest.raises(RunError, match=r"bad\.sqlite: cannot be read as a store"):
        Store().load(bad)
    with pytest.raises(RunError, match=r"none: no such store"):
        Store().load(tmp_path / "none")
