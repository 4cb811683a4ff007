from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import torch

from mage.engine.base import Sample, SamplingParams
from mage.engine.local import LocalEngine
from mage.errors import EngineError

Build = Callable[..., LocalEngine]


def sample_all(engine: LocalEngine, prompts: list[list[int]], **options: float) -> list[Sample]:
    params = SamplingParams(max_tokens=6, stop=("</action>",), **options)

    async def everybody() -> list[Sample]:
        return await asyncio.gather(*(engine.sample(p, params, seed=i) for i, p in enumerate(prompts)))

    return asyncio.run(everybody())


def reference_logprobs(engine: LocalEngine, prompt: list[int], sample: Sample) -> list[float]:
    """Log-probs of a response by plain Transformers, the whole sequence at once."""
    tokens = torch.tensor([[*prompt, *sample.tokens]])
    with torch.no_grad():
        rows = engine.model(tokens).logits[0].log_softmax(-1)
    return [float(rows[len(prompt) + i - 1, token]) for i, token in enumerate(sample.tokens)]


PROMPTS = [[1, 10, 11, 12], [1, 10, 11], [1, 10, 13, 14, 15, 16], [1, 10, 11, 12], [1, 20], [1]]


@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
def test_logprobs_are_those_of_transformers(make_engine: Build, architecture: str) -> None:
    engine = make_engine(architecture)
    for prompt, sample in zip(PROMPTS, sample_all(engine, PROMPTS), strict=True):
        assert sample.logprobs == pytest.approx(reference_logprobs(engine, prompt, sample), abs=1e-4)


def test_a_response_does_not_depend_on_its_company(make_engine: Build) -> None:
    together = sample_all(make_engine(), PROMPTS)

    async def alone(index: int) -> Sample:
        params = SamplingParams(max_tokens=6, stop=("</action>",))
        return await make_engine().sample(PROMPTS[index], params, seed=index)

    for index, sample in enumerate(together):
        assert asyncio.run(alone(index)).tokens == sample.tokens


def test_the_next_turn_computes_only_what_is_new(engine: LocalEngine) -> None:
    first = sample_all(engine, [PROMPTS[2]])[0]
    before = engine.computed_tokens
    prompt = [*PROMPTS[2], *first.tokens, 21, 22]
    (second,) = sample_all(engine, [prompt])
    # the last sampled token was never fed, two tokens are new, and all sampled ones but the last of the response
    assert engine.computed_tokens - before == 1 + 2 + len(second.tokens) - 1
    assert second.logprobs == pytest.approx(reference_logprobs(engine, prompt, second), abs=1e-4)


def test_a_prompt_inside_a_known_prefix_is_read_out(engine: LocalEngine) -> None:
    sample_all(engine, [[1, 10, 11, 12, 13]])
    (sample,) = sample_all(engine, [[1, 10, 11]])
    assert sample.logprobs == pytest.approx(reference_logprobs(engine, [1, 10, 11], sample), abs=1e-4)


def test_members_of_a_group_share_their_prompt(engine: LocalEngine) -> None:
    sample_all(engine, [[1, 10, 11, 12]] * 8)
    assert engine.computed_tokens < 4 + 8 * 6
    assert engine.requested_tokens > engine.computed_tokens


def test_requests_join_while_others_are_under_way(engine: LocalEngine) -> None:
    async def play() -> list[Sample]:
        long = asyncio.ensure_future(engine.sample([1, 10], SamplingParams(max_tokens=20), seed=1))
        short = [await engine.sample([1, 10, n], SamplingParams(max_tokens=2), seed=n) for n in (11, 12, 13)]
        assert not long.done()
        return [await long, *short]

    samples = asyncio.run(play())
    assert [len(sample.tokens) for sample in samples] == [20, 2, 2, 2]
    assert samples[0].stop == "length"


def test_stop_string_ends_the_response_and_stays_in_it(engine: LocalEngine) -> None:
    stop = engine.tokenizer.convert_tokens_to_ids("</action>")
    with torch.no_grad():
        engine.model.lm_head.weight[stop] *= 30  # makes the tag the mode or the least likely: try both signs
    results = []
    for _ in range(2):
        results += sample_all(engine, [[1, 10, n] for n in range(10, 25)])
        with torch.no_grad():
            engine.model.lm_head.weight[stop] *= -1
        engine._batcher.forget()
    stopped = [sample for sample in results if sample.stop == "stop"]
    assert stopped
    assert all(sample.tokens[-1] == stop and sample.text.endswith("</action>") for sample in stopped)


def test_spelled_stop_strings_are_found_in_the_text(engine: LocalEngine) -> None:
    first = sample_all(engine, [[1, 10]], temperature=0)[0]
    wanted = engine.tokenizer.decode(first.tokens[2:4])

    async def again() -> Sample:
        return await engine.sample([1, 10], SamplingParams(max_tokens=6, temperature=0, stop=(wanted,)), seed=0)

    sample = asyncio.run(again())
    assert sample.stop == "stop"
    assert sample.tokens == first.tokens[: len(sample.tokens)]
    assert len(sample.tokens) <= 4


def test_empty_prompt_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(EngineError, match="empty prompt"):
        sample_all(engine, [[]])


def test_a_cancelled_request_does_not_hold_up_others(engine: LocalEngine) -> None:
    async def play() -> Sample:
        doomed = asyncio.ensure_future(engine.sample([1, 10], SamplingParams(max_tokens=300), seed=1))
        await asyncio.sleep(0)
        doomed.cancel()
        return await engine.sample([1, 11], SamplingParams(max_tokens=3), seed=2)

    assert len(asyncio.run(play()).tokens) == 3


def test_weights_may_not_change_under_a_response(engine: LocalEngine) -> None:
    async def play() -> None:
        waiting = asyncio.ensure_future(engine.sample([1, 10], SamplingParams(max_tokens=3), seed=1))
        await asyncio.sleep(0)
        with pytest.raises(EngineError, match="being sampled"):
            engine._batcher.forget()
        await waiting

    asyncio.run(play())


@pytest.mark.parametrize("when", ["new prompts", "under way"])
def test_a_failing_forward_pass_reaches_everybody(engine: LocalEngine, when: str) -> None:
    batcher = engine._batcher
    compute, calls = batcher._compute, []

    def failing(requests: list[object]) -> None:
        calls.append(requests)
        if requests and (when == "new prompts" or len(calls) > 2):
            raise RuntimeError("out of memory")
        compute(requests)

    batcher._compute = failing

    async def play() -> list[object]:
        waiting = [engine.sample([1, 10 + n], SamplingParams(max_tokens=9), seed=n) for n in range(3)]
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), timeout=5)

    results = asyncio.run(play())
    assert [str(result) for result in results] == ["out of memory"] * 3
    batcher._compute = compute
    assert len(sample_all(engine, [[1, 10]])[0].tokens) > 0  # and the engine goes on


def test_a_request_cancelled_before_its_first_step(engine: LocalEngine) -> None:
    async def play() -> Sample:
        doomed = asyncio.ensure_future(engine.sample([1, 10], SamplingParams(max_tokens=1), seed=1))
        other = asyncio.ensure_future(engine.sample([1, 11], SamplingParams(max_tokens=1), seed=2))
        await asyncio.sleep(0)
        doomed.cancel()
        return await asyncio.wait_for(other, timeout=5)

    assert len(asyncio.run(play()).tokens) == 1
