"""Seeded chance. Every draw of a trial comes from dice that its task owns; no global generator is read or seeded."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Protocol


def derive(*key: int | str) -> int:
    """A 63-bit seed that depends on every part of `key` and on nothing else (stable across processes).

    >>> derive(0, "deal", 1) == derive(0, "deal", 1), derive(0, "deal", 1) == derive(0, "deal", 2)
    (True, False)
    """
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class Dice(Protocol):
    """A source of discrete draws: chance nodes of a game and mixed opponents are decided by one."""

    def pick(self, weights: Sequence[float]) -> int:
        """Index drawn with probability proportional to `weights` (non-negative, not all zero)."""
        ...

    def seed(self) -> int:
        """A fresh 63-bit seed, for parts that bring a generator of their own (such as tree search)."""
        ...


class SeededDice:
    """Dice that replay exactly from their seed."""

    __slots__ = ("_rng", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng: random.Random | None = None  # made at the first draw: most scripted opponents never draw

    def _generator(self) -> random.Random:
        if self._rng is None:
            self._rng = random.Random(self._seed)
        return self._rng

    def pick(self, weights: Sequence[float]) -> int:
        """Index drawn with probability proportional to `weights`."""
        left = self._generator().random() * sum(weights)
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0)  # rounding at the far end

    def seed(self) -> int:
        """A fresh 63-bit seed."""
        return self._generator().getrandbits(63)
