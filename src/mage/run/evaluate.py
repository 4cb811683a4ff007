"""Evaluation: payoff by episode, per opponent and pooled, exact where the tree allows it, beside the exact limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from mage.analysis.exact import NotEnumerableError
from mage.analysis.limits import exact_limits
from mage.engine.local import LocalEngine, set_threads
from mage.errors import MageError
from mage.explain import explain
from mage.methods import prompts_only
from mage.play.actors import Actor, RandomActor
from mage.play.game import units_of
from mage.play.games.guided import GuidedGame
from mage.play.memories.store_file import check_writable, take_up, write_back
from mage.play.memory import Memory
from mage.play.opponents import nobody_to_meet, normalise
from mage.recipe import EvalSection, Recipe
from mage.run import checkpoints
from mage.run.arena import Arena, make_arena
from mage.run.contest import Contest
from mage.run.exact_play import Weighted
from mage.run.files import Row
from mage.run.folder import RunFolder
from mage.run.scores import Scores

ActorName = Literal["model", "random", "oracle"]


@dataclass(frozen=True, slots=True)
class EvalResult:
    """What an evaluation found."""

    kind: Literal["exact", "sampled"]
    why_not_exact: str | None
    """Why trials were sampled, where exact evaluation was wanted."""
    target: str
    iteration: int | None
    temperature: float
    top_p: float
    top_k: int
    shuffle_remarks: bool
    memory: str
    """What the agent remembered."""
    actor: ActorName
    episodes: int
    restart: str
    units: str
    opponents: Mapping[str, Scores]
    """Of each opponent that was met; empty in a game of one seat."""
    held_out: frozenset[str]
    pooled: Scores
    """Over the opponents that were met, by their shares."""
    limits: Row | None
    """Exact limits of the pool (see `mage.analysis.limits`), where they can be computed."""
    tokens: int
    """Run through the model; what trials have in common is run once."""
    seconds: float

    def as_dict(self) -> Row:
        """Plain JSON data."""
        opponents = {
            name: {"held_out": name in self.held_out, **scores.as_dict()} for name, scores in self.opponents.items()
        }
        names = ("kind", "why_not_exact", "target", "iteration", "temperature", "top_p", "top_k")
        more = ("shuffle_remarks", "memory", "actor", "episodes", "restart", "units")
        row: Row = {name: getattr(self, name) for name in (*names, *more)}
        pooled = self.pooled.as_dict()
        return row | {
            "opponents": opponents,
            "pooled": pooled,
            "limits": self.limits,
            "invalid_share": pooled["invalid_share"],
            "tokens": self.tokens,
            "seconds": self.seconds,
        }


def evaluate(
    target: str | Path,
    *,
    recipe: Recipe | None = None,
    opponents: Sequence[str] | None = None,
    held_out: bool = False,
    exact: bool | None = None,
    temperature: float | None = None,
    trials: int | None = None,
    shuffle_remarks: bool = False,
    actor: ActorName = "model",
    seed: int | None = None,
    memory: str | None = None,
) -> EvalResult:
    """Evaluate a run or a model folder.

    Args:
        target: A run folder, or a Transformers folder (then `recipe` says what is played). No other actor than the
            model needs either, if there is a recipe.
        recipe: Default: the run's own.
        opponents: Whom to meet, equal shares; default: the training population, or with `held_out` the held-out one.
        exact: True enumerates and fails where it cannot; None enumerates where it can (`eval.exact`); False samples.
        temperature: Default `eval.temperature` (0: greedy).
        trials: Trials per opponent where they are sampled; default `eval.trials`.
        shuffle_remarks: Each episode sees remarks that were written in other trials.
        actor: `model`, `random` for uniformly random legal play, or `oracle` for play that knows what is hidden, in
            games that say how they are won.
        seed: Of the sampled tasks; default `eval.seed`.
        memory: What the agent remembers; default `eval.memory`, else as in training.

    A memory that was filled in training is taken from the run's newest checkpoint and stays as it is. Any other that
    outlives trials starts with what the file of `recall.path` holds, or empty, and grows from round to round; that of a
    method which trains nothing is written back to the file in the end.

    Raises MageError for a target that is neither, opponents that do not exist, exact evaluation that cannot be.
    """
    began = time.perf_counter()
    path = Path(target)
    folder = RunFolder.open(path) if RunFolder.is_run(path) else None
    if recipe is None:
        if folder is None:
            raise MageError(f"{path}: no run folder; to evaluate a model folder, say with --recipe what is played")
        recipe = folder.recipe
    set_threads(recipe.engine.threads)
    section = _section(recipe.eval, temperature=temperature, trials=trials, seed=seed, memory=memory)
    recipe = recipe.model_copy(update={"eval": section})
    arena = make_arena(recipe, opponents or (), measures=True)
    if actor == "oracle":
        arena = replace(arena, game=GuidedGame(arena.game))
    filled = fill_memory(arena, folder)
    writes = not filled and actor == "model" and prompts_only(recipe.method)
    if not filled:
        take_up(arena.memory)
    if writes:
        check_writable(arena.memory)
    engine, iteration = open_trained(path, folder) if actor == "model" else (None, None)
    player = _actor(arena, engine, section)
    contest = Contest(arena, player, _shares(arena, opponents, held_out), section, shuffle_remarks, grows=not filled)
    why_not = _why_sampled(exact, section, actor, arena.memory if contest.grows else None, arena.memory.name)
    found: dict[tuple[str, int], Weighted] | None = None
    if why_not is None:
        try:
            found = asyncio.run(contest.exactly())
        except NotEnumerableError as error:
            why_not = str(error)
    if found is None and exact:
        raise MageError(f"--exact: {why_not}")
    kind: Literal["exact", "sampled"] = "sampled" if found is None else "exact"
    found = asyncio.run(contest.sampled()) if found is None else found
    scores = contest.scores(found, exact=kind == "exact")
    if writes:
        write_back(arena.memory)
    return EvalResult(
        kind=kind,
        why_not_exact=why_not if kind == "sampled" else None,
        target=str(target),
        iteration=iteration,
        temperature=section.temperature,
        top_p=section.top_p,
        top_k=section.top_k,
        shuffle_remarks=shuffle_remarks,
        memory=section.memory or recipe.trial.memory,
        actor=actor,
        episodes=recipe.trial.episodes,
        restart=recipe.trial.restart,
        units=units_of(arena.game),
        opponents=scores[1],
        held_out=frozenset(arena.held_out.names) if arena.held_out else frozenset(),
        pooled=scores[0],
        limits=pool_limits(arena, contest.shares),
        tokens=engine.computed_tokens if engine else 0,
        seconds=time.perf_counter() - began,
    )


def pool_limits(arena: Arena, shares: Mapping[str, float]) -> Row | None:
    """Exact limits against `shares`; None where the game or an opponent does not allow them, or trials may stop early.

    With one seat there is nobody to adapt to.
    They are of agents that play every episode of a trial: who stops at a success leaves the last one to the others.
    """
    trial = arena.recipe.trial
    if trial.stop_at_success or arena.game.seats == 1:
        return None
    try:
        limits = exact_limits(
            arena.game,
            [opponent for name in shares if (opponent := arena.opponents[name])],
            list(shares.values()),
            episodes=trial.episodes,
            restart=trial.restart,
            seats=arena.seats,
        )
    except MageError:
        return None
    return limits.as_dict()


def _section(section: EvalSection, **given: float | str | None) -> EvalSection:
    asked = {name: value for name, value in given.items() if value is not None}
    try:
        return EvalSection.model_validate(section.model_dump() | asked)
    except ValidationError as error:
        raise MageError(explain(error, EvalSection)) from None


def _shares(arena: Arena, opponents: Sequence[str] | None, held_out: bool) -> dict[str, float]:
    """Whom to meet, with shares that sum to 1."""
    if opponents:
        names = list(dict.fromkeys(map(normalise, opponents)))
        return {name: 1 / len(names) for name in names}
    population = arena.held_out if held_out else arena.population
    if held_out and arena.game.seats == 1:
        raise MageError(f"--held-out: {nobody_to_meet(arena.game)}")
    if population is None:
        raise MageError("--held-out: the recipe's population.held_out is empty; name opponents with --against")
    return dict(zip(population.names, map(float, population.shares), strict=True))


def fill_memory(arena: Arena, folder: RunFolder | None) -> bool:
    """Give the agent the memory that was filled in training, from the newest checkpoint; False where there is none."""
    trained = folder is not None and not prompts_only(folder.recipe.method)
    if not (
        folder and trained and arena.memory.lasting and arena.recipe.eval.memory in (None, folder.recipe.trial.memory)
    ):
        return False
    checkpoint = folder.latest_checkpoint()
    if checkpoint:
        arena.memory.load(checkpoint.path)
    return checkpoint is not None


def _why_sampled(
    exact: bool | None, section: EvalSection, actor: ActorName, grows: Memory | None, memory: str
) -> str | None:
    """Why enumeration is out of the question from the start; None if it may be tried."""
    if exact is False or (exact is None and not section.exact):
        return "sampling was asked for"
    if actor != "model":
        return f"the {actor} actor has no model whose play could be enumerated"
    if grows:
        return f"memory {grows.name!r} grows from trial to trial"
    if memory == "strategies":
        return "memory 'strategies' draws what it shows"
    if section.temperature > 0:
        return f"the agent samples its answers (temperature {section.temperature:g}); exact play is greedy"
    return None


def _actor(arena: Arena, engine: LocalEngine | None, section: EvalSection) -> Actor:
    """The recipe's actor on a model; without one, random play (of what is legal: for an oracle, the best)."""
    if engine is None:
        return RandomActor(reports=True)
    return arena.actor(engine, section.temperature, section.top_p, section.top_k)


