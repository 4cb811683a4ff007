"""The tiny base: a model that speaks the form of answers and reports true facts, and has no skill at the game.

It is warmed up by supervised steps on uniformly random legal play and on remarks that state true, randomly chosen facts
of the episode just played. Built once per vocabulary and shape, kept in the cache, rebuilt bit-identically.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mage.cache import cache_folder
from mage.chance import derive
from mage.engine.base import AdamParams, LossConfig
from mage.engine.local import LocalEngine, one_thread, open_model
from mage.engine.tiny import tiny_model, tiny_tokenizer
from mage.errors import EngineError
from mage.learn.data import Coefficients, training_data
from mage.play.actors import RandomActor
from mage.play.collect import collect
from mage.play.game import Game
from mage.play.games import make_game
from mage.play.opponents.population import draw_tasks
from mage.play.templates import compact_words
from mage.recipe import PopulationSection, Recipe, Share
from mage.run.arena import make_arena
from mage.run.files import remove, writing

FORMAT = 2
"""Raised when the warm-up changes, so that older bases in the cache are not taken for new ones."""
GROUPS, LR, LR_END = 128, 3e-3, 3e-4
EPISODE_WORDS = 10
"""Words `ep1` to `ep10` at least are in the vocabulary, so that a base serves trials of other lengths."""

log = logging.getLogger(__name__)


def tiny_base(recipe: Recipe) -> Path:
    """Folder of the recipe's tiny base, built if it is not in the cache."""
    key = hashlib.sha256(json.dumps(_identity(recipe), sort_keys=True).encode()).hexdigest()[:16]
    parent = cache_folder() / "tiny"
    folder = parent / f"{recipe.game.name}-{key}"
    if not _whole(folder):
        remove(folder)
        with writing(parent):
            parent.mkdir(parents=True, exist_ok=True)
            part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
        try:
            with one_thread():  # its bits must not depend on the machine's cores
                engine = asyncio.run(build_tiny_base(recipe))
            with writing(folder):
                engine.save_model(part)
            if not (folder / "config.json").is_file():  # it may be there: another process was faster
                remove(folder)
                part.replace(folder)
        finally:
            remove(part)
    return folder


def _whole(folder: Path) -> bool:
    """Whether a model is there that opens: what is in the cache may have been cut short or damaged."""
    if not (folder / "config.json").is_file():
        return False
    try:
        open_model(folder)
    except EngineError as error:
        log.warning("built anew: %s", error)
        return False
    return True


def starting_model(recipe: Recipe) -> Path:
    """Folder of the model that a recipe starts from: the one it names, or its tiny base."""
    return Path(recipe.engine.model) if recipe.engine.model else tiny_base(recipe)


def _words(recipe: Recipe, game: Game) -> list[str]:
    """Every word the model reads or writes, in the order of its tokens."""
    return [*compact_words(max(EPISODE_WORDS, recipe.trial.episodes)), *game.vocabulary()]


def _identity(recipe: Recipe) -> dict[str, Any]:
    """Everything that the base depends on."""
    engine, trial = recipe.engine, recipe.trial
    return {
        "format": FORMAT,
        "game": recipe.game.name,
        "words": _words(recipe, make_game(recipe.game.name, recipe.game.dialect)),
        "trial": {name: getattr(trial, name) for name in ("episodes", "restart", "memory")},
        "shape": [engine.hidden, engine.layers, engine.heads, engine.architecture],
        "steps": engine.warmup_steps,
        "seed": engine.base_seed,
    }


async def build_tiny_base(recipe: Recipe) -> LocalEngine:
    """Build and warm up the tiny model of a recipe: cross-entropy on random play and true reports."""
    arena = make_arena(_random_play(recipe))
    tokenizer = tiny_tokenizer(_words(recipe, arena.game))
    engine_recipe = recipe.engine
    model = tiny_model(
        len(tokenizer),
        hidden=engine_recipe.hidden,
        layers=engine_recipe.layers,
        heads=engine_recipe.heads,
        architecture=engine_recipe.architecture,
        pad_token=tokenizer.pad_token_id,
        seed=derive(engine_recipe.base_seed, "tiny"),
    )
    engine = LocalEngine(model, tokenizer)  # with a budget of its own: sums depend on it in their last bits
    actor = RandomActor(reports=True, renderer=engine.renderer, encode=engine.renderer.encode)
    for step in range(engine_recipe.warmup_steps):
        tasks = draw_tasks(
            arena.population,
            groups=GROUPS,
            seats=arena.seats,
            episodes=recipe.trial.episodes,
            restart=recipe.trial.restart,
            seed=derive(engine_recipe.base_seed, "warm-up"),
            iteration=step,
        )
        trials = (await collect(tasks, 1, arena.player(actor))).trials
        ones = [np.ones(len(trial.turns)) for trial in trials]
        await engine.forward_backward(training_data(trials, ones, Coefficients()).data, LossConfig("cross_entropy"))
        await engine.optim_step(AdamParams(lr=_rate(step, engine_recipe.warmup_steps)))
    return engine


def _random_play(recipe: Recipe) -> Recipe:
    """The recipe with a random opponent, and both seats taken: the base must not depend on whom it will meet."""
    anyone = PopulationSection(train=(Share(name="random"),))
    trial = recipe.trial.model_copy(update={"seats": "both", "stop_at_success": False})
    return recipe.model_copy(update={"population": anyone, "trial": trial})


def _rate(step: int, steps: int) -> float:
    """Learning rate: ten steps of warm-up, then a linear fall."""
    return min(1.0, (step + 1) / 10) * (LR + (LR_END - LR) * step / steps)
