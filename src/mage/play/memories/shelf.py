"""Where memories with a store keep things: of one trial alone, or of all trials of a game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mage.play.memory import Past, Say, Session
from mage.play.records import Task
from mage.recall.embed import Embedder, make_embedder
from mage.recall.store import Entry, Found, Store
from mage.recipe import RecallSection

Change = Callable[[Store], None]
ALL = "all"
STORE = "memory.sqlite"


@dataclass(slots=True)
class Shelf:
    """A store, how texts become its keys, and who sees what.

    With scope `trial` a trial sees what it has left itself, at once, and it is gone when the trials are settled. With
    scope `game` it sees what was there when the trials under way began; what they leave is taken up when they are
    settled, in the order of their tasks, so that it does not depend on which of them was faster.
    """

    store: Store
    embedder: Embedder
    lasting: bool
    count: int
    """How many entries are recalled."""
    pending: dict[tuple[int, int], list[Change]] = field(default_factory=dict)
    trials: int = 0

    @classmethod
    def of(cls, recall: RecallSection) -> Shelf:
        """The shelf of a recipe. Raises RunError for a store that cannot be opened."""
        store = Store(Path(recall.path) if recall.path else None, limit=recall.limit)
        return cls(store, make_embedder(recall.embedder), recall.scope == "game", recall.count)

    def corner(self, task: Task, member: int) -> Corner:
        """The part of one trial."""
        self.pending.pop((task.group, member), None)  # of a try that failed half-way
        self.trials += 1  # a number of its own: trials that are enumerated share their task
        return Corner(self, ALL if self.lasting else f"trial {self.trials}", (task.group, member))

    def settle(self) -> None:
        """Take up what trials have left, task by task, or forget it with them."""
        if self.lasting:
            for _, changes in sorted(self.pending.items(), key=lambda item: item[0]):
                for change in changes:
                    change(self.store)
            self.pending.clear()
        else:
            self.store.clear()

    def save(self, folder: Path) -> None:
        """Write a copy of the store, if it outlives trials."""
        if self.lasting:
            self.store.save(folder / STORE)

    def load(self, folder: Path) -> None:
        """Take the store back. Raises RunError where there is none, or it is damaged."""
        if self.lasting:
            self.store.load(folder / STORE)


@dataclass(frozen=True, slots=True)
class Corner:
    """What one trial sees of a shelf."""

    shelf: Shelf
    scope: str
    owner: tuple[int, int]

    def near(self, text: str, count: int | None = None) -> list[Found]:
        """The entries most like `text`, best first."""
        (key,) = self.shelf.embedder.embed([text])
        return self.shelf.store.nearest(self.scope, key, self.shelf.count if count is None else count)

    def get(self, ids: Sequence[int]) -> list[Entry]:
        """Entries by number."""
        return self.shelf.store.get(ids)

    def put(self, entry: Entry, text: str) -> None:
        """Keep an entry under the key of `text`."""
        (key,) = self.shelf.embedder.embed([text])
        self._change(lambda store: void(store.add(self.scope, entry, key)))

    def rewrite(self, entry: Entry) -> None:
        """Change what an entry says; one that was dropped meanwhile stays dropped."""
        self._change(lambda store: store.rewrite(entry))

    def _change(self, change: Change) -> None:
        if self.shelf.lasting:
            self.shelf.pending.setdefault(self.owner, []).append(change)
        else:
            change(self.shelf.store)


@dataclass(frozen=True, slots=True)
class ShelfMemory:
    """A memory with a shelf behind it: what is kept and recalled is for its sessions to say. It asks for no remarks."""

    name: str
    shelf: Shelf
    opened: Callable[[Corner, Say], Session]
    """Makes the session of one trial from its corner of the shelf."""
    fresh: bool = True
    reflects: bool = False

    @property
    def lasting(self) -> bool:
        """Whether entries of other trials are seen."""
        return self.shelf.lasting

    def session(self, task: Task, member: int, say: Say) -> Session:
        """What one trial sees of the shelf."""
        return self.opened(self.shelf.corner(task, member), say)

    def settle(self) -> None:
        """See `Shelf.settle`."""
        self.shelf.settle()

    def save(self, folder: Path) -> None:
        """See `Shelf.save`."""
        self.shelf.save(folder)

    def load(self, folder: Path) -> None:
        """See `Shelf.load`."""
        self.shelf.load(folder)


def void(_: object) -> None:
    """Nothing, of whatever it is given."""


def transcript(past: Past) -> str:
    """What an episode looked like from the agent's seat, and how it ended."""
    lines = [f"{turn.observation}\n> {turn.said or turn.text}" for turn in past.turns if turn.phase == "act"]
    return "\n".join([*lines, past.record.outcome])
