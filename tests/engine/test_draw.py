from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine.base import SamplingParams
from mage.engine.draw import draw, log_softmax, uniforms

ROW = np.log(np.array([[0.1, 0.2, 0.3, 0.4]], np.float32))


def test_uniforms_depend_on_seed_and_step_only() -> None:
    seeds, steps = np.array([1, 2, 1], np.uint64), np.array([0, 0, 5], np.uint64)
    together = uniforms(seeds, steps)
    alone = [uniforms(seeds[i : i + 1], steps[i : i + 1])[0] for i in range(3)]
    assert together.tolist() == alone
    assert len(set(alone)) == 3


def test_uniforms_are_uniform() -> None:
    values = uniforms(np.arange(20_000, dtype=np.uint64), np.zeros(20_000, np.uint64))
    assert values.min() >= 0
    assert values.max() < 1
    counts, _ = np.histogram(values, bins=10, range=(0, 1))
    assert abs(counts - 2000).max() < 200  # 4.7 standard deviations


@pytest.mark.parametrize(("u", "token"), [(0.0, 0), (0.0999, 0), (0.1001, 1), (0.2999, 1), (0.5999, 2), (0.999, 3)])
def test_draw_inverts_the_cumulative_distribution(u: float, token: int) -> None:
    tokens, logprobs = draw(ROW, np.array([u]), [SamplingParams(1)])
    assert tokens.tolist() == [token]
    assert logprobs[0] == pytest.approx(ROW[0, token])


def test_temperature_sharpens_and_is_in_the_logprob() -> None:
    # at temperature 1/2 weights are squared: 1, 4, 9, 16 of 30
    tokens, logprobs = draw(ROW, np.array([0.5]), [SamplingParams(1, temperature=0.5)])
    assert tokens.tolist() == [3]
    assert logprobs[0] == pytest.approx(np.log(16 / 30), abs=1e-6)


def test_greedy_takes_the_mode_beside_sampled_requests() -> None:
    rows = np.repeat(ROW, 2, axis=0)
    tokens, logprobs = draw(rows, np.array([0.0, 0.0]), [SamplingParams(1, temperature=0), SamplingParams(1)])
    assert tokens.tolist() == [3, 0]
    assert logprobs[0] == pytest.approx(np.log(0.4))


def test_top_k_and_top_p_leave_out_the_tail() -> None:
    for params in (SamplingParams(1, top_k=2), SamplingParams(1, top_p=0.6)):
        drawn = {int(draw(ROW, np.array([u]), [params])[0][0]) for u in np.linspace(0, 0.999, 50)}
        assert drawn == {2, 3}


@given(st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=8), st.floats(0, 1, exclude_max=True))
def test_draw_never_takes_what_is_impossible(logits: list[float], u: float) -> None:
    row = log_softmax(np.array([[*logits, -np.inf]], np.float32))
    tokens, logprobs = draw(row, np.array([u]), [SamplingParams(1)])
    assert tokens[0] < len(logits)
    assert np.isfinite(logprobs[0])
