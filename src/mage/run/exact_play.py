"""Every trial that can happen to a greedy agent, with its probability: all deals, all draws of mixed opponents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from mage.analysis.exact import DiceFactory, enumerate_trials, recurring
from mage.analysis.shuffled import remark_distributions, remarks_of, shared_chance, shuffled
from mage.play.actors import Actor
from mage.play.records import Task, Trial
from mage.run.arena import Arena

Weighted = Sequence[tuple[float, Trial]]
LIMIT = 20_000
"""Most trials of one opponent and seat that are enumerated."""


async def exact_trials(
    arena: Arena, actor: Actor, shares: Mapping[str, float], *, shuffle: bool
) -> dict[tuple[str, int], Weighted]:
    """All trials of each (opponent, seat), probabilities summing to 1 each. Raises NotEnumerableError where too many.

    With `shuffle` the remarks that an episode sees come from the law of all remarks the agent writes, whatever its
    opponent; where `shares_chance` the trials are then right for each episode alone, not for several together.
    """
    pairs = [(name, seat) for name in shares for seat in arena.seats]
    own = await _all(arena, actor, pairs, None)
    if not shuffle:
        return own
    return await _all(arena, actor, pairs, remark_laws(arena, own, shares))


def remark_laws(
    arena: Arena, own: Mapping[tuple[str, int], Weighted], shares: Mapping[str, float]
) -> tuple[Mapping[str, float], ...]:
    """Law of the remark after each episode but the last, from trials in which the agent read its own remarks.

    Where none of them came so far (they stopped at a success), nothing was written: the empty remark.
    """
    laws = remark_distributions(own, dict(shares), remarks_of)
    return (*laws, *[{"": 1.0}] * (arena.recipe.trial.episodes - 1 - len(laws)))


def shares_chance(arena: Arena) -> bool:
    """Whether shuffled trials are enumerated with one deal for all episodes, which leaves far fewer of them.

    Not where a trial may stop early: who comes to the next episode then depends on the deal of the last one.
    """
    return not arena.recipe.trial.stop_at_success


async def _all(
    arena: Arena, actor: Actor, pairs: Sequence[tuple[str, int]], laws: Sequence[Mapping[str, float]] | None
) -> dict[tuple[str, int], Weighted]:
    """All pairs at the same time, so that their requests share forward passes; if one fails, all are ended."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_pair(arena, actor, name, seat, laws)) for name, seat in pairs]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    arena.memory.settle(())  # what happens in one of all possible trials is no past of another
    return {pair: task.result() for pair, task in zip(pairs, tasks, strict=True)}


async def _pair(
    arena: Arena, actor: Actor, opponent: str, seat: int, laws: Sequence[Mapping[str, float]] | None
) -> Weighted:
    trial = arena.recipe.trial
    task = Task(0, seat, opponent, trial.episodes, trial.restart, 0)

    async def play(dice: DiceFactory) -> Trial:
        if laws is None:
            return await arena.play(task, 0, actor, dice=recurring(dice, trial.restart))
        rooms = shared_chance(dice) if shares_chance(arena) else recurring(dice, trial.restart)
        return await arena.play(task, 0, actor, dice=rooms, given_remark=shuffled(rooms, laws))

    return await enumerate_trials(play, limit=LIMIT)
