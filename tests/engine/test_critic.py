"""The value head: read where it is asked, trained towards its targets, saved with the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mage.engine.base import AdamParams, Datum, LossConfig, ValuePoints
from mage.engine.local import LocalEngine
from mage.engine.loss import value_loss
from mage.errors import EngineError

Build = Callable[..., LocalEngine]
ONLY_VALUES = LossConfig(value_weight=1.0, value_clip=100.0)


def states(at: list[int], target: list[float], old: float = 0.0) -> ValuePoints:
    return ValuePoints(np.array(at), np.full(len(at), old, np.float32), np.array(target, np.float32))


def sequence(tokens: list[int], points: ValuePoints) -> Datum:
    zeros = np.zeros(len(tokens), np.float32)
    return Datum(np.array(tokens), np.arange(len(tokens)) > 1, zeros, zeros, zeros, zeros, values=points)


def data() -> list[Datum]:
    """Two sequences that part after their second token; the state before index 2 is the same in both."""
    return [
        sequence([1, 4, 5, 6, 7], states([2, 4], [1.0, -1.0])),
        sequence([1, 4, 9, 8], states([2], [1.0])),
    ]


def learn(engine: LocalEngine, steps: int, loss: LossConfig = ONLY_VALUES) -> list[float]:
    seen = []
    for _ in range(steps):
        seen.append(asyncio.run(engine.forward_backward(data(), loss))["value_loss"])
        asyncio.run(engine.optim_step(AdamParams(lr=0.02)))
    return seen


def test_value_loss_by_hand() -> None:
    # V = 0.5, from 0, towards 1, clip 0.2: the clipped value 0.2 is further away: ½·0.8²; without: ½·0.5²
    one = torch.tensor([1.0])
    assert float(value_loss(0.5 * one, 0 * one, one, 0.2)) == pytest.approx(0.32)
    assert float(value_loss(0.5 * one, 0 * one, one, 1.0)) == pytest.approx(0.125)


def test_values_are_zero_at_first_and_reach_their_targets(make_engine: Build) -> None:
    engine = make_engine(critic=True)
    assert [found.tolist() for found in asyncio.run(engine.values(data()))] == [[0, 0], [0]]
    seen = learn(engine, 60)
    assert seen[0] == pytest.approx(0.5)  # ½·1² at each of the three
    assert seen[-1] < 0.01
    (first, last), (same,) = (found.tolist() for found in asyncio.run(engine.values(data())))
    assert first == pytest.approx(same, abs=1e-6)  # the same state
    assert (first, last) == pytest.approx((1, -1), abs=0.2)


def test_values_do_not_depend_on_micro_batches(make_engine: Build) -> None:
    engine = make_engine(critic=True)
    learn(engine, 3)
    whole = asyncio.run(engine.values(data()))
    engine._trainer._budget = 1
    for a, b in zip(asyncio.run(engine.values(data())), whole, strict=True):
        assert a == pytest.approx(b, abs=1e-6)


def test_without_weight_the_head_stays(make_engine: Build) -> None:
    engine = make_engine(critic=True)
    learn(engine, 2, replace(ONLY_VALUES, value_weight=0.0))
    assert [found.tolist() for found in asyncio.run(engine.values(data()))] == [[0, 0], [0]]


def test_an_engine_without_a_critic_says_so(make_engine: Build) -> None:
    with pytest.raises(EngineError, match="without a critic"):
        asyncio.run(make_engine().values(data()))


def test_the_head_is_saved(make_engine: Build, tmp_path: Path) -> None:
    engine, other = make_engine(critic=True), make_engine(critic=True)
    learn(engine, 5)
    engine.save_state(tmp_path)
    other.load_state(tmp_path)
    learn(engine, 3)
    learn(other, 3)
    for a, b in zip(asyncio.run(engine.values(data())), asyncio.run(other.values(data())), strict=True):
        assert a.tolist() == b.tolist()
