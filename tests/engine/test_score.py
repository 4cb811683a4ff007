"""What the model says of tokens that are there already: the sampler's numbers, and those of a plain forward pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from mage.engine.base import Datum, LossConfig, SamplingParams, Scorer, TokenScores
from mage.engine.local import LocalEngine
from mage.learn.hybrid import with_old_logprobs

Build = Callable[..., LocalEngine]


def sampled(engine: LocalEngine, prompt: list[int], seed: int, temperature: float = 1.0) -> Datum:
    sample = asyncio.run(engine.sample(prompt, SamplingParams(max_tokens=5, temperature=temperature), seed))
    tokens = np.array([*prompt, *sample.tokens])
    blank = np.zeros(len(tokens), np.float32)
    old = blank.copy()
    old[len(prompt) :] = sample.logprobs
    return Datum(tokens, np.arange(len(tokens)) >= len(prompt), old, blank, blank, blank)


def score(engine: LocalEngine, data: Sequence[Datum], temperature: float = 1.0) -> list[TokenScores]:
    return asyncio.run(engine.score(data, temperature))


def plainly(engine: LocalEngine, datum: Datum, temperatures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-probability and entropy of each token but the first, by a Transformers forward of the sequence alone."""
    with torch.inference_mode():
        logits = engine.model(torch.from_numpy(datum.tokens)[None]).logits[0, :-1]
    everything = torch.log_softmax(logits / torch.from_numpy(temperatures[1:])[:, None], dim=-1)
    found = everything.gather(1, torch.from_numpy(datum.tokens[1:])[:, None])[:, 0]
    return found.numpy(), -(everything.exp() * everything).sum(-1).numpy()


@pytest.mark.parametrize("budget", [8, 10_000])
def test_scores_are_those_of_the_sampler_and_of_a_plain_forward(make_engine: Build, budget: int) -> None:
    """Prompts and whole sequences are shared, one datum has tokens read after tokens sampled."""
    engine = make_engine(max_tokens_per_batch=budget)
    assert isinstance(engine, Scorer)
    data = [sampled(engine, [1, 10, 11, 12][: 2 + n % 3], seed=n % 7, temperature=0.7) for n in range(12)]
    holed = data[0].sampled.copy()
    holed[3] = False
    data.append(replace(data[0], sampled=holed, logprobs=data[0].logprobs * holed))
    for datum, found in zip(data, score(engine, data, 0.7), strict=True):
        assert [part.dtype for part in found] == [np.float32] * 2
        np.testing.assert_allclose(found.logprobs, datum.logprobs, atol=1e-4)
        logprobs, entropies = plainly(engine, datum, np.full(len(datum.tokens), 0.7, np.float32))
        np.testing.assert_allclose(found.logprobs[1:], np.where(datum.sampled[1:], logprobs, 0), atol=1e-4)
        np.testing.assert_allclose(found.entropies[1:], np.where(datum.sampled[1:], entropies, 0), atol=1e-4)
        assert (found.entropies[datum.sampled] > 0.1).all()


def test_each_copy_is_scored_at_its_own_temperatures(engine: LocalEngine) -> None:
    datum = sampled(engine, [1, 10], 3)
    mixed = np.where(datum.sampled, np.linspace(0.5, 1.5, len(datum.tokens)), 0).astype(np.float32)
    found = score(engine, [datum, replace(datum, temperature=mixed), datum], 0.8)
    same = np.full_like(mixed, 0.8)
    for item, temperatures in zip(found, (same, mixed.clip(0.1), same), strict=True):
        logprobs, entropies = plainly(engine, datum, temperatures)
        np.testing.assert_allclose(item.logprobs[1:], np.where(datum.sampled[1:], logprobs, 0), atol=1e-4)
        np.testing.assert_allclose(item.entropies[1:], np.where(datum.sampled[1:], entropies, 0), atol=1e-4)
    assert np.abs(found[0].logprobs - found[1].logprobs).max() > 1e-2


def test_copies_with_other_old_log_probs_are_scored_alike(engine: LocalEngine) -> None:
    datum = sampled(engine, [1, 10], 3)
    one, other = score(engine, [datum, replace(datum, logprobs=datum.logprobs * 2)])
    assert one.logprobs.tolist() == pytest.approx(other.logprobs.tolist(), abs=1e-6)


def test_nothing_is_learned_and_nothing_is_needed(engine: LocalEngine) -> None:
    score(engine, [sampled(engine, [1, 10], 3)])
    assert all(parameter.grad is None for parameter in engine.model.parameters())
    assert score(engine, []) == []


def test_with_scores_as_old_log_probs_the_ratio_starts_at_one(engine: LocalEngine) -> None:
    """EMPO²'s printed off-policy ratio: what was sampled elsewhere is weighed by what the model says here."""
    data = [replace(datum, logprobs=datum.logprobs - datum.sampled) for datum in [sampled(engine, [1, 10], 3)]]
    before = asyncio.run(engine.forward_backward(data, LossConfig()))
    assert before["ratio_mean"] == pytest.approx(np.e, rel=1e-3)
    after = asyncio.run(engine.forward_backward(with_old_logprobs(data, score(engine, data)), LossConfig()))
    assert after["ratio_mean"] == pytest.approx(1, abs=1e-5)


def test_masked_tokens_count_in_the_mean_and_give_no_gradient(engine: LocalEngine) -> None:
    (datum,) = (replace(d, advantages=d.sampled.astype(np.float32)) for d in [sampled(engine, [1, 10], 3)])
    probabilities = np.sort(np.exp(datum.logprobs[datum.sampled]))
    middle = float(probabilities[1:3].mean())  # two of five are below it
    seen = asyncio.run(engine.forward_backward([datum], LossConfig(mask_below=middle)))
    assert seen["masked_share"] == pytest.approx(2 / 5)
    assert seen["loss"] == pytest.approx(-3 / 5, abs=1e-4)
    engine.model.zero_grad()
    seen = asyncio.run(engine.forward_backward([datum], LossConfig(mask_below=1.0)))
    assert (seen["masked_share"], seen["loss"]) == (1, 0)
    assert not any(parameter.grad.any() for parameter in engine.model.parameters())
    assert "masked_share" not in asyncio.run(engine.forward_backward([datum], LossConfig()))
