"""Seeded chance. Every draw of a trial comes from dice that its task owns; no global generator is read or seeded."""

from __future__ import annotations

import hashlib
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


GOLDEN = 0x9E3779B97F4A7C15
"""The step between the states of SplitMix64, 2⁶⁴ divided by the golden ratio."""
MASK = (1 << 64) - 1


def scramble(state: int) -> int:
    """A well-mixed 64-bit value of a 64-bit state: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).

    >>> scramble(GOLDEN)  # the first output of SplitMix64 seeded with 0
    16294208416658607535
    """
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return state ^ (state >> 31)


class SeededDice:
    """Dice that replay exactly from their seed: SplitMix64, whose state is one integer, so that dice cost nothing."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed

    def pick(self, weights: Sequence[float]) -> int:
        """Index drawn with probability proportional to `weights`."""
        self._state = state = (self._state + GOLDEN) & MASK
        left = (scramble(state) >> 11) * 2.0**-53 * sum(weights)
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0)  # rounding at the far end

    def seed(self) -> int:
        """A fresh 63-bit seed."""
        self._state = state = (self._state + GOLDEN) & MASK
        return scramble(state) >> 1
