from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from mage.engine.base import AdamParams, Datum, LossConfig, SamplingParams
from mage.engine.forest import pack
from mage.engine.local import LocalEngine
from mage.engine.loss import Predicted, TokenBatch, divergence, policy_loss
from mage.errors import EngineError

Build = Callable[..., LocalEngine]


def datum(
    tokens: list[int],
    start: int,
    logprobs: list[float] | None = None,
    advantage: float = 1.0,
    entropy: float = 0.0,
    kl: float = 0.0,
) -> Datum:
    sampled = np.arange(len(tokens)) >= start
    old = np.zeros(len(tokens), np.float32)
    if logprobs is not None:
        old[start:] = logprobs

    def filled(value: float) -> np.ndarray:
        return np.where(sampled, value, 0).astype(np.float32)

    return Datum(np.array(tokens), sampled, old, filled(advantage), filled(entropy), filled(kl))


def sampled_datum(engine: LocalEngine, prompt: list[int], seed: int, advantage: float = 1.0, **rest: float) -> Datum:
    sample = asyncio.run(engine.sample(prompt, SamplingParams(max_tokens=5), seed))
    return datum([*prompt, *sample.tokens], len(prompt), list(sample.logprobs), advantage, **rest)


def gradients(engine: LocalEngine) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in engine.model.named_parameters() if p.grad is not None}


def forward_backward(engine: LocalEngine, data: list[Datum], loss: LossConfig | None = None) -> dict[str, float]:
    return asyncio.run(engine.forward_backward(data, loss or LossConfig()))


def predicted(*rows: list[float]) -> Predicted:
    """Of distributions [M, V] whose first entry is the sampled token."""
    return Predicted.of(torch.tensor(rows).log(), torch.zeros(len(rows), dtype=torch.long), 1.0)


def test_loss_by_hand() -> None:
    # two tokens, one copy each: ratio 2 with A = 1 is clipped to 1.2; ratio 0.5 with A = -1 is clipped to 0.8
    model = predicted([0.6, 0.4], [0.1, 0.9])
    batch = TokenBatch(
        old_logprobs=torch.tensor([0.3, 0.2]).log(),
        gain=torch.tensor([1.0, 0.0]),
        loss=torch.tensor([0.0, -1.0]),
        entropy=torch.tensor([0.1, 0.0]),
        kl=torch.tensor([0.0, 0.5]),
        copies=torch.ones(2),
    )
    kl = divergence(model, predicted([0.5, 0.5], [0.2, 0.8]), "k3")
    total, seen = policy_loss(model, kl, batch, LossConfig())
    entropy = -0.6 * math.log(0.6) - 0.4 * math.log(0.4)
    k3 = 2 - math.log(2) - 1  # π_ref / π = 2
    assert float(total) == pytest.approx(-1.2 + 0.8 - 0.1 * entropy + 0.5 * k3, abs=1e-6)
    assert float(seen["clip_fraction"]) == 2
    assert float(seen["kl"]) == pytest.approx(k3, abs=1e-6)


def test_full_divergence_by_hand_and_as_the_mean_of_k3() -> None:
    model, reference = predicted([0.6, 0.4], [0.4, 0.6]), predicted([0.2, 0.8], [0.8, 0.2])
    # both rows are the same pair of distributions, with the first and the second token sampled
    exact = 0.6 * math.log(0.6 / 0.2) + 0.4 * math.log(0.4 / 0.8)
    assert divergence(model, reference, "full").tolist() == pytest.approx([exact, exact], abs=1e-6)
    k3 = divergence(model, reference, "k3")
    assert float(0.6 * k3[0] + 0.4 * k3[1]) == pytest.approx(exact, abs=1e-6)


def test_clip_bounds_only_the_side_that_gains() -> None:
    zero = torch.zeros(2)
    batch = TokenBatch(zero, torch.tensor([1.0, 0.0]), torch.tensor([0.0, -1.0]), zero, zero, torch.ones(2))
    # ratios 0.5 with A = 1 and 1.5 with A = -1: both move the wrong way, neither is clipped
    model = Predicted(torch.zeros(2, 1), torch.tensor([0.5, 1.5]).log())
    total, seen = policy_loss(model, None, batch, LossConfig())
    assert float(total) == pytest.approx(-0.5 + 1.5, abs=1e-6)
    assert float(seen["clip_fraction"]) == 0


def test_trainer_and_sampler_agree(engine: LocalEngine) -> None:
    data = [sampled_datum(engine, [1, 10, 11 + n], seed=n) for n in range(12)]
    seen = forward_backward(engine, data)
    assert 0 < seen["logprob_diff_max"] < 1e-4
    assert seen["ratio_mean"] == pytest.approx(1.0, abs=1e-4)
    assert seen["sampled_tokens"] == 60


