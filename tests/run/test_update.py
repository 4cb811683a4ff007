"""What a recipe says of learning reaches the engine: each value is another than its default."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import numpy as np
import pytest
from small import small

from mage.engine.base import AdamParams, Datum, LossConfig, Sample
from mage.engine.local import LocalEngine
from mage.learn.credit import assign_credit
from mage.play.collect import collect
from mage.play.opponents.population import draw_tasks
from mage.run.arena import make_arena
from mage.run.base_model import starting_model
from mage.run.update import update

RECIPE = small(
    optim={
        "lr": 0.5,
        "lr_end": 0.1,
        "lr_warmup": 0,
        "minibatches": 3,
        "epochs": 2,
        "clip_low": 0.125,
        "clip_high": 0.25,
        "grad_clip": 3.0,
        "weight_decay": 0.0625,
        "beta1": 0.75,
        "beta2": 0.875,
        "entropy": 0.5,
        "entropy_end": 0.25,
        "entropy_until": 1.0,
        "entropy_remark": 0.125,
        "kl": "full",
        "kl_action": 1.0,
        "kl_action_end": 2.0,
        "kl_remark": 4.0,
        "value_weight": 0.375,
        "value_clip": 0.625,
    },
    loop={"iterations": 3, "temperature": 1.5},
)


@dataclass
class Recorder:
    """An engine that writes down what it is asked for."""

    batches: list[tuple[list[Datum], LossConfig]] = field(default_factory=list)
    steps: list[AdamParams] = field(default_factory=list)

    async def forward_backward(self, data, loss):
        self.batches.append((list(data), loss))
        return {"loss": 0.0, "entropy": 0.0, "clip_fraction": 0.0, "logprob_diff_mean": 0.0, "logprob_diff_max": 0.0}

    async def optim_step(self, adam):
        self.steps.append(adam)
        return {"grad_norm": 1.0}


@pytest.fixture(scope="module")
def collected():
    arena = make_arena(RECIPE)
    actor = arena.actor(LocalEngine.open(starting_model(RECIPE)), RECIPE.loop.temperature)
    tasks = draw_tasks(arena.population, groups=6, seats=arena.seats, episodes=3, restart="redeal", seed=0, iteration=0)
    return asyncio.run(collect(tasks, 4, arena.player(actor)))


def learned(collected, index):
    engine = Recorder()
    credit = assign_credit(collected.trials, RECIPE.credit, max_tokens={"act": 8, "reflect": 8})
    seen = asyncio.run(update(engine, RECIPE, collected, credit, index))
    return engine, seen


def test_every_epoch_steps_through_every_minibatch(collected):
    engine, _ = learned(collected, 0)
    assert len(engine.batches) == len(engine.steps) == 6
    first, again = engine.batches[:3], engine.batches[3:]
    for (one, _), (other, _) in zip(first, again, strict=True):
        assert all(a is b for a, b in zip(one, other, strict=True))


def test_the_loss_is_the_recipe_s(collected):
    engine, _ = learned(collected, 0)
    wanted = LossConfig("policy", 0.125, 0.25, "full", 1.5, 0.375, 0.625)
    assert all(loss == wanted for _, loss in engine.batches)


@pytest.mark.parametrize(
    ("index", "lr", "entropy", "remark", "kl"),
    [(0, 0.5, 0.5, 0.125, 1.0), (1, 0.3, 0.375, 0.0625, 1.5), (2, 0.1, 0.25, 0.0, 2.0)],
)
def test_coefficients_are_those_of_the_iteration(collected, index, lr, entropy, remark, kl):
    engine, seen = learned(collected, index)
    assert engine.steps == [AdamParams(pytest.approx(lr), 0.75, 0.875, weight_decay=0.0625, grad_clip=3.0)] * 6
    data = [datum for batch, _ in engine.batches for datum in batch]
    values = np.concatenate([np.stack([d.entropy[d.sampled], d.kl[d.sampled]], axis=1) for d in data])
    assert {tuple(row) for row in np.unique(values, axis=0).tolist()} == {(entropy, kl), (remark, 4.0)}
    assert (seen["lr"], seen["entropy_coefficient"], seen["kl_coefficient"]) == pytest.approx((lr, entropy, kl))


def test_each_iteration_plays_tasks_of_its_own_at_the_recipe_s_limits(monkeypatch, tmp_path):
    from mage.run import train as train_module
    from mage.run.folder import RunFolder
    from mage.run.progress import Silent

    asked, sampled = [], []

    def drawn(*arguments, **settings):
        asked.append(settings)
        return draw_tasks(*arguments, **settings)

    sample = LocalEngine.sample

    async def listened(self, prompt, params, seed) -> Sample:
        sampled.append(params)
        return await sample(self, prompt, params, seed)

    monkeypatch.setattr(train_module, "draw_tasks", drawn)
    monkeypatch.setattr(LocalEngine, "sample", listened)
    recipe = small(loop={"iterations": 2, "temperature": 1.5}, trial={"max_action_tokens": 5, "max_remark_tokens": 7})
    train_module.train(recipe, RunFolder.create(recipe, tmp_path / "run"), progress=Silent())
    assert [settings["iteration"] for settings in asked] == [0, 1]
    assert {(params.max_tokens, params.temperature, params.stop) for params in sampled} == {
        (5, 1.5, ("</action>",)),
        (7, 1.5, ("</remark>",)),
    }
