"""What a base that is built here learns from: the trials of players without skill, in tokens.

Plain games are played at random. Where the recipe's agent will read advice that grows from trial to trial (tips,
strategies), reading is taught besides, in worlds of the game whose secret is dealt anew: scouts who know parts of it
fill the memory, and are not learned from; then novices play on, who do what they read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from mage.chance import derive, scramble
from mage.engine.base import Renderer
from mage.errors import MageError
from mage.play.actors import Actor, RandomActor
from mage.play.collect import Collected, collect
from mage.play.game import Primer
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.novice import Novice
from mage.play.opponents.population import draw_tasks
from mage.play.records import Task, Trial
from mage.play.trial import task_dice
from mage.recipe import PopulationSection, Recipe, StrategiesSection
from mage.run.arena import Arena, make_arena

GROUPS = 128
"""Trials of random play in a step."""
WORLDS, SCOUTS, READERS = 12, 48, 12
"""Where reading is taught: secrets dealt in a step, and players of each kind for every one of them."""
GROWING = ("strategies", "tips")
"""Memories that the novice learns to read."""
TOGETHER = "tips"
"""The one of which many entries are read together."""
SHOWN = StrategiesSection(size=32, failure=0.6, success=0.3)
"""Shares of trials that are shown strategies: more than in training, since here it is reading that is taught."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The trials of each step of a warm-up."""

    arena: Arena
    actor: Actor

    @classmethod
    def of(cls, recipe: Recipe, renderer: Renderer, decode: Callable[[Sequence[int]], str]) -> WarmUp:
        """The warm-up of a recipe's base. decode: token ids to text."""
        arena = warm_up_arena(recipe)
        strategic = recipe.actor.kind == "strategy"
        if strategic or isinstance(arena.game, Primer):
            return cls(arena, Novice(arena.game, renderer, decode, strategic=strategic))
        return cls(arena, RandomActor(reports=True, renderer=renderer, encode=renderer.encode))

    @property
    def reads(self) -> bool:
        """Whether reading is taught."""
        return self.arena.recipe.trial.memory in GROWING

    async def trials(self, step: int, groups: int = GROUPS) -> tuple[Trial, ...]:
        """The trials of a step. Raises MageError where the game fails."""
        if self.reads:
            return await self._worlds(step)
        return _whole(await collect(self._tasks(step, groups), 1, self.arena.player(self.actor)), self.arena)

    async def _worlds(self, step: int) -> tuple[Trial, ...]:
        """The readers' trials in all worlds of a step."""
        tasks = self._tasks(step, WORLDS)
        return tuple(chain.from_iterable(await asyncio.gather(*map(self._world, tasks))))

    async def _world(self, task: Task) -> tuple[Trial, ...]:
        """Scouts, each of whom knows the secret up to some part, fill the world's memory; readers read it.

        Readers know parts of the secret too, or they would seldom come as far as to read what is told of its end. What
        they know and do not read is uniform over what they could do, so that nothing false is learned from it.
        """
        recipe = self.arena.recipe
        arena = replace(self.arena, memory=make_memory(recipe.trial.memory, recipe.recall, recipe.strategies))
        scouts: list[Actor] = [self.actor]
        readers = scouts
        if isinstance(self.actor, Novice) and (secret := await self._secret(task)):
            readers = [self.actor.knowing(secret[:known]) for known in range(len(secret) + 1)]
            scouts = readers
            if recipe.trial.memory == TOGETHER:  # else what they tell would reach the end in every world
                scouts = readers[: 1 + scramble(task.seed) % len(readers)]
        played = await self._played(arena, task, scouts, range(SCOUTS))
        arena.memory.settle({(task.group, trial.member) for trial in played})
        return await self._played(arena, task, readers, range(SCOUTS, SCOUTS + READERS))

    async def _secret(self, task: Task) -> tuple[str, ...]:
        """What there is to know of a world."""
        game = self.arena.game
        return game.revealed(await game.start(task_dice(task)("deal", 0))) if isinstance(game, Primer) else ()

    async def _played(self, arena: Arena, task: Task, actors: Sequence[Actor], members: range) -> tuple[Trial, ...]:
        async def play(task: Task, index: int) -> Trial:
            member = members[index]
            actor = actors[scramble(task.seed + member) % len(actors)]
            return await arena.play(task, member, actor, aided=member % 4 != 0)

        return _whole(await collect([task], len(members), play), arena)

    def _tasks(self, step: int, groups: int) -> tuple[Task, ...]:
        recipe = self.arena.recipe
        return draw_tasks(
            self.arena.population,
            groups=groups,
            seats=self.arena.seats,
            episodes=recipe.trial.episodes,
            restart=recipe.trial.restart,
            seed=derive(recipe.engine.base_seed, "warm-up"),
            iteration=step,
        )


def _whole(collected: Collected, arena: Arena) -> tuple[Trial, ...]:
    if collected.dropped:
        raise MageError(f"random play of {arena.recipe.game.name} failed: {collected.dropped[0].reason}")
    return collected.trials


def warm_up_arena(recipe: Recipe) -> Arena:
    """Where a base is warmed up: nothing in it says whom the agent will meet or what the secret of its game is."""
    game = make_game(recipe.game.name, recipe.game.dialect)
    trial = recipe.trial.model_copy(update={"seats": "both", "stop_at_success": False})
    changed = {"population": PopulationSection(), "trial": trial}
    if isinstance(game, Primer):
        changed["game"] = recipe.game.model_copy(update={"name": game.untold()})
    if trial.memory in GROWING:
        changed["recall"] = recipe.recall.model_copy(update={"scope": "game"})
        changed["strategies"] = SHOWN
    return make_arena(recipe.model_copy(update=changed))
