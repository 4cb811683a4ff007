"""The tiny base: a model that speaks the form of answers and reports true facts, and has no skill at the game.

It is warmed up by supervised steps on uniformly random legal play and on remarks that state true, randomly chosen facts
of the episode just played. Built once for what it reads and for its shape, kept in the cache, rebuilt bit-identically.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mage.cache import cache_folder
from mage.chance import derive
from mage.engine.base import AdamParams, LossConfig
from mage.engine.local import LocalEngine, one_thread
from mage.engine.render import ChatRenderer
from mage.engine.tiny import STRATEGY_TAGS, tiny_model, tiny_tokenizer
from mage.learn.data import Coefficients, training_data
from mage.play.game import Game
from mage.play.games import normalise_game
from mage.play.templates import compact_words, words_of_memory
from mage.recipe import Recipe
from mage.run.files import remove, writing
from mage.run.seal import damage, seal
from mage.run.warm_up import WarmUp, warm_up_arena

FORMAT = 3
"""Raised when the warm-up changes, so that older bases in the cache are not taken for new ones."""
LR, LR_END = 3e-3, 3e-4
KNOWN_BY = 32
"""Trials of random play by which the cache knows what a base would be trained on."""
LONGEST_NAME = 60
"""Letters of a game's name in the name of its base's folder."""
EPISODE_WORDS = 10
"""Words `ep1` to `ep10` at least are in the vocabulary, so that a base serves trials of other lengths."""

log = logging.getLogger(__name__)


def tiny_base(recipe: Recipe) -> Path:
    """Folder of the recipe's tiny base, built if it is not in the cache."""
    key = hashlib.sha256(json.dumps(_identity(recipe), sort_keys=True).encode()).hexdigest()[:16]
    parent = cache_folder() / "tiny"
    plain = re.sub(r"\W+", "_", normalise_game(recipe.game.name))
    folder = parent / f"{plain[:LONGEST_NAME]}-{key}"
    wrong = damage(folder) if folder.exists() else ""
    if wrong is not None:
        if wrong:
            log.warning("%s was damaged and is built anew: %s", folder, wrong)
        with writing(parent):
            parent.mkdir(parents=True, exist_ok=True)
            part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
        try:
            with one_thread():  # its bits must not depend on the machine's cores
                engine = asyncio.run(build_tiny_base(recipe))
            with writing(folder):
                engine.save_model(part)
                seal(part)
                if damage(folder):  # else another process was faster
                    remove(folder)
                    part.replace(folder)
        finally:
            remove(part)
    return folder


def starting_model(recipe: Recipe) -> Path:
    """Folder of the model that a recipe starts from: the one it names, or its tiny base."""
    return Path(recipe.engine.model) if recipe.engine.model else tiny_base(recipe)


def _words(recipe: Recipe, game: Game) -> list[str]:
    """Every word the model reads or writes, in the order of its tokens."""
    common = compact_words(max(EPISODE_WORDS, recipe.trial.episodes))
    return [*common, *words_of_memory(recipe.trial.memory), *game.vocabulary()]


def _tokenizer(recipe: Recipe, words: Sequence[str]) -> Any:
    return tiny_tokenizer(words, STRATEGY_TAGS if recipe.actor.kind == "strategy" else ())


def _warm_up(recipe: Recipe, tokenizer: Any) -> WarmUp:
    return WarmUp.of(recipe, ChatRenderer(tokenizer), tokenizer.decode)


def _identity(recipe: Recipe) -> dict[str, Any]:
    """Everything that the base depends on; what its games say is known by the first trials it would see."""
    engine, trial = recipe.engine, recipe.trial
    arena = warm_up_arena(recipe)
    words = _words(recipe, arena.game)
    trials = asyncio.run(_warm_up(recipe, _tokenizer(recipe, words)).trials(0, KNOWN_BY))
    seen = [[played.contexts, [[turn.start, turn.stop] for turn in played.turns]] for played in trials]
    return {
        "format": FORMAT,
        "game": arena.game.name,
        "words": words,
        "seen": hashlib.sha256(json.dumps(seen).encode()).hexdigest(),
        "trial": {name: getattr(trial, name) for name in ("episodes", "restart", "memory")},
        "shape": [engine.hidden, engine.layers, engine.heads, engine.architecture],
        "steps": engine.warmup_steps,
        "seed": engine.base_seed,
    }


async def build_tiny_base(recipe: Recipe) -> LocalEngine:
    """Build and warm up the tiny model of a recipe: cross-entropy on random play and true reports."""
    tokenizer = _tokenizer(recipe, _words(recipe, warm_up_arena(recipe).game))
    warm_up = _warm_up(recipe, tokenizer)
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
    for step in range(engine_recipe.warmup_steps):
        trials = await warm_up.trials(step)
        ones = [np.ones(len(trial.turns)) for trial in trials]
        await engine.forward_backward(training_data(trials, ones, Coefficients()).data, LossConfig("cross_entropy"))
        await engine.optim_step(AdamParams(lr=_rate(step, engine_recipe.warmup_steps)))
    return engine


def _rate(step: int, steps: int) -> float:
    """Learning rate: ten steps of warm-up, then a linear fall."""
    return min(1.0, (step + 1) / 10) * (LR + (LR_END - LR) * step / steps)
