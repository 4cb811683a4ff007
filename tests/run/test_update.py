"""What a recipe says of learning reaches the engine: each value is another than its default."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import numpy as np
import pytest
from small import small

from mage.engine.base import AdamParams, Datum, LossConfig, Sample
from mage.engine.local import LocalEngine
from mage.errors import RunError
from mage.learn.credit import assign_credit
from mage.play.collect import collect
from mage.play.opponents.population import draw_tasks
from mage.run.arena import make_arena
from mage.run.base_model import starting_model
from mage.run.mode import PLAIN, Mode
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


HYBRID = small(
    method="empo2",
    trial={"max_remark_tokens": 4},
    hybrid={"mask": "none"},
    credit={"entropy_weight": 0.0},
    recall={"least": -1.0},
    loop={"iterations": 3},
)
OFF = Mode(aided=True, off_policy=True)


@pytest.fixture(scope="module")
def helped():
    """Groups that were shown tips, and the engine that played them."""
    arena = make_arena(HYBRID)
    engine = LocalEngine.open(starting_model(HYBRID))
    engine.freeze_reference()
    actor = arena.actor(engine, 1.0)
    for number in range(2):
        tasks = draw_tasks(
            arena.population, groups=6, seats=arena.seats, episodes=3, restart="redeal", seed=0, iteration=number
        )
        collected = asyncio.run(collect(tasks, 4, arena.player(actor, aided=number == 1)))
        arena.memory.settle(collected.kept)
    return engine, collected


class Watched(Recorder):
    """A recorder that scores like the engine it wraps."""

    def __init__(self, engine):
        super().__init__()
        self.engine = engine

    async def score(self, data, temperature):
        return await self.engine.score(data, temperature)


def hybrid_update(helped, mode, **hybrid):
    engine, collected = helped
    weight = hybrid.pop("entropy_weight", 0.0)
    recipe = small(
        method="empo2",
        trial={"max_remark_tokens": 4},
        hybrid={"mask": "none", **hybrid},
        credit={"entropy_weight": weight},
        optim={"minibatches": 1, "kl_remark": 0.0, "entropy": 0.25, "entropy_end": 0.25},
    )
    watched = Watched(engine)
    credit = assign_credit(collected.trials, recipe.credit, max_tokens={"act": 8, "reflect": 8})
    seen = asyncio.run(update(watched, recipe, collected, credit, 0, mode))
    (data, loss) = watched.batches[0]
    return data, loss, seen


def test_on_policy_learns_from_what_was_read_off_policy_from_what_would_have_been(helped):
    tip = helped[0].tokenizer.convert_tokens_to_ids("tip")
    on, _, seen = hybrid_update(helped, Mode(True, False))
    off, _, seen_off = hybrid_update(helped, OFF)
    assert any(tip in datum.tokens for datum in on)
    assert not any(tip in datum.tokens for datum in off)
    for one, other in zip(on, off, strict=True):  # the same answers, with the log-probabilities they were sampled at
        assert one.tokens[one.sampled].tolist() == other.tokens[other.sampled].tolist()
        assert one.logprobs[one.sampled].tolist() == other.logprobs[other.sampled].tolist()
        assert one.advantages[one.sampled].tolist() == other.advantages[other.sampled].tolist()
    assert "logprob_diff_max" in seen
    assert "logprob_diff_max" not in seen_off


def test_the_printed_ratio_starts_at_one(helped):
    engine, _ = helped
    off, _, _ = hybrid_update(helped, OFF, ratio="unaided")
    scores = asyncio.run(engine.score(off, 1.0))
    for datum, score in zip(off, scores, strict=True):
        np.testing.assert_allclose(datum.logprobs, score.logprobs, atol=1e-6)
    behaviour, _, _ = hybrid_update(helped, OFF)
    assert max(np.abs(a.logprobs - b.logprobs).max() for a, b in zip(off, behaviour, strict=True)) > 0.01


def test_masks_are_for_off_policy_updates(helped):
    assert hybrid_update(helped, OFF, mask="token", mask_below=0.01)[1].mask_below == 0.01
    assert hybrid_update(helped, Mode(True, False), mask="token", mask_below=0.01)[1].mask_below == 0
    least = -0.75
    data, loss, _ = hybrid_update(helped, OFF, mask="turn", mask_log=least)
    assert loss.mask_below == 0
    plain, _, _ = hybrid_update(helped, OFF)
    dropped = kept = 0
    for datum, whole in zip(data, plain, strict=True):
        for silent, spoken in zip(_turns(datum), _turns(whole), strict=True):
            if spoken.logprobs.min() < least:
                assert not silent.entropy.any()
                assert not silent.advantages.any()
                dropped += 1
            else:
                assert silent.entropy.tolist() == spoken.entropy.tolist()
                assert silent.advantages.tolist() == spoken.advantages.tolist()
                kept += 1
    assert dropped
    assert kept


def test_the_entropy_advantage_reaches_the_data(helped):
    plain, _, _ = hybrid_update(helped, PLAIN)
    shaped, _, _ = hybrid_update(helped, PLAIN, entropy_weight=0.4)
    scores = asyncio.run(helped[0].score(plain, 1.0))
    for datum, other, score in zip(plain, shaped, scores, strict=True):
        bonus = np.minimum(0.4 * score.entropies, np.abs(datum.advantages) / 2)
        np.testing.assert_allclose(other.advantages, datum.advantages + bonus, atol=1e-6)
    assert any(a.advantages.tolist() != b.advantages.tolist() for a, b in zip(plain, shaped, strict=True))


def test_an_engine_that_cannot_score_is_refused(helped):
    _, collected = helped
    recipe = small(credit={"entropy_weight": 0.4})
    credit = assign_credit(collected.trials, recipe.credit, max_tokens={"act": 8, "reflect": 8})
    with pytest.raises(RunError, match=r"credit\.entropy_weight needs an engine that says how likely"):
        asyncio.run(update(Recorder(), recipe, collected, credit, 0))


def _turns(datum):
    """The datum's spans of sampled tokens."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], datum.sampled.astype(int), [0]))))
    return [
        Datum(*(getattr(datum, name)[a:b] for name in ("tokens", "sampled", "logprobs", "advantages", "entropy", "kl")))
        for a, b in edges.reshape(-1, 2)
    ]
