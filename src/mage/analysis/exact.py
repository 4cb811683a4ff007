"""Exact evaluation by enumeration: every outcome of chance and of mixed opponents is played once, with its probability.

A trial is ordinary play with dice that follow a script. At the first pick beyond the script the dice take the first
possible outcome and a new trial is started for each other one, so all branches run at the same time and a sampler can
batch them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from mage.chance import Dice
from mage.errors import MageError, told
from mage.play.records import Restart, Result, Trial

T = TypeVar("T")
Split = Callable[[tuple[int, ...], tuple[int, ...]], None]
"""Starts a trial with a script (which of the possible outcomes, pick by pick) and how many were possible at each."""
SAME = 1e-12
"""Shares of [0, 1) smaller than this are rounding."""


class NotEnumerableError(MageError):
    """Play that cannot be enumerated: it must be evaluated by sampling."""


class DiceFactory(Protocol):
    """Where a trial gets its dice: the same (kind, episode) gives dice that repeat the same picks."""

    def __call__(self, kind: str, episode: int) -> Dice:
        """Dice for the deal, the opponent or the remark (`kind`) of an episode."""
        ...


class _Branch:
    """One trial of an enumeration: its script, and what it has drawn so far."""

    def __init__(self, script: tuple[int, ...], expected: tuple[int, ...], split: Split) -> None:
        self.script = script
        self.expected = expected
        self.split = split
        self.taken: list[int] = []
        self.sizes: list[int] = []
        self.probability = 1.0
        self.cells: dict[tuple[str, int], list[tuple[float, float]]] = {}

    def dice(self, kind: str, episode: int) -> Dice:
        return _ScriptedDice(self, kind, episode, self.cells.setdefault((kind, episode), []))

    def choose(self, count: int) -> int:
        """Which of `count` possible outcomes: by the script, else the first, and the others are split off."""
        place = len(self.taken)
        if place < len(self.script):
            chosen = self.script[place]
            if self.expected[place] != count:
                raise MageError(
                    f"a trial did not repeat: choice {place + 1} had {self.expected[place]} outcomes when first played "
                    f"and {count} now; exact evaluation needs play that depends on nothing but its dice"
                )
        else:
            chosen = 0
            for other in range(1, count):
                self.split((*self.taken, other), (*self.sizes, count))
        self.taken.append(chosen)
        self.sizes.append(count)
        return chosen


class _ScriptedDice:
    """Dice whose k-th pick is decided by a number known only to lie in a cell of [0, 1); picks narrow the cell.

    That is how seeded dice decide, too, so a second request repeats the picks even if the weights have changed.
    """

    __slots__ = ("_branch", "_cells", "_episode", "_kind", "_next")

    def __init__(self, branch: _Branch, kind: str, episode: int, cells: list[tuple[float, float]]) -> None:
        self._branch, self._kind, self._episode, self._cells = branch, kind, episode, cells
        self._next = 0

    def pick(self, weights: Sequence[float]) -> int:
        """Index of one of the possible outcomes; all of them are played in the end."""
        if self._next == len(self._cells):
            self._cells.append((0.0, 1.0))
        low, high = self._cells[self._next]
        if not all(weight >= 0 for weight in weights):
            raise MageError(f"the {self._kind} of episode {self._episode + 1} has probabilities {list(weights)}")
        total, edge = sum(weights), 0.0
        possible: list[tuple[int, float, float]] = []
        for index, weight in enumerate(weights):
            start, edge = edge, edge + weight / total
            part = (max(start, low), min(edge, high))
            if part[1] - part[0] > SAME:
                possible.append((index, *part))
        chosen = self._branch.choose(len(possible)) if len(possible) > 1 else 0
        index, start, stop = possible[chosen]
        self._branch.probability *= (stop - start) / sum(part[2] - part[1] for part in possible)
        self._cells[self._next] = (start, stop)
        self._next += 1
        return index

    def seed(self) -> int:
        """Refused: what a generator of its own does with a seed cannot be enumerated."""
        raise NotEnumerableError(
            f"the {self._kind} of episode {self._episode + 1} uses a generator of its own: "
            "it cannot be enumerated and must be evaluated by sampling"
        )


async def enumerate_trials(play: Callable[[DiceFactory], Awaitable[T]], *, limit: int) -> list[tuple[float, T]]:
    """All outcomes of `play` with their probabilities (which sum to 1), in the order of their picks.

    Args:
        play: Plays one trial with dice from the factory it is given; depends on nothing else that varies.
        limit: Most trials that may be played.

    Raises:
        NotEnumerableError: More trials than `limit`, or something draws from a generator of its own.
        MageError: A trial failed, or did not repeat its earlier picks.

    Example: a coin and then a die give 12 trials of probability 1/12.
    """
    done: dict[tuple[int, ...], tuple[float, T]] = {}
    started = 0

    def split(script: tuple[int, ...], expected: tuple[int, ...]) -> None:
        nonlocal started
        started += 1
        if started > limit:
            raise NotEnumerableError(
                f"there are more than {limit:,} different trials: the tree is too large for exact evaluation, "
                "it must be evaluated by sampling"
            )
        group.create_task(run(_Branch(script, expected, split)))

    async def run(branch: _Branch) -> None:
        outcome = await play(branch.dice)
        done[tuple(branch.taken)] = (branch.probability, outcome)

    try:
        async with asyncio.TaskGroup() as group:
            split((), ())
    except ExceptionGroup as failures:
        first = failures.exceptions[0]
        if isinstance(first, MageError):
            raise first from None
        raise MageError(f"a trial failed: {told(first)}") from first
    return [done[script] for script in sorted(done)]


def recurring(dice: DiceFactory, restart: Restart) -> DiceFactory:
    """Dice as the restart wants them: under `replay` every episode has the deal of the first.

    What a mixed opponent draws is fresh in every episode under either restart.
    """
    if restart == "redeal":
        return dice
    return lambda kind, episode: dice(kind, 0 if kind == "deal" else episode)


@dataclass(frozen=True, slots=True)
class Expectation:
    """Exact expectations by episode (index 0 is the first)."""

    pooled: tuple[float, ...]
    by_opponent: dict[str, tuple[float, ...]]
    by_seat: dict[int, tuple[float, ...]]
    by_pair: dict[tuple[str, int], tuple[float, ...]]
    trials: int
    """How many trials were played."""


def payoffs(trial: Trial) -> tuple[float, ...]:
    """The agent's return in each episode, in the game's units."""
    return tuple(episode.reward for episode in trial.episodes)


def shares_of(result: Result) -> Callable[[Trial], tuple[float, ...]]:
    """For each episode 1 if it ended with `result`, else 0: its expectation is the share won, drawn or lost."""
    return lambda trial: tuple(float(episode.result == result) for episode in trial.episodes)


def pool(
    results: Mapping[tuple[str, int], Sequence[tuple[float, T]]],
    weights: Mapping[str, float],
    value: Callable[[T], Sequence[float]],
) -> Expectation:
    """Exact expectation of `value` in each episode: per (opponent, seat), per opponent, per seat and pooled.

    An episode counts over the trials that played it (a trial may stop at its first success).

    Args:
        results: For each (opponent, seat) all trials with their probabilities, as `enumerate_trials` gives them.
        weights: Share of each opponent, any scale. Seats have equal shares.
        value: A number for each episode of a trial, such as `payoffs`.

    Example: `pool(results, {"conservative": 1, "aggressive": 1}, payoffs).pooled[-1]`.
    """

    def expected(pairs: Sequence[tuple[str, int]]) -> tuple[float, ...]:
        total: list[float] = []
        reached: list[float] = []
        for pair in pairs:
            for probability, trial in results[pair]:
                weight = probability * weights[pair[0]]
                for episode, number in enumerate(value(trial)):
                    if episode == len(total):
                        total.append(0.0)
                        reached.append(0.0)
                    total[episode] += weight * number
                    reached[episode] += weight
        return tuple(part / share for part, share in zip(total, reached, strict=True))

    opponents = dict.fromkeys(opponent for opponent, _ in results)
    seats = sorted({seat for _, seat in results})
    return Expectation(
        pooled=expected(list(results)),
        by_opponent={name: expected([pair for pair in results if pair[0] == name]) for name in opponents},
        by_seat={seat: expected([pair for pair in results if pair[1] == seat]) for seat in seats},
        by_pair={pair: expected([pair]) for pair in results},
        trials=sum(len(trials) for trials in results.values()),
    )