def test_merging_copies_changes_nothing(make_engine: Build) -> None:
    engine = make_engine()
    engine.freeze_reference()
    one = sampled_datum(engine, [1, 10, 11], 3, advantage=2.0, entropy=0.1, kl=0.3)
    two = Datum(one.tokens, one.sampled, one.logprobs, -one.advantages, one.entropy, one.kl)
    other = sampled_datum(engine, [1, 12], 4, advantage=-0.5, entropy=0.1)
    with torch.no_grad():
        engine.model.lm_head.weight.mul_(1.5)  # ratios away from 1: clipping and KL are at work
    data = [one, two, other, one]
    (part,) = pack(data, 1000)
    assert sorted(part.batch.copies.tolist()) == [1] * 5 + [3] * 5
    together = forward_backward(engine, data)
    merged = gradients(engine)
    engine.model.zero_grad()
    losses = 0.0
    for item in data:
        losses += forward_backward(engine, [item])["loss"] * item.sampled.sum()
    total = sum(int(item.sampled.sum()) for item in data)
    assert together["loss"] == pytest.approx(losses / total, rel=1e-4)
    # each separate call divided by its own 5 tokens instead of all 20
    for name, gradient in gradients(engine).items():
        torch.testing.assert_close(merged[name], gradient * 5 / total, rtol=1e-3, atol=1e-6)


def test_micro_batches_change_nothing(make_engine: Build) -> None:
    whole, split = make_engine(), make_engine(max_tokens_per_batch=8)
    data = [sampled_datum(whole, [1, 10, 11 + n][: 2 + n % 2], seed=n, advantage=n - 3.0) for n in range(8)]
    assert forward_backward(whole, data)["loss"] == pytest.approx(forward_backward(split, data)["loss"], rel=1e-4)
    for name, gradient in gradients(whole).items():
        torch.testing.assert_close(gradients(split)[name], gradient, rtol=1e-3, atol=1e-6)


def test_positive_advantage_raises_the_probability(engine: LocalEngine) -> None:
    item = sampled_datum(engine, [1, 10, 11], 3)
    forward_backward(engine, [item])
    step = asyncio.run(engine.optim_step(AdamParams(lr=1e-3)))
    assert step["grad_norm"] > 0
    after = forward_backward(engine, [item])
    assert after["ratio_mean"] > 1


def test_entropy_bonus_raises_entropy(engine: LocalEngine) -> None:
    item = sampled_datum(engine, [1, 10, 11], 3, advantage=0.0, entropy=1.0)
    before = forward_backward(engine, [item])["entropy"]
    asyncio.run(engine.optim_step(AdamParams(lr=1e-2)))
    assert forward_backward(engine, [item])["entropy"] > before


@pytest.mark.parametrize("kind", ["k3", "full"])
def test_kl_pulls_back_to_the_reference(make_engine: Build, kind: Literal["k3", "full"]) -> None:
    engine = make_engine()
    engine.freeze_reference()
    with torch.no_grad():
        engine.model.lm_head.weight.mul_(1.3)
    engine._batcher.forget()
    data = [sampled_datum(engine, [1, 10, 11 + n % 4], n, advantage=0.0, kl=1.0) for n in range(40)]
    before = forward_backward(engine, data, LossConfig(kl=kind))["kl"]
    asyncio.run(engine.optim_step(AdamParams(lr=1e-4)))
    assert 0 < forward_backward(engine, data, LossConfig(kl=kind))["kl"] < before


def test_kl_without_a_reference_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(EngineError, match="no reference"):
        forward_backward(engine, [sampled_datum(engine, [1, 10], 0, kl=0.1)])


def test_temperature_is_that_of_the_sampler(engine: LocalEngine) -> None:
    sample = asyncio.run(engine.sample([1, 10], SamplingParams(max_tokens=5, temperature=0.7), 0))
    item = datum([1, 10, *sample.tokens], 2, list(sample.logprobs))
    assert forward_backward(engine, [item], LossConfig(temperature=0.7))["logprob_diff_max"] < 1e-4
    assert forward_backward(engine, [item], LossConfig(temperature=1.0))["logprob_diff_max"] > 1e-2


def test_each_token_has_the_temperature_it_was_sampled_at(engine: LocalEngine) -> None:
    """A response at 1.5 up to its first "</action>", at 0.5 after it: the trainer finds the sampler's log-probs."""
    params = SamplingParams(max_tokens=12, temperature=1.5, then=("</action>", 0.5))
    mixed = 0
    for seed in range(30):
        sample = asyncio.run(engine.sample([1, 4, 5], params, seed))
        temperatures = np.array(sample.temperatures, np.float32)
        assert len(temperatures) == len(sample.tokens)
        ends = [number for number, token in enumerate(sample.tokens) if engine.token_texts([token]) == ["</action>"]]
        cut = ends[0] + 1 if ends else len(temperatures)
        assert (temperatures[:cut] == 1.5).all()
        assert (temperatures[cut:] == 0.5).all()
        mixed += 0 < cut < len(temperatures)
        plain = datum([1, 4, 5, *sample.tokens], 3, list(sample.logprobs))
        own = replace(plain, temperature=np.concatenate([np.zeros(3, np.float32), temperatures]))
        assert forward_backward(engine, [own])["logprob_diff_max"] < 1e-5
        assert forward_backward(engine, [plain])["logprob_diff_max"] > 1e-3
    assert mixed > 3


