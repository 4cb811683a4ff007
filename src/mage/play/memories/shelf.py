"""Where memories with a store keep things: of one trial alone, or of all trials of a game."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mage.play.memory import Past, Say, Session, Who
from mage.play.records import Task
from mage.recall.embed import Embedder, Vectors, make_embedder
from mage.recall.store import Entry, Found, Store
from mage.recipe import RecallSection

Join = Callable[[Entry, Entry], Entry]
"""Of an older and a newer entry that say the same, makes one, which is as new."""
ALL = "all"
STORE = "memory.sqlite"


@dataclass(slots=True)
class Shelf:
    """A store, how texts become its keys, and who sees what.

    A trial sees what it has left itself, at once. With scope `trial` that is all, and it is gone with the trial. With
    scope `game` it sees besides what was there when the trials under way began; what they leave is taken up when they
    are settled, in the order of their tasks, so that it does not depend on which of them was faster.
    """

    store: Store
    embedder: Embedder
    recall: RecallSection
    pending: dict[Who, Corner] = field(default_factory=dict)
    """The corners of the trials that are not settled."""
    found: dict[tuple[str, int], list[Found]] = field(default_factory=dict)
    """What was recalled since the store last changed: the members of a group ask for the same."""
    keys: dict[str, Vectors] = field(default_factory=dict)
    """Of the texts since then."""
    begun: str = ""
    """Digest of what the store began with."""

    @classmethod
    def of(cls, memory: str, recall: RecallSection) -> Shelf:
        """The empty shelf of a memory."""
        embedder = make_embedder(recall.embedder)
        store = Store(limit=recall.limit, made={"memory": memory, "embedder": embedder.name})
        return cls(store, embedder, recall, begun=store.digest())

    @property
    def lasting(self) -> bool:
        """Whether entries outlive their trial."""
        return self.recall.scope == "game"

    def corner(self, task: Task, member: int) -> Corner:
        """The part of one trial; in place of that of a try that failed half-way."""
        corner = Corner(self)
        if self.lasting:
            self.pending[task.group, member] = corner
        return corner

    def settle(self, kept: Container[Who]) -> None:
        """Take up what the trials that are kept have left, task by task; forget the rest."""
        for who, corner in sorted(self.pending.items(), key=lambda item: item[0]):
            if who in kept:
                corner.settle()
        self.pending.clear()
        self.found.clear()
        self.keys.clear()

    def key(self, text: str) -> Vectors:
        """The embedding of a text: [d]."""
        return self.keys_of([text])[0]

    def keys_of(self, texts: Sequence[str]) -> list[Vectors]:
        """The embeddings of texts, those that are not known made in one batch: [d] each."""
        new = [text for text in dict.fromkeys(texts) if text not in self.keys]
        if new:
            self.keys.update(zip(new, self.embedder.embed(new), strict=True))
        return [self.keys[text] for text in texts]

    def all(self) -> list[Entry]:
        """What is settled, oldest first."""
        return self.store.entries(ALL)

    def save(self, folder: Path) -> None:
        """Write the store, if it outlives trials."""
        if self.lasting:
            self.store.save(folder / STORE)

    def load(self, folder: Path) -> None:
        """Take the store back. Raises RunError where there is none, or it is damaged."""
        self.found.clear()
        if self.lasting:
            self.store.load(folder / STORE)


@dataclass(slots=True)
class Corner:
    """What one trial sees of a shelf, and what it has left there that is not settled."""

    shelf: Shelf
    left: dict[int, Left] = field(default_factory=dict)
    """By number: below 0 are new ones, -1 the first; the others are of the store and rewritten."""
    count: int = 0
    """How many were new so far."""

    @property
    def lasting(self) -> bool:
        """Whether what the trial leaves is seen by later ones."""
        return self.shelf.lasting

    def near(self, text: str, count: int | None = None) -> list[Found]:
        """The entries most like `text`, best first; the newer of two alike."""
        key, count = self.shelf.key(text), self.shelf.recall.count if count is None else count
        shared = self.shelf.store.nearest(ALL, key, count + len(self.left))
        found = self._with_own(shared, key, -1.0)
        return sorted(found, key=lambda each: (-each.cosine, *_age(each.entry)))[:count]

    def best(self, text: str) -> list[Entry]:
        """The entries of the best score among those alike to `text`, the most alike of equal ones first."""
        shelf, key = self.shelf, self.shelf.key(text)
        count, least = shelf.recall.count, shelf.recall.least
        asked = (text, count + len(self.left))
        if asked not in shelf.found:
            shelf.found[asked] = shelf.store.best(ALL, key, asked[1], least)
        found = self._with_own(shelf.found[asked], key, least)
        found.sort(key=lambda each: (-each.entry.score, -each.cosine, *_age(each.entry)))
        return [each.entry for each in found[:count]]

    def get(self, ids: Sequence[int]) -> list[Entry]:
        """Entries by number; those dropped since are left out."""
        found = {entry.id: entry for entry in self.shelf.store.get(ids)}
        found |= {number: self.left[number].entry for number in ids if number in self.left}
        return [found[number] for number in ids if number in found]

    def put(self, entry: Entry, text: str, *, join: Join | None = None) -> None:
        """Keep an entry under the key of `text`; where one says the same, that one stays, or they `join` anew."""
        new = {number: each for number, each in self.left.items() if number < 0}
        same = [number for number, each in new.items() if each.entry.text == entry.text]
        if same and join is None:
            return
        for number in same:
            entry = join(new[number].entry, entry) if join else entry
        self.count += 1
        self.left[-self.count] = Left(replace(entry, id=-self.count), self.shelf.key(text), join)
        for number in same or sorted(new, reverse=True)[: max(0, len(new) + 1 - self.shelf.recall.limit)]:
            del self.left[number]

    def rewrite(self, entry: Entry, text: str) -> None:
        """Change what an entry says, and its key to that of `text`; one that is dropped meanwhile stays dropped."""
        before = self.left.get(entry.id)
        if before or entry.id > 0:
            self.left[entry.id] = Left(entry, self.shelf.key(text), before.join if before else None)

    def settle(self) -> None:
        """Take up in the store what was left, links to it included."""
        numbers: dict[int, int] = {}
        for number, left in self.left.items():
            links = [numbers.get(link, link) for link in left.entry.links]
            entry = replace(left.entry, links=tuple(link for link in links if link > 0))  # the others were dropped
            store = self.shelf.store
            if number > 0:
                store.rewrite(entry, left.key)
                continue
            if left.join and (same := store.find(ALL, entry.text)):
                entry = left.join(same, entry)
            numbers[number] = store.add(ALL, entry, left.key, anew=left.join is not None)

    def _with_own(self, shared: Sequence[Found], key: Vectors, least: float) -> list[Found]:
        """What the store has found, with what the trial has left in place of what it has rewritten or said again."""
        own = [Found(left.entry, float(left.key @ key)) for left in self.left.values()]
        said = {left.entry.text for left in self.left.values()}
        others = [each for each in shared if each.entry.id not in self.left and each.entry.text not in said]
        return [*others, *(each for each in own if each.cosine >= least)]


@dataclass(frozen=True, slots=True)
class Left:
    """What a trial has left, before it is settled."""

    entry: Entry
    key: Vectors
    join: Join | None


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

    def settle(self, kept: Container[Who]) -> None:
        """See `Shelf.settle`."""
        self.shelf.settle(kept)

    def save(self, folder: Path) -> None:
        """See `Shelf.save`."""
        self.shelf.save(folder)

    def load(self, folder: Path) -> None:
        """See `Shelf.load`."""
        self.shelf.load(folder)


def transcript(past: Past) -> str:
    """What an episode looked like from the agent's seat, and how it ended."""
    lines = [f"{turn.observation}\n> {turn.said or turn.text}" for turn in past.turns if turn.phase == "act"]
    return "\n".join([*lines, past.record.outcome])


def _age(entry: Entry) -> tuple[bool, int]:
    """Sorts the newer entry first: those that a trial has left itself are newer than any in the store."""
    return entry.id > 0, -abs(entry.id)
