"""Rewards for what was not seen before, by counting: what every kind of novelty offers, and the counts themselves."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise
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
    """The state each turn led to, as text: what the episode showed and what was done, up to what came of the turn.

    What is shown is the game's view alone (the anchor) and its outcome: remarks, tips and earlier episodes are not part
    of the state, or whatever the agent writes would make it new. An illegal action leads nowhere, and neither does a
    reflection: None.
    """
    found: list[str | None] = []
    parts: list[str] = []
    episode = -1
    acts = [index for index, turn in enumerate(trial.turns) if turn.phase == "act"]
    after = dict(pairwise(acts))
    for index, turn in enumerate(trial.turns):
        if turn.phase == "reflect" or not turn.legal:
            found.append(None)
            continue
        if turn.episode != episode:
            parts, episode = [], turn.episode
        parts += [turn.anchor, f"> {turn.said}"]
        following = after.get(index)
        if following is not None and trial.turns[following].episode == episode:
            shown = trial.turns[following].anchor
        else:
            shown = trial.episodes[episode].outcome if episode < len(trial.episodes) else ""
        found.append("\n".join([*parts, shown]))
    return found


class Counts:
    """Reward weight / n for the state a turn leads to, n = how often one like it was seen, these trials included.

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
        """See `Novelty`: all trials are counted before any is paid, so that the same behaviour is worth the same."""
        seen = [[None if state is None else self._count(state) for state in states(trial)] for trial in trials]
        return [np.array([0.0 if each is None else self._weight / self._times(each) for each in row]) for row in seen]

    def _times(self, digest: bytes) -> int:
        """How often a state was seen; once, if it is forgotten already."""
        place = self._places.get(digest)
        return 1 if place is None else self._counts[place]

    def _count(self, state: str) -> bytes:
        """Count a state once more; returns the digest of the kept one that stands for it."""
        digest = hashlib.blake2b(state.encode(), digest_size=DIGEST).digest()
        if digest not in self._places:
            digest = self._alike(state) or self._keep(digest, state)
        self._places.move_to_end(digest)
        place = self._places[digest]
        self._counts[place] += 1
        return digest

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
