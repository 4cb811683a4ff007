from __future__ import annotations

import sqlite3
from contextlib import closing
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
    assert store.add("a", Entry("x", 2.0), key(1, 0)) == 1
    assert store.add("b", Entry("x", 2.0), key(1, 0)) == 2
    assert [entry.score for entry in store.entries("a")] == [1.0]


def test_taken_anew_the_same_text_is_the_newest_under_the_new_key() -> None:
    store = Store(limit=2)
    for text in ("x", "y"):
        store.add("a", Entry(text, 1.0), key(1, 0))
    store.add("b", Entry("x"), key(1, 0))
    assert store.add("a", Entry("x", 2.0), key(0, 1), anew=True) == 4
    assert [(entry.text, entry.score, entry.id) for entry in store.entries("a")] == [("y", 1.0, 2), ("x", 2.0, 4)]
    assert store.nearest("a", key(0, 1), 1)[0].cosine == pytest.approx(1)
    assert store.count("b") == 1
    store.add("a", Entry("z"), key(1, 0))
    assert [entry.text for entry in store.entries("a")] == ["x", "z"]


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


def test_entries_are_rewritten_with_their_keys() -> None:
    store = Store()
    number = store.add("a", Entry("x", more={"tags": ["one"]}), key(1, 0))
    (entry,) = store.entries("a")
    assert (entry.id, entry.more) == (number, {"tags": ["one"]})
    store.rewrite(Entry("y", 3.0, {}, entry.id, (7,)), key(0, 1))
    store.rewrite(Entry("dropped", id=99), key(0, 1))
    assert store.nearest("a", key(1, 0), 1)[0].cosine == pytest.approx(0)
    assert store.get([99, entry.id]) == [Entry("y", 3.0, {}, entry.id, (7,))]


def test_a_copy_holds_everything_and_replaces_what_was_there(tmp_path: Path) -> None:
    one, other = Store(), Store()
    one.add("a", Entry("one", 0.5, {"n": 1}, links=(4,)), key(0.6, 0.8))
    other.add("a", Entry("other"), key(1, 0))
    other.nearest("a", key(1, 0), 1)
    one.save(tmp_path / "copy.sqlite")
    other.load(tmp_path / "copy.sqlite")
    (found,) = other.nearest("a", key(0.6, 0.8), 5)
    assert found.entry == Entry("one", 0.5, {"n": 1}, 1, (4,))
    assert found.cosine == pytest.approx(1)
    assert one.add("a", Entry("two"), key(1, 0)) == other.add("a", Entry("two"), key(1, 0))  # numbers go on too
    assert one.digest() == other.digest() != Store().digest()


def test_equal_stores_have_equal_bytes_however_they_came_about(tmp_path: Path) -> None:
    one, other = Store(limit=3), Store(limit=3)
    for number in range(5):
        one.add("a", Entry(str(number)), key(1, number))
    one.save(tmp_path / "one")
    other.load(tmp_path / "one")
    other.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_a_smaller_store_takes_the_newest(tmp_path: Path) -> None:
    one, other = Store(), Store(limit=1)
    one.add("a", Entry("old"), key(1, 0))
    one.add("a", Entry("new"), key(1, 0))
    one.save(tmp_path / "one")
    other.load(tmp_path / "one")
    assert [entry.text for entry in other.entries("a")] == ["new"]


MADE = {"memory": "memento", "embedder": "hashed-512"}


def test_a_file_says_what_made_it(tmp_path: Path) -> None:
    path = tmp_path / "cases.sqlite"
    store = Store(made=MADE)
    store.add("a", Entry("x"), key(1, 0))
    store.save(path)
    other = Store(made={**MADE, "memory": "a-mem"})
    with pytest.raises(RunError, match=r"cases\.sqlite: a store of memories with memory 'memento', not 'a-mem'"):
        other.load(path)
    with pytest.raises(RunError, match="with embedder 'hashed-512', not 'hashed-8'"):
        Store(made={**MADE, "embedder": "hashed-8"}).load(path)
    Store(made=MADE).load(path)


def test_files_that_are_no_store(tmp_path: Path) -> None:
    bad, old, cut = tmp_path / "bad.sqlite", tmp_path / "old.sqlite", tmp_path / "cut.sqlite"
    bad.write_text("this is no database, and long enough not to be taken for an empty one " * 20)
    with closing(sqlite3.connect(old)) as base:
        base.execute("CREATE TABLE entries (id INTEGER, text TEXT)")
    store = Store(limit=1000)
    for number in range(300):
        store.add("a", Entry(f"text {number} " * 9), key(1, number))
    store.save(cut)
    cut.write_bytes(cut.read_bytes()[:20_000])
    here = Store()
    here.add("a", Entry("kept"), key(1, 0))
    for path in (bad, old, cut):
        with pytest.raises(RunError, match=rf"{path.name}: cannot be read as a store"):
            here.load(path)
    with pytest.raises(RunError, match=r"none: no such store"):
        here.load(tmp_path / "none")
    assert [entry.text for entry in here.entries("a")] == ["kept"]


@pytest.mark.parametrize(
    "damage",
    ["UPDATE entries SET key = x'0102'", "UPDATE entries SET key = x'01020304' WHERE id = 1",
     "UPDATE entries SET more = '[3'", "UPDATE entries SET score = 'much'", "UPDATE entries SET links = 'null'"],
)  # fmt: skip
def test_rows_that_are_no_entries(tmp_path: Path, damage: str) -> None:
    path, store = tmp_path / "damaged", Store()
    store.add("a", Entry("x"), key(1, 0))
    store.add("a", Entry("y"), key(1, 0))
    store.save(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute(damage)
    with pytest.raises(RunError, match="damaged: cannot be read as a store"):
        Store().load(path)


def test_a_locked_file_and_one_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "locked"
    Store().save(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RunError, match=r"locked: cannot be read as a store of memories \(database is locked\)"):
            Store().load(path)
    with pytest.raises(RunError, match="store: cannot be written as a store of memories"):
        Store().save(tmp_path / "nowhere" / "store")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="folder: cannot be written as a store of memories"):
        Store().save(tmp_path / "folder")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "locked"]
