"""Rewards for what was not seen before, by counting: what every kind of novelty offers, and the counts themselves."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from mage.errors import RunError
from mage.explore.arrays import Arrays, read, write
from mage.learn.table import Reals
from mage.play.records import Trial
from mage.recall.embed import HashedNgrams, Vectors

FILE = "novelty.safetensors"
DIGEST = 16
"""Bytes that a text is known by."""


class Novelty(Protocol):
    """An intrinsic reward that remembers what was seen."""

    def rewards(self, trials: Sequence[Trial]) -> list[Reals]:
        """Weighted reward of each turn, one array per trial, 0 at reflections; what the trials saw is taken up."""
        ...

    def save(self, folder: Path) -> None:
        """Write all that was seen into a checkpoint's folder."""
        ...

    def load(self, folder: Path) -> None:
        """Take back what `save` wrote. Raises RunError, naming the file, where it is missing or damaged."""
        ...


def states(trial: Trial) -> list[str | None]:
    """The state each turn was taken in, as text: what the episode has shown and the actions taken; None to reflect.

    What is shown is the game's view alone (the anchor): remarks, tips and earlier episodes are not part of the state,
    or whatever the agent writes would make it new. So is an illegal action: it leaves the state as it was.
    """
    found: list[str | None] = []
    parts: list[str] = []
    episode, again = -1, False
    for turn in trial.turns:
        if turn.phase == "reflect":
            found.append(None)
            continue
        if turn.episode != episode:
            parts, episode, again = [], turn.episode, False
        if not again:
            parts.append(turn.anchor)
        found.append("\n".join(parts))
        again = not turn.legal
        if turn.legal:
            parts.append(f"> {turn.said}")
    return found


class Counts:
    """Reward weight / n, n = how often a state like this one was seen, this time included.

    Source: EMPO², arXiv 2602.23008. With `similar` = 1 states are alike if their texts are equal. Below, a state
    that is not kept itself counts as the kept one with the largest cosine of word n-grams, if that is at least
    `similar`; else it is kept. At most `limit` are kept: the one that was not seen for longest is forgotten first.
    """

    def __init__(self, weight: float = 1.0, similar: float = 1.0, limit: int = 10_000) -> None:
        self._weight, self._similar, self._limit = weight, similar, limit
        size = 0 if similar == 1 else 512
        self._embedder = HashedNgrams(size)
        self._places: OrderedDict[bytes, int] = OrderedDict()  # by digest, the latest seen last
        self._digests: list[bytes] = []  # at each place
        self._counts: list[int] = []
        self._keys: Vectors = np.zeros((0, size), np.float32)  # with room for more

    def rewards(self, trials: Sequence[Trial]) -> list[Reals]:
        """See `Novelty`: a turn is counted before the next, so that of two alike the second gets half."""
        return [
            np.array([0.0 if state is None else self._weight / self._count(state) for state in states(trial)])
            for trial in trials
        ]

    def _count(self, state: str) -> int:
        """How often the state was seen, now included."""
        digest = hashlib.blake2b(state.encode(), digest_size=DIGEST).digest()
        if digest not in self._places:
            digest = self._alike(state) or self._keep(digest, state)
        self._places.move_to_end(digest)
        place = self._places[digest]
        self._counts[place] += 1
        return self._counts[place]

    def _alike(self, state: str) -> bytes | None:
        """The kept state that counts for this one."""
        if self._similar == 1 or not self._digests:
            return None
        (key,) = self._embedder.embed([state])
        cosines = self._keys[: len(self._digests)] @ key
        best = int(cosines.argmax())
        return self._digests[best] if cosines[best] >= self._similar else None

    def _keep(self, digest: bytes, state: str) -> bytes:
        """Make room for a state."""
        if len(self._digests) < self._limit:
            place = len(self._digests)
            self._digests.append(digest)
            self._counts.append(0)
        else:
            _, place = self._places.popitem(last=False)
            self._digests[place], self._counts[place] = digest, 0
        self._places[digest] = place
        if place == len(self._keys):
            self._keys = np.concatenate([self._keys, np.zeros((place + 64, self._keys.shape[1]), np.float32)])
        if self._similar < 1:
            (self._keys[place],) = self._embedder.embed([state])
        return digest

    def save(self, folder: Path) -> None:
        """See `Novelty`."""
        write(folder / FILE, self._arrays())

    def load(self, folder: Path) -> None:
        """See `Novelty`."""
        found = read(folder / FILE, self._arrays())
        count, latest = len(found["counts"]), found["latest"].tolist()
        if sorted(latest) != list(range(count)) or {len(array) for array in found.values()} != {count}:
            raise RunError(f"{folder / FILE}: does not hold together, its arrays are of different lengths or order")
        self._digests = [row.tobytes() for row in found["digests"]]
        self._counts, self._keys = found["counts"].tolist(), found["keys"].copy()
        self._places = OrderedDict((self._digests[place], place) for place in latest)

    def _arrays(self) -> Arrays:
        """All that is kept; `latest` are places in the order that they were seen last."""
        return {
            "digests": np.frombuffer(b"".join(self._digests), np.uint8).reshape(-1, DIGEST),
            "counts": np.array(self._counts, np.int64),
            "latest": np.array(list(self._places.values()), np.int64),
            "keys": self._keys[: len(self._digests)],
        }
