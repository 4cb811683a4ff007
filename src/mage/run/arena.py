"""What a recipe's words mean in objects: game, opponents, memory, prompts; and the function that plays one trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mage.engine.base import Sampler
from mage.errors import MageError, RecipeError
from mage.play.actors import Actor, PlainActor, StrategyFirst
from mage.play.collect import Play
from mage.play.game import Game, Opponent
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.memory import GivenRemark, Memory
from mage.play.opponents import make_opponent, nobody_to_meet, normalise
from mage.play.opponents.population import Population, check_held_out, check_restart, seats_of
from mage.play.records import Task, Trial
from mage.play.templates import Prompts, make_prompts
from mage.play.trial import DiceRoom, TrialSettings, play_trial
from mage.recipe import PopulationSection, Recipe


@dataclass(frozen=True, slots=True)
class Arena:
    """Where a recipe's trials are played."""

    recipe: Recipe
    game: Game
    seats: tuple[int, ...]
    """The seats that the agent takes."""
    population: Population
    held_out: Population | None
    opponents: dict[str, Opponent | None]
    """By normalised name: those of training, those held out, and any that were asked for besides.

    In a game of one seat the empty name stands for nobody.
    """
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
        aided: bool = True,
    ) -> Trial:
        """One trial of `task` by `actor`; without `aided` no tips are shown in it."""
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
            aided=aided,
        )

    def player(self, actor: Actor, aided: bool = True) -> Play:
        """`play` with the actor fixed, as the collector wants it."""

        async def play(task: Task, member: int) -> Trial:
            return await self.play(task, member, actor, aided=aided)

        return play

    def actor(
        self, sampler: Sampler, temperature: float, top_p: float = 1.0, top_k: int = 0, *, explores: bool = False
    ) -> PlainActor:
        """The recipe's actor on a model, sampled as `mage.engine.base.SamplingParams` says.

        One that `explores` (in training) samples strategies and remarks at temperatures of their own, if it has any.
        """
        trial, actor = self.recipe.trial, self.recipe.actor
        strategy = None
        if actor.kind == "strategy":
            strategy = StrategyFirst(actor.strategy_temperature if explores else temperature, actor.max_strategy_tokens)
        return PlainActor(
            sampler,
            max_action_tokens=trial.max_action_tokens,
            max_remark_tokens=trial.max_remark_tokens,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            strategy=strategy,
            remark_temperature=actor.remark_temperature if explores else None,
        )


def make_arena(recipe: Recipe, extra: Sequence[str] = (), *, measures: bool = False) -> Arena:
    """The arena of a recipe, with opponents beyond its population by name. Raises MageError for what does not fit.

    Where it `measures`, the agent has the memory of `eval.memory`, and is not asked to write what nobody will read.
    """
    game = make_game(recipe.game.name, recipe.game.dialect)
    check_restart(game, recipe.trial.restart)
    population, held_out, opponents = _company(recipe, game, extra)
    memory = (recipe.eval.memory if measures else None) or recipe.trial.memory
    return Arena(
        recipe=recipe,
        game=game,
        seats=seats_of(game, recipe.trial.seats),
        population=population,
        held_out=held_out,
        opponents=opponents,
        memory=make_memory(memory, recipe.recall, recipe.strategies),
        prompts=make_prompts(recipe.game.dialect, strategy=recipe.actor.kind == "strategy"),
        settings=TrialSettings(
            reprompts=recipe.trial.reprompts, stop_at_success=recipe.trial.stop_at_success, farewell=not measures
        ),
    )


def _company(
    recipe: Recipe, game: Game, extra: Sequence[str]
) -> tuple[Population, Population | None, dict[str, Opponent | None]]:
    """Whom the agent meets in training, whom besides in evaluation, and all of them by name."""
    train, others = recipe.population.train, recipe.population.held_out
    if game.seats == 1:
        defaults = PopulationSection()
        for key, given, default in (("train", train, defaults.train), ("held_out", others, defaults.held_out)):
            if given != default:
                raise RecipeError(f"population.{key}: {nobody_to_meet(game)}")
        if extra:
            raise MageError(f"--against {extra[0]}: {nobody_to_meet(game)}")
        return Population.nobody(), None, {"": None}
    population = Population.of(train, "population.train")
    held_out = Population.of(others, "population.held_out") if others else None
    check_held_out(train, others)
    names = dict.fromkeys((*population.names, *(held_out.names if held_out else ()), *map(normalise, extra)))
    return population, held_out, {name: make_opponent(name, game) for name in names}