def test_copies_at_different_temperatures_stay_apart() -> None:
    data = [replace(datum([1, 4, 5], 2, [-1.0]), temperature=np.array([0, 0, t], np.float32)) for t in (1.0, 0.5, 0.5)]
    (packed,) = pack(data, 1000)
    assert packed.forest.temperature is not None
    assert sorted(zip(packed.forest.temperature.tolist(), packed.batch.copies.tolist(), strict=True)) == [
        (0.5, 2),
        (1, 1),
    ]


def test_non_finite_loss_names_the_sequence(engine: LocalEngine) -> None:
    bad = datum([1, 10, 12], 2, [0.0], advantage=math.nan)
    with pytest.raises(EngineError, match=r"loss is nan.*\[1, 10, 12\]"):
        forward_backward(engine, [bad])


def test_a_loss_that_is_not_finite_blames_what_makes_it_so(engine: LocalEngine) -> None:
    ratio = datum([1, 10, 12], 2, [-400.0], advantage=-1e30)
    with pytest.raises(EngineError, match=r"loss is inf: log-probabilities are up to \d+ from those at sampling"):
        forward_backward(engine, [ratio])
    with pytest.raises(EngineError, match="loss is nan: an advantage is not finite"):
        forward_backward(engine, [datum([1, 10, 12], 2, [0.0], advantage=math.nan)])
    with pytest.raises(EngineError, match=r"a coefficient of optim\.entropy"):
        forward_backward(engine, [datum([1, 10, 12], 2, [0.0], entropy=math.inf)])
    with torch.no_grad():
        engine.model.lm_head.weight.fill_(math.inf)
    with pytest.raises(EngineError, match=r"not finite, its weights have run away; lower optim\.lr"):
        forward_backward(engine, [datum([1, 10, 12], 2, [0.0])])


def test_non_finite_loss_leaves_no_gradient(engine: LocalEngine) -> None:
    """Of an earlier call neither: the step that would follow has nothing to apply."""
    forward_backward(engine, [sampled_datum(engine, [1, 10], 0)])
    with pytest.raises(EngineError, match="loss is nan"):
        forward_backward(engine, [datum([1, 10, 12], 2, [0.0], advantage=math.nan)])
    with pytest.raises(EngineError, match="forward_backward first"):
        asyncio.run(engine.optim_step(AdamParams(lr=1e-3)))


def test_non_finite_gradient_stops_the_step(engine: LocalEngine) -> None:
    forward_backward(engine, [sampled_datum(engine, [1, 10], 0)])
    engine.model.lm_head.weight.grad[0, 0] = math.inf
    before = engine.model.lm_head.weight.clone()
    with pytest.raises(EngineError, match=r"not finite in lm_head\.weight"):
        asyncio.run(engine.optim_step(AdamParams(lr=1e-3)))
    assert torch.equal(before, engine.model.lm_head.weight)


def test_step_without_gradient_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(EngineError, match="forward_backward first"):
        asyncio.run(engine.optim_step(AdamParams(lr=1e-3)))


def train_steps(engine: LocalEngine, steps: range) -> None:
    for step in steps:
        data = [
            sampled_datum(engine, [1, 10, 11 + n], seed=100 * step + n, advantage=n - 1.5, kl=0.1) for n in range(4)
        ]
        forward_backward(engine, data)
        asyncio.run(engine.optim_step(AdamParams(lr=1e-2)))


def test_state_round_trip_is_exact(make_engine: Build, tmp_path: Path) -> None:
    engine, fresh = make_engine(), make_engine(seed=1)
    engine.freeze_reference()
    train_steps(engine, range(3))
    engine.save_state(tmp_path)
    fresh.load_state(tmp_path)
    train_steps(engine, range(3, 6))
    train_steps(fresh, range(3, 6))
    for name, value in engine.model.state_dict().items():
        assert torch.equal(value, fresh.model.state_dict()[name]), name


def test_state_of_another_engine_or_model_is_refused(engine: LocalEngine, tmp_path: Path) -> None:
    engine.freeze_reference()
    train_steps(engine, range(1))
    engine.save_state(tmp_path)
    path = tmp_path / "engine.json"
    whole = path.read_text()
    count = sum(parameter.numel() for parameter in engine.model.parameters())
    for damaged, words in (
        (whole.replace("local", "remote"), r"engine\.json: a state of another engine.*'remote'"),
        (whole.replace(str(count), "7"), rf"engine\.json: .*'parameters': 7.*there, .*'parameters': {count}.*here"),
        (whole[:5], r"engine\.json: cannot be read"),
    ):
        path.write_text(damaged)
        with pytest.raises(EngineError, match=words):
            engine.load_state(tmp_path)


def test_damaged_state_is_named(engine: LocalEngine, tmp_path: Path) -> None:
    train_steps_engine = engine
    train_steps_engine.freeze_reference()
    train_steps(engine, range(1))
    engine.save_state(tmp_path)
    path = tmp_path / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(EngineError, match=r"weights\.safetensors"):
        engine.load_state(tmp_path)
