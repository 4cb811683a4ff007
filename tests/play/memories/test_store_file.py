"""The file of `recall.path`: what a memory begins with and where it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mage.errors import RecipeError, RunError
from mage.play.memories import make_memory
from mage.play.memories.shelf import ALL, ShelfMemory
from mage.play.memories.store_file import check_writable, take_up, write_back
from mage.play.records import Task
from mage.recall.store import Entry
from mage.recipe import RecallSection
from mage.recipe_file import parse_recipe


def memory(path: Path, name: str = "memento") -> ShelfMemory:
    made = make_memory(name, RecallSection(scope="game", path=str(path)))
    assert isinstance(made, ShelfMemory)
    return made


def leave(memory: ShelfMemory, text: str) -> None:
    memory.shelf.corner(Task(0, 0, "", 1, "replay", 0), 0).put(Entry(text), text)
    memory.settle({(0, 0)})


def texts(memory: ShelfMemory) -> list[str]:
    return [entry.text for entry in memory.shelf.store.entries(ALL)]


def test_a_file_is_taken_up_and_written_only_when_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "cases.sqlite"
    one = memory(path)
    take_up(one)
    leave(one, "first")
    assert not path.exists()
    write_back(one)
    other = memory(path)
    assert texts(other) == []
    take_up(other)
    leave(other, "second")
    before = path.read_bytes()
    assert texts(other) == ["first", "second"]
    assert path.read_bytes() == before
    write_back(other)
    write_back(other)  # a run that is resumed writes the same again
    again = memory(path)
    take_up(again)
    assert texts(again) == ["first", "second"]
    assert [each.name for each in tmp_path.iterdir()] == ["cases.sqlite"]


def test_what_another_has_written_meanwhile_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "cases.sqlite"
    one, other = memory(path), memory(path)
    for each, text in ((one, "one"), (other, "other")):
        take_up(each)
        leave(each, text)
    write_back(one)
    write_back(other)
    assert "cases-2.sqlite" in caplog.text
    found = []
    for name in ("cases.sqlite", "cases-2.sqlite"):
        again = memory(tmp_path / name)
        take_up(again)
        found.append(texts(again))
    assert found == [["one"], ["other"]]


def test_the_copy_of_the_beginning_comes_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cases.sqlite"
    one = memory(path)
    take_up(one)
    leave(one, "then")
    one.save(tmp_path)
    leave(one, "now")
    write_back(one)
    again = memory(path)
    take_up(again, tmp_path / "memory.sqlite")
    assert texts(again) == ["then"]


def test_a_file_of_another_memory_is_refused(tmp_path: Path) -> None:
    write_back_of = memory(tmp_path / "cases.sqlite")
    leave(write_back_of, "x")
    write_back(write_back_of)
    with pytest.raises(RunError, match=r"cases\.sqlite: a store of memories with memory 'memento', not 'a-mem'"):
        take_up(memory(tmp_path / "cases.sqlite", "a-mem"))


def test_where_nothing_can_be_written_is_known_at_once(tmp_path: Path) -> None:
    check_writable(memory(tmp_path / "new" / "cases.sqlite"))
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"recall\.path = .*: cannot be written"):
        check_writable(memory(tmp_path / "file" / "cases.sqlite"))


def test_memories_without_a_file(tmp_path: Path) -> None:
    for each in (make_memory("memento", RecallSection(scope="game")), make_memory("history")):
        check_writable(each)
        take_up(each)
        write_back(each)


@pytest.mark.parametrize(
    ("recall", "words"),
    [
        ({"path": "cases.sqlite"}, "with recall.scope = 'trial' nothing does; set recall.scope = 'game'"),
        ({"path": "", "scope": "game"}, "recall.path = '': should not be empty"),
        ({"embedder": " "}, "recall.embedder = ' ': should not be empty"),
        ({"limit": 10**10}, "recall.limit = 10000000000: should be less than or equal to 1000000000"),
    ],
)
def test_sections_that_make_no_sense(recall: dict, words: str) -> None:
    with pytest.raises(RecipeError) as error:
        parse_recipe({"recall": recall}, "recipe")
    assert words in str(error.value)
