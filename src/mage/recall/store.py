"""A bounded store of scored texts, searched by likeness of keys; its files are SQLite."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mage.errors import RunError
from mage.recall.embed import Vectors

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    text TEXT NOT NULL,
    score REAL NOT NULL,
    key BLOB NOT NULL,
    links TEXT NOT NULL,
    more TEXT NOT NULL
);
CREATE INDEX by_scope ON entries (scope, id);
"""
FORMAT = "1"
"""Raised when the layout changes."""
ENTRY = "text, score, more, id, links"
ALL = "id, scope, text, score, key, links, more"


@dataclass(frozen=True, slots=True)
class Entry:
    """Something remembered."""

    text: str
    score: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else belongs to it (JSON)."""
    id: int = 0
    """Its number in the store, rising with time; 0 before it is there."""
    links: tuple[int, ...] = ()
    """Numbers of entries that belong with it."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entry and its likeness to what was looked for."""

    entry: Entry
    cosine: float


class Store:
    """Entries by scope (a task, an agent), oldest dropped first where a scope holds more than `limit`.

    It is in memory, filled from a file by `load` and written to one by `save`. `made` says what made its entries and
    their keys, such as `{"memory": "memento", "embedder": "hashed-512"}`: a file that says something else is refused.
    """

    def __init__(self, *, limit: int = 1000, made: Mapping[str, str] | None = None) -> None:
        self._limit = limit
        self._made = {**(made or {}), "format": FORMAT}
        self._keys: dict[str, tuple[list[int], Vectors, Vectors]] = {}
        self.version = 0
        """Rises with every change."""
        self._base = sqlite3.connect(":memory:", isolation_level=None)
        self._base.executescript(SCHEMA)

    def add(self, scope: str, entry: Entry, key: Vectors, *, anew: bool = False) -> int:
        """Remember an entry under a key [d]; returns its number.

        A scope holds a text once: where it is there already it stays as it is, under its number. With `anew` it makes
        room for the entry, which is then the newest.
        """
        same = "FROM entries WHERE scope = ? AND text = ?"
        if anew:
            self._base.execute(f"DELETE {same}", (scope, entry.text))
        elif known := self._base.execute(f"SELECT id {same}", (scope, entry.text)).fetchone():
            return int(known[0])
        cursor = self._base.execute(
            "INSERT INTO entries (scope, text, score, key, links, more) VALUES (?, ?, ?, ?, ?, ?)",
            (scope, entry.text, entry.score, key.astype("<f4").tobytes(), *_rest(entry)),
        )
        self._drop_oldest(scope)
        self.version += 1
        return int(cursor.lastrowid or 0)

    def find(self, scope: str, text: str) -> Entry | None:
        """The entry of a scope that says `text`."""
        row = self._base.execute(f"SELECT {ENTRY} FROM entries WHERE scope = ? AND text = ?", (scope, text)).fetchone()
        return _entry(row) if row else None

    def rewrite(self, entry: Entry, key: Vectors) -> None:
        """Replace the entry with `entry.id` and its key; one that was dropped stays dropped."""
        values = (entry.text, entry.score, key.astype("<f4").tobytes(), *_rest(entry), entry.id)
        self._base.execute("UPDATE entries SET text = ?, score = ?, key = ?, links = ?, more = ? WHERE id = ?", values)
        self.version += 1
        self._keys.clear()

    def entries(self, scope: str) -> list[Entry]:
        """All entries of a scope, oldest first."""
        rows = self._base.execute(f"SELECT {ENTRY} FROM entries WHERE scope = ? ORDER BY id", (scope,))
        return [_entry(row) for row in rows]

    def get(self, ids: Sequence[int]) -> list[Entry]:
        """The entries with these numbers, in their order; those dropped since are left out."""
        query = f"SELECT {ENTRY} FROM entries WHERE id = ?"
        rows = (self._base.execute(query, (number,)).fetchone() for number in ids)
        return [_entry(row) for row in rows if row]

    def nearest(self, scope: str, key: Vectors, count: int, least: float = -1.0) -> list[Found]:
        """The `count` entries most like `key` [d] with a cosine above `least`, best first; the newer of two alike."""
        ids, keys, _ = self._matrix(scope)
        if not ids:
            return []
        cosines = keys @ key.astype(np.float32)
        order = sorted(
            (place for place in range(len(ids)) if cosines[place] > least), key=lambda p: (-cosines[p], -ids[p])
        )
        return self._found(ids, cosines, order[:count])

    def best(self, scope: str, key: Vectors, count: int, least: float) -> list[Found]:
        """The `count` entries of the highest score among those with a cosine of at least `least` to `key` [d].

        Of equal scores the one most like `key` comes first, then the newer one.
        """
        ids, keys, scores = self._matrix(scope)
        if not ids:
            return []
        cosines = keys @ key.astype(np.float32)
        alike = np.flatnonzero(cosines >= least)[::-1]
        order = np.lexsort((-cosines[alike], -scores[alike]))
        return self._found(ids, cosines, alike[order[:count]].tolist())

    def count(self, scope: str | None = None) -> int:
        """How many entries a scope holds, or all together."""
        where, values = ("", ()) if scope is None else (" WHERE scope = ?", (scope,))
        return int(self._base.execute(f"SELECT COUNT(*) FROM entries{where}", values).fetchone()[0])

    def digest(self) -> str:
        """The same for stores that hold the same."""
        rows = self._base.execute(f"SELECT {ALL} FROM entries ORDER BY id")
        return hashlib.sha256(repr(rows.fetchall()).encode()).hexdigest()

    def save(self, path: Path) -> None:
        """Write everything to `path`, in place of what is there at once. Raises RunError where it cannot be written.

        Stores that hold the same have the same bytes.
        """
        part = path.with_name(f".{path.name}.partial")
        try:
            with suppress(OSError):
                part.unlink()  # left by a kill
            with closing(sqlite3.connect(part, isolation_level=None)) as target:
                target.execute("PRAGMA journal_mode = OFF")  # nobody sees it before it is whole
                target.executescript(SCHEMA)
                target.execute("BEGIN")
                target.executemany("INSERT INTO meta VALUES (?, ?)", sorted(self._made.items()))
                rows = self._base.execute(f"SELECT {ALL} FROM entries ORDER BY id")
                target.executemany(f"INSERT INTO entries ({ALL}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
                target.execute("COMMIT")
            part.replace(path)
        except (sqlite3.Error, OSError) as error:
            raise RunError(f"{path}: cannot be written as a store of memories ({_told(error)})") from None
        finally:
            with suppress(OSError):
                part.unlink()

    def load(self, path: Path) -> None:
        """Take everything from a file that `save` wrote, in place of what is here.

        Raises RunError for a file that is not there, is no such file, is damaged or locked, or says that something else
        made it; what is here then stays.
        """
        if not path.is_file():
            raise RunError(f"{path}: no such store of memories")
        with _reading(path), closing(_open(path)) as source:
            made = dict(source.execute("SELECT name, value FROM meta").fetchall())
            for name, value in self._made.items():
                if made.get(name) != value:
                    raise RunError(f"{path}: a store of memories with {name} {made.get(name)!r}, not {value!r}")
            rows = [_checked(row) for row in source.execute(f"SELECT {ALL} FROM entries ORDER BY id")]
            if len({len(row[4]) for row in rows}) > 1:
                raise ValueError("keys of different lengths")
        self._base.execute("DELETE FROM entries")
        self._base.execute("DELETE FROM sqlite_sequence")  # numbers go on from the last one there
        self._base.executemany(f"INSERT INTO entries ({ALL}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        for scope in {row[1] for row in rows}:
            self._drop_oldest(scope)
        self.version += 1
        self._keys.clear()

    def _drop_oldest(self, scope: str) -> None:
        self._base.execute(
            "DELETE FROM entries WHERE scope = ? AND id NOT IN "
            "(SELECT id FROM entries WHERE scope = ? ORDER BY id DESC LIMIT ?)",
            (scope, scope, self._limit),
        )
        self._keys.pop(scope, None)

    def _found(self, ids: Sequence[int], cosines: Vectors, places: Sequence[int]) -> list[Found]:
        entries = self.get([ids[place] for place in places])
        return [Found(entry, float(cosines[place])) for entry, place in zip(entries, places, strict=True)]

    def _matrix(self, scope: str) -> tuple[list[int], Vectors, Vectors]:
        """Numbers, keys [n, d] and scores [n] of a scope, oldest first."""
        if scope not in self._keys:
            query = "SELECT id, key, score FROM entries WHERE scope = ? ORDER BY id"
            rows = self._base.execute(query, (scope,)).fetchall()
            keys = [np.frombuffer(blob, "<f4") for _, blob, _ in rows]
            matrix = np.stack(keys) if keys else np.zeros((0, 0), np.float32)
            self._keys[scope] = [row[0] for row in rows], matrix, np.array([row[2] for row in rows], np.float32)
        return self._keys[scope]


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say in words what is wrong with a file."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise RunError(f"{path}: cannot be read as a store of memories ({_told(error)})") from None


def _checked(row: tuple[Any, ...]) -> tuple[int, str, str, float, bytes, str, str]:
    """A row of a file, which may be anything, as `_entry` wants it. Raises ValueError or TypeError."""
    number, scope, text, score, key, links, more = row
    json.dumps([[int(each) for each in json.loads(links)], dict(json.loads(more))])
    return int(number), str(scope), str(text), float(score), np.frombuffer(key, "<f4").tobytes(), links, more


def _rest(entry: Entry) -> tuple[str, str]:
    return json.dumps(list(entry.links)), json.dumps(dict(entry.more))


def _entry(row: tuple[str, float, str, int, str]) -> Entry:
    text, score, more, number, links = row
    return Entry(text, score, json.loads(more), number, tuple(json.loads(links)))


def _told(error: Exception) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split())
