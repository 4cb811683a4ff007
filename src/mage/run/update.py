"""The update of an iteration: its trials and their credit as data, through all epochs and minibatches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mage.engine.base import AdamParams, Datum, Engine, LossConfig
from mage.errors import MageError
from mage.learn.credit import Credit
from mage.learn.data import Coefficients, StateValues, training_data
from mage.play.collect import Collected
from mage.recipe import Recipe
from mage.run.files import Row
from mage.run.schedule import schedule


async def update(engine: Engine, recipe: Recipe, collected: Collected, credit: Credit, index: int) -> Row:
    """All epochs and minibatches of iteration `index` (from 0); what was seen in the first (before any step) and means.

    Raises EngineError at a loss or gradient that is not finite.
    """
    optim, now = recipe.optim, schedule(recipe.optim, index, recipe.loop.iterations)
    coefficients = Coefficients(now.entropy, now.entropy_remark, now.kl_action, optim.kl_remark)
    batches = minibatches(collected, credit, coefficients, optim.minibatches)
    loss = LossConfig(
        clip_low=optim.clip_low,
        clip_high=optim.clip_high,
        kl=optim.kl,
        temperature=recipe.loop.temperature,
        value_weight=optim.value_weight,
        value_clip=optim.value_clip,
    )
    adam = AdamParams(now.lr, optim.beta1, optim.beta2, weight_decay=optim.weight_decay, grad_clip=optim.grad_clip)
    steps = []
    for _ in range(optim.epochs):
        for batch in batches:
            seen = await engine.forward_backward(batch, loss)
            steps.append(seen | await engine.optim_step(adam))
    fresh = {name: steps[0][name] for name in ("logprob_diff_mean", "logprob_diff_max")}
    return (
        means(steps, ("loss", "value_loss", "entropy", "kl", "clip_fraction", "grad_norm"))
        | fresh
        | credit.diagnostics
        | {"lr": now.lr, "entropy_coefficient": now.entropy, "kl_coefficient": now.kl_action}
    )


def means(steps: Sequence[Row], names: Sequence[str]) -> Row:
    """Mean of each over the steps that measured it; what none did is left out (KL where no token asked for it)."""
    measured = {name: [step[name] for step in steps if name in step] for name in names}
    return {name: float(np.mean(values)) for name, values in measured.items() if values}


def minibatches(collected: Collected, credit: Credit, coefficients: Coefficients, count: int) -> list[list[Datum]]:
    """The iteration's data in `count` parts of whole groups, in the order they were drawn."""
    bounds = np.linspace(0, len(collected.groups), count + 1).astype(int)
    sizes = np.cumsum([0, *(len(group.trials) for group in collected.groups)])
    trials = collected.trials
    parts = []
    for first, last in zip(sizes[bounds[:-1]].tolist(), sizes[bounds[1:]].tolist(), strict=True):
        cut = slice(first, last)
        states = credit.states and StateValues(credit.states.old[cut], credit.states.target[cut])
        part = training_data(trials[cut], credit.advantages[cut], coefficients, states).data
        if part:
            parts.append(part)
    if not parts:
        raise MageError(
            "nothing was sampled in this iteration: a prompt and trial.max_action_tokens do not fit the model's context"
        )
    return parts