def open_trained(path: Path, folder: RunFolder | None) -> tuple[LocalEngine, int | None]:
    """The engine of a run's newest weights, or of a model folder. Raises MageError where there are none."""
    if folder is None:
        return LocalEngine.open(path), None
    if prompts_only(folder.recipe.method):
        from mage.run.base_model import starting_model

        return LocalEngine.open(starting_model(folder.recipe)), 0
    if folder.model_path.is_dir():
        return LocalEngine.open(folder.model_path), folder.recipe.loop.iterations
    if not checkpoints.found(folder.checkpoints_path):
        raise MageError(f"{path}: the run has no checkpoint yet; it writes one every loop.checkpoint_every iterations")
    from mage.run.base_model import starting_model

    engine = LocalEngine.open(starting_model(folder.recipe))
    return engine, _load_newest(engine, folder)


def _load_newest(engine: LocalEngine, folder: RunFolder) -> int:
    """Load the newest checkpoint and say its iteration; where training removes it meanwhile, the next one."""
    while True:
        there = checkpoints.found(folder.checkpoints_path)
        try:
            checkpoint = folder.latest_checkpoint()
            if checkpoint is None:
                raise MageError(f"{folder.path}: the run has lost its checkpoints")
            engine.load_state(checkpoint.path)
            return checkpoint.iteration
        except MageError:
            if checkpoints.found(folder.checkpoints_path) == there:
                raise
