"""Whom the agent meets: shares of opponents, kept exactly over an iteration's groups, with balanced seats."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from mage.chance import derive
from mage.errors import GameError, RecipeError
from mage.play.game import Game
from mage.play.opponents import normalise
from mage.play.records import Restart, Task
from mage.recipe import Share


@dataclass(frozen=True, slots=True)
class Population:
    """Opponents by their normalised specs, and their shares.

    >>> pool = Population.of([Share(name="conservative", share=3), Share(name="random", share=1)])
    >>> pool.names, [float(share) for share in pool.shares]
    (('conservative', 'random'), [0.75, 0.25])
    """

    names: tuple[str, ...]
    shares: tuple[Fraction, ...]
    """Positive, sum exactly to 1."""

    @classmethod
    def of(cls, shares: Iterable[Share], key: str = "population") -> Population:
        """A population from a recipe's list, or anything with `name` and `share`; `key` names the list in errors.

        Raises RecipeError for an empty list or an opponent given twice (in whatever spelling), GameError for an unknown
        opponent.
        """
        listed = list(shares)
        if not listed:
            raise RecipeError(f"{key} is empty: at least one opponent is needed")
        names = tuple(normalise(share.name) for share in listed)
        twice = [name for index, name in enumerate(names) if name in names[:index]]
        if twice:
            raise RecipeError(f"{key} has {twice[0]!r} twice: give it once, with the sum of the shares")
        # Through the decimal text, so that 0.3, 0.3, 0.4 of 10 groups are exactly 3, 3 and 4.
        weights = [Fraction(str(share.share)) for share in listed]
        return cls(names, tuple(weight / sum(weights) for weight in weights))

    @classmethod
    def nobody(cls) -> Population:
        """For a game of one seat: the empty name, met in every group.

        >>> Population.nobody().counts(3)
        (3,)
        """
        return cls(("",), (Fraction(1),))

    def counts(self, groups: int, iteration: int = 0) -> tuple[int, ...]:
        """Groups of each opponent in an iteration: largest remainders, equal remainders take turns by iteration.

        Each count is within 1 of share · groups, and they sum to `groups`.

        >>> thirds = Population.of([Share(name=name) for name in ("conservative", "aggressive", "random")])
        >>> [thirds.counts(64, iteration) for iteration in range(3)]
        [(22, 21, 21), (21, 22, 21), (21, 21, 22)]
        """
        until, before = self._dealt(groups, iteration + 1), self._dealt(groups, iteration)
        return tuple(after - earlier for after, earlier in zip(until, before, strict=True))

    def allot(self, groups: int, seats: Sequence[int], seed: int, iteration: int) -> list[tuple[str, int]]:
        """(opponent, seat of the agent) of each group of an iteration, in an order shuffled by (seed, iteration).

        Opponents have their `counts`. Each opponent's seats are as even as they can be, in the iteration and over all
        iterations so far (differences of at most 1): where one is left over, the next iteration goes on from it.
        """
        before = self._dealt(groups, iteration)
        pairs = [
            (name, seats[(index + before[index] + turn) % len(seats)])
            for index, (name, count) in enumerate(zip(self.names, self.counts(groups, iteration), strict=True))
            for turn in range(count)
        ]
        random.Random(derive(seed, "order", iteration)).shuffle(pairs)
        return pairs

    def _dealt(self, groups: int, iterations: int) -> list[int]:
        """Groups of each opponent in the first `iterations` iterations.

        Whoever has a remainder above the last one served gets one group more each time. Those K who have exactly that
        remainder share the m groups that are left, dealt round: of n = iterations · m, the j-th gets ⌈(n - j) / K⌉.
        """
        quotas = [share * groups for share in self.shares]
        floors = [math.floor(quota) for quota in quotas]
        remainders = [quota - floor for quota, floor in zip(quotas, floors, strict=True)]
        left = groups - sum(floors)
        if not left:
            return [iterations * floor for floor in floors]
        last = sorted(remainders, reverse=True)[left - 1]
        dealt = [iterations * (floor + (rest > last)) for floor, rest in zip(floors, remainders, strict=True)]
        tied = [index for index, rest in enumerate(remainders) if rest == last]
        shared = iterations * (left - sum(rest > last for rest in remainders))
        for place, index in enumerate(tied):
            dealt[index] += math.ceil(Fraction(shared - place, len(tied)))
        return dealt


def draw_tasks(
    population: Population,
    *,
    groups: int,
    seats: Sequence[int],
    episodes: int,
    restart: Restart,
    seed: int,
    iteration: int,
) -> tuple[Task, ...]:
    """The tasks of an iteration, one per group: opponents and seats as `Population.allot`, each with its own seed.

    The same arguments give the same tasks: nothing else decides them.

    >>> pool = Population.of([Share(name="random")])
    >>> tasks = draw_tasks(pool, groups=2, seats=(0, 1), episodes=3, restart="redeal", seed=0, iteration=5)
    >>> sorted(task.seat for task in tasks), tasks[1].seed == derive(0, "task", 5, 1)
    ([0, 1], True)
    """
    return tuple(
        Task(group, seat, opponent, episodes, restart, derive(seed, "task", iteration, group))
        for group, (opponent, seat) in enumerate(population.allot(groups, seats, seed, iteration))
    )


def seats_of(game: Game, seats: Literal["both"] | int) -> tuple[int, ...]:
    """The agent's seats that a recipe's `trial.seats` means. Raises GameError for a seat the game does not have."""
    if seats == "both":
        return tuple(range(game.seats))
    if not 0 <= seats < game.seats:
        raise GameError(f"trial.seats = {seats}: {game.name} has seats 0 to {game.seats - 1}, or 'both'")
    return (seats,)


def check_restart(game: Game, restart: Restart) -> None:
    """Raise GameError if `restart` makes no sense in `game`: without chance nothing can be dealt anew."""
    if restart == "redeal" and not game.has_chance:
        raise GameError(f"trial.restart = 'redeal': {game.name} has no chance to draw anew; use 'replay'")


def check_held_out(train: Iterable[Share], held_out: Iterable[Share]) -> None:
    """Raise RecipeError if a held-out opponent is in the training population, in whatever spelling.

    >>> check_held_out([Share(name="mcts")], [Share(name="mcts:simulations=100")])
    Traceback (most recent call last):
    mage.errors.RecipeError: population.held_out has 'mcts:simulations=100', which is in population.train...
    """
    trained = {normalise(share.name) for share in train}
    for share in held_out:
        if normalise(share.name) in trained:
            raise RecipeError(f"population.held_out has {share.name!r}, which is in population.train: it would be seen")
