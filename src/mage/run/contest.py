"""A contest: an actor meets opponents by their shares, in all trials that can happen or in sampled ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from mage.analysis.exact import DiceFactory
from mage.analysis.shuffled import shuffled
from mage.chance import Dice, SeededDice, derive
from mage.errors import MageError
from mage.play.actors import Actor
from mage.play.collect import collect
from mage.play.opponents.population import Population, draw_tasks
from mage.play.records import Task, Trial
from mage.recipe import EvalSection
from mage.run.arena import Arena
from mage.run.exact_play import Weighted, exact_trials, remark_laws, shares_chance
from mage.run.scores import Scores, pooled_scores

ROUND = 16
"""Trials that see the same memory, where it outlives them; what they leave is there for the next round."""


class Contest:
    """An actor, the opponents it meets by their shares, and how."""

    def __init__(
        self,
        arena: Arena,
        actor: Actor,
        shares: Mapping[str, float],
        section: EvalSection,
        shuffle: bool,
        grows: bool = False,
    ) -> None:
        """grows: whether a memory that outlives trials takes up what they leave."""
        self.arena, self.actor, self.shares = arena, actor, shares
        self.grows = grows and arena.memory.lasting
        self.section, self.shuffle = section, shuffle

    async def exactly(self) -> dict[tuple[str, int], Weighted]:
        """All trials of each (opponent, seat) with their probabilities. Raises NotEnumerableError."""
        return await exact_trials(self.arena, self.actor, self.shares, shuffle=self.shuffle)

    async def sampled(self) -> dict[tuple[str, int], Weighted]:
        """The recipe's number of trials per opponent, each a task of its own.

        Shuffled remarks are drawn from the law of those that the agent writes in the same tasks when it reads its own.
        """
        own = await self._sampled(None)
        return await self._sampled(remark_laws(self.arena, own, self.shares)) if self.shuffle else own

    async def _sampled(self, laws: Sequence[Mapping[str, float]] | None) -> dict[tuple[str, int], Weighted]:
        async def play(task: Task, member: int) -> Trial:
            given = None if laws is None else shuffled(_remark_dice(task), laws)
            return await self.arena.play(task, member, self.actor, given_remark=given)

        tasks, memory = self._tasks(), self.arena.memory
        size = len(tasks)
        if self.grows:  # in rounds, and opponents in turn
            size = ROUND
            tasks.sort(key=lambda task: (task.group % self.section.trials, task.group))
        found: dict[tuple[str, int], list[Trial]] = {}
        for start in range(0, len(tasks), size):
            collected = await collect(tasks[start : start + size], 1, play)
            memory.settle(collected.kept if self.grows else ())
            if collected.dropped:
                dropped = collected.dropped
                raise MageError(f"{len(dropped)} of {len(tasks)} trials failed, first: {dropped[0].reason}")
            for one in collected.trials:
                found.setdefault((one.task.opponent, one.task.seat), []).append(one)
        return {pair: [(1 / len(listed), one) for one in listed] for pair, listed in sorted(found.items())}

    def _tasks(self) -> list[Task]:
        arena, trial = self.arena, self.arena.recipe.trial
        tasks: list[Task] = []
        for name in self.shares:
            drawn = draw_tasks(
                Population((name,), (Fraction(1),)),
                groups=self.section.trials,
                seats=arena.seats,
                episodes=trial.episodes,
                restart=trial.restart,
                seed=derive(self.section.seed, name),
                iteration=0,
            )
            tasks += [replace(task, group=len(tasks) + index) for index, task in enumerate(drawn)]
        return tasks

    def scores(self, found: Mapping[tuple[str, int], Weighted], *, exact: bool) -> tuple[Scores, dict[str, Scores]]:
        """Scores pooled over all opponents, and of each (of none in a game of one seat)."""
        each = {
            name: self._scores({pair: found[pair] for pair in found if pair[0] == name}, {name: 1.0}, exact)
            for name in self.shares
            if name
        }
        return self._scores(found, self.shares, exact), each

    def _scores(self, found: Mapping[tuple[str, int], Weighted], shares: Mapping[str, float], exact: bool) -> Scores:
        episodes = self.arena.recipe.trial.episodes
        scores = pooled_scores(found, shares, episodes, exact)
        if self.grows:  # through the memory trials depend on one another: their spread says too little
            return replace(scores, interval=(None,) * episodes)
        if exact and self.shuffle and shares_chance(self.arena):  # such trials are right for each episode alone
            return replace(scores, pass_at_k=(scores.pass_at_k[0], *[None] * (episodes - 1)))
        return scores


def _remark_dice(task: Task) -> DiceFactory:
    def factory(kind: str, episode: int) -> Dice:
        return SeededDice(derive(task.seed, kind, episode))

    return factory
