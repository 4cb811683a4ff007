"""The update of an iteration: its trials and their credit as data, through all epochs and minibatches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mage.engine.base import AdamParams, Datum, Engine, LossConfig, Scorer
from mage.errors import MageError, RunError
from mage.learn.credit import Credit
from mage.learn.data import Coefficients, training_data
from mage.learn.exploration import entropy_advantage
from mage.learn.hybrid import improbable_turns, with_old_logprobs
from mage.play.collect import Collected
from mage.recipe import HybridSection, Recipe
from mage.run.files import Row
from mage.run.mode import PLAIN, Mode
from mage.run.schedule import schedule

SEEN = ("loss", "value_loss", "entropy", "kl", "clip_fraction", "ratio_mean", "grad_norm", "masked_share")


async def update(
    engine: Engine, recipe: Recipe, collected: Collected, credit: Credit, index: int, mode: Mode = PLAIN
) -> Row:
    """All epochs and minibatches of iteration `index` (from 0); what was seen in the first (before any step) and means.

    Raises EngineError at a loss or gradient that is not finite, RunError where the engine cannot score tokens and the
    recipe asks for it.
    """
    optim, now = recipe.optim, schedule(recipe.optim, index, recipe.loop.iterations)
    coefficients = Coefficients(now.entropy, now.entropy_remark, now.kl_action, optim.kl_remark)
    batches = minibatches(collected, credit, coefficients, optim.minibatches, mode, _improbable(recipe.hybrid, mode))
    batches = [await _scored(engine, recipe, batch, mode) for batch in batches]
    loss = LossConfig(
        clip_low=optim.clip_low,
        clip_high=optim.clip_high,
        kl=optim.kl,
        temperature=recipe.loop.temperature,
        value_weight=optim.value_weight,
        value_clip=optim.value_clip,
        mask_below=recipe.hybrid.mask_below if mode.off_policy and recipe.hybrid.mask == "token" else 0.0,
    )
    adam = AdamParams(now.lr, optim.beta1, optim.beta2, weight_decay=optim.weight_decay, grad_clip=optim.grad_clip)
    steps = []
    for _ in range(optim.epochs):
        for batch in batches:
            seen = await engine.forward_backward(batch, loss)
            steps.append(seen | await engine.optim_step(adam))
    # off policy the gap to the sampler says how much the tips changed, not whether sampler and trainer agree
    gap = () if mode.off_policy else ("logprob_diff_mean", "logprob_diff_max")
    return (
        means(steps, SEEN)
        | {name: steps[0][name] for name in gap}
        | credit.diagnostics
        | {"lr": now.lr, "entropy_coefficient": now.entropy, "kl_coefficient": now.kl_action}
    )


async def _scored(engine: Engine, recipe: Recipe, data: list[Datum], mode: Mode) -> list[Datum]:
    """The data with what the model says of their tokens before the update, where the recipe has a use for it."""
    unaided = mode.off_policy and recipe.hybrid.ratio == "unaided"
    weight = recipe.credit.entropy_weight
    if not (unaided or weight):
        return data
    if not isinstance(engine, Scorer):
        asked = "credit.entropy_weight" if weight else "hybrid.ratio = 'unaided'"
        raise RunError(f"{asked} needs an engine that says how likely it finds a token: engine.kind tiny or local")
    scores = await engine.score(data, recipe.loop.temperature)
    data = with_old_logprobs(data, scores) if unaided else data
    return entropy_advantage(data, scores, weight) if weight else data


def _improbable(hybrid: HybridSection, mode: Mode) -> float | None:
    """The log-probability below which turns are left out, if they are."""
    return hybrid.mask_log if mode.off_policy and hybrid.mask == "turn" else None


def means(steps: Sequence[Row], names: Sequence[str]) -> Row:
    """Mean of each over the steps that measured it; what none did is left out (KL where no token asked for it)."""
    measured = {name: [step[name] for step in steps if name in step] for name in names}
    return {name: float(np.mean(values)) for name, values in measured.items() if values}


def minibatches(
    collected: Collected,
    credit: Credit,
    coefficients: Coefficients,
    count: int,
    mode: Mode = PLAIN,
    improbable: float | None = None,
) -> list[list[Datum]]:
    """The iteration's data in `count` parts of whole groups, in the order they were drawn.

    improbable: turns with a token below this log-probability are not learned from.
    """
    bounds = np.linspace(0, len(collected.groups), count + 1).astype(int)
    sizes = np.cumsum([0, *(len(group.trials) for group in collected.groups)])
    trials = mode.learned(collected.trials)
    silent = None if improbable is None else improbable_turns(trials, improbable)
    parts = []
    for first, last in zip(sizes[bounds[:-1]].tolist(), sizes[bounds[1:]].tolist(), strict=True):
        cut = slice(first, last)
        states = credit.states and credit.states.of(cut)
        part = training_data(
            trials[cut], credit.advantages[cut], coefficients, states, None if silent is None else silent[cut]
        ).data
        if part:
            parts.append(part)
    if not parts:
        raise MageError(
            "nothing was sampled in this iteration: a prompt and trial.max_action_tokens do not fit the model's context"
        )
    return parts
