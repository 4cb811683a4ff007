"""A bounded store of scored texts on disk (SQLite), searched by likeness of keys."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mage.errors import RunError
from mage.recall.embed import Vectors

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    text TEXT NOT NULL,
    score REAL NOT NULL,
    key BLOB NOT NULL,
    more TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_scope ON entries (scope, id);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something remembered."""

    text: str
    score: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else belongs to it (JSON)."""
    id: int = 0
    """Its number in the store, rising with time; 0 before it is there."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entry and its likeness to what was looked for."""

    entry: Entry
    cosine: float


class Store:
    """Entries by scope (a task, an agent), oldest dropped first where a scope holds more than `limit`.

    In memory by default; with a path it is on disk and survives the process. Raises RunError for a file that is none.
    """

    def __init__(self, path: Path | None = None, *, limit: int = 1000) -> None:
        self._limit = limit
        self._where = str(path or "an open store")
        self._keys: dict[str, tuple[list[int], Vectors]] = {}
        try:
            self._base = sqlite3.connect(path or ":memory:", isolation_level=None)
            self._base.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise RunError(f"{path}: cannot be opened as a store of memories ({error})") from None

    def add(self, scope: str, entry: Entry, key: Vectors) -> int | None:
        """Remember an entry under a key [d]; returns its number, None where the scope holds the same text already."""
        known = self._base.execute(
            "SELECT id FROM entries WHERE scope = ? AND text = ?", (scope, entry.text)
        ).fetchone()
        if known:
            return None
        self._keys.pop(scope, None)
        values = (scope, entry.text, entry.score, key.astype("<f4").tobytes(), json.dumps(dict(entry.more)))
        cursor = self._base.execute(
            "INSERT INTO entries (scope, text, score, key, more) VALUES (?, ?, ?, ?, ?)", values
        )
        self._base.execute(
            "DELETE FROM entries WHERE scope = ? AND id NOT IN "
            "(SELECT id FROM entries WHERE scope = ? ORDER BY id DESC LIMIT ?)",
            (scope, scope, self._limit),
        )
        return int(cursor.lastrowid or 0)

    def rewrite(self, entry: Entry, key: Vectors | None = None) -> None:
        """Replace text, score and what else belongs to the entry with `entry.id`, and its key if one is given."""
        values = (entry.text, entry.score, json.dumps(dict(entry.more)), entry.id)
        self._base.execute("UPDATE entries SET text = ?, score = ?, more = ? WHERE id = ?", values)
        if key is not None:
            self._base.execute("UPDATE entries SET key = ? WHERE id = ?", (key.astype("<f4").tobytes(), entry.id))
            self._keys.clear()

    def entries(self, scope: str) -> list[Entry]:
        """All entries of a scope, oldest first."""
        rows = self._base.execute("SELECT text, score, more, id FROM entries WHERE scope = ? ORDER BY id", (scope,))
        return [_entry(row) for row in rows]

    def get(self, ids: Sequence[int]) -> list[Entry]:
        """The entries with these numbers, in their order; those dropped since are left out."""
        rows = (
            self._base.execute("SELECT text, score, more, id FROM entries WHERE id = ?", (number,)).fetchone()
            for number in ids
        )
        return [_entry(row) for row in rows if row]

    def nearest(self, scope: str, key: Vectors, count: int, least: float = -1.0) -> list[Found]:
        """The `count` entries most like `key` [d] with a cosine above `least`, best first; the newer of two alike."""
        ids, keys = self._matrix(scope)
        if not ids:
            return []
        cosines = keys @ key.astype(np.float32)
        order = sorted(
            (place for place in range(len(ids)) if cosines[place] > least), key=lambda p: (-cosines[p], -ids[p])
        )
        chosen = order[:count]
        found = self.get([ids[place] for place in chosen])
        return [Found(entry, float(cosines[place])) for entry, place in zip(found, chosen, strict=True)]

    def clear(self) -> None:
        """Forget everything."""
        self._base.execute("DELETE FROM entries")
        self._keys.clear()

    def count(self, scope: str | None = None) -> int:
        """How many entries a scope holds, or all together."""
        where, values = ("", ()) if scope is None else (" WHERE scope = ?", (scope,))
        return int(self._base.execute(f"SELECT COUNT(*) FROM entries{where}", values).fetchone()[0])

    def save(self, path: Path) -> None:
        """Write a copy into the new file `path`."""
        with closing(sqlite3.connect(path)) as target:
            self._base.backup(target)

    def load(self, path: Path) -> None:
        """Take everything from a file that `save` wrote, in place of what is here. Raises RunError if it is none."""
        if not path.is_file():
            raise RunError(f"{path}: no such store of memories")
        try:
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source:
                source.execute("SELECT COUNT(*) FROM entries")
                source.backup(self._base)
        except sqlite3.Error as error:
            raise RunError(f"{path}: cannot be read as a store of memories ({error})") from None
        self._keys.clear()

    def _matrix(self, scope: str) -> tuple[list[int], Vectors]:
        """Numbers and keys [n, d] of a scope."""
        if scope not in self._keys:
            rows = self._base.execute("SELECT id, key FROM entries WHERE scope = ? ORDER BY id", (scope,)).fetchall()
            keys = np.stack([np.frombuffer(blob, "<f4") for _, blob in rows]) if rows else np.zeros((0, 0), np.float32)
            self._keys[scope] = [number for number, _ in rows], keys
        return self._keys[scope]


def _entry(row: tuple[str, float, str, int]) -> Entry:
    text, score, more, number = row
    return Entry(text, score, json.loads(more), number)
