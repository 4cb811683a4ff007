"""What a recipe's words mean in objects: game, opponents, memory, prompts; and the function that plays one trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mage.engine.base import Sampler
from mage.play.actors import Actor, PlainActor
from mage.play.collect import Play
from mage.play.game import Opponent, TreeGame
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.memory import GivenRemark, Memory
from mage.play.opponents import make_opponent, normalise
from mage.play.opponents.population import Population, check_held_out, check_restart, seats_of
from mage.play.records import Task, Trial
from mage.play.templates import Prompts, make_prompts
from mage.play.trial import DiceRoom, TrialSettings, play_trial
from mage.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Arena:
    """Where a recipe's trials are played."""

    recipe: Recipe
    game: TreeGame
    seats: tuple[int, ...]
    """The seats that the agent takes."""
    population: Population
    held_out: Population | None
    opponents: dict[str, Opponent]
    """By normalised name: those of training, those held out, and any that were asked for besides."""
    memory: Memory
    prompts: Prompts
    settings: TrialSettings

    async def play(
        self,
        task: Task,
        member: int,
        actor: Actor,
        dice: DiceRoom | None = None,
        given_remark: GivenRemark | None = None,
    ) -> Trial:
        """One trial of `task` by `actor`."""
        return await play_trial(
            task,
            member,
            game=self.game,
            opponent=self.opponents[task.opponent],
            actor=actor,
            memory=self.memory,
            settings=self.settings,
            prompts=self.prompts,
            dice=dice,
            given_remark=given_remark,
        )

    def player(self, actor: Actor) -> Play:
        """`play` with the actor fixed, as the collector wants it."""

        async def play(task: Task, member: int) -> Trial:
            return await self.play(task, member, actor)

        return play

    def actor(self, sampler: Sampler, temperature: float, top_p: float = 1.0, top_k: int = 0) -> PlainActor:
        """The recipe's actor on a model, sampled as `mage.engine.base.SamplingParams` says."""
        return PlainActor(
            sampler,
            max_action_tokens=self.recipe.trial.max_action_tokens,
            max_remark_tokens=self.recipe.trial.max_remark_tokens,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
        )


def make_arena(recipe: Recipe, extra: Sequence[str] = ()) -> Arena:
    """The arena of a recipe, with opponents beyond its population by name. Raises MageError for what does not fit."""
    game = make_game(recipe.game.name, recipe.game.dialect)
    check_restart(game, recipe.trial.restart)
    train, others = recipe.population.train, recipe.population.held_out
    population = Population.of(train, "population.train")
    held_out = Population.of(others, "population.held_out") if others else None
    check_held_out(train, others)
    names = dict.fromkeys((*population.names, *(held_out.names if held_out else ()), *map(normalise, extra)))
    return Arena(
        recipe=recipe,
        game=game,
        seats=seats_of(game, recipe.trial.seats),
        population=population,
        held_out=held_out,
        opponents={name: make_opponent(name, game) for name in names},
        memory=make_memory(recipe.trial.memory, recipe.recall),
        prompts=make_prompts(recipe.game.dialect),
        settings=TrialSettings(reprompts=recipe.trial.reprompts, stop_at_success=recipe.trial.stop_at_success),
    )
