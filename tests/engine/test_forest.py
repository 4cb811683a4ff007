"""The forest spells every sequence, adds up its copies, and gives the gradient of the sequences alone."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mage.engine.base import Datum, LossConfig
from mage.engine.forest import Packed, pack
from mage.engine.local import LocalEngine

Build = Callable[..., LocalEngine]


def datum(tokens: list[int], seed: int, kl: bool = False) -> Datum:
    """Token i's log-probability is that of its beginning, as if one sampler had drawn all; half of them are read."""
    draws = np.random.default_rng(seed)
    sampled = draws.random(len(tokens)) < 0.5
    sampled[0], sampled[-1] = False, True
    old = np.array([-1 - len(set(tokens[: i + 1])) / 10 for i in range(len(tokens))], np.float32)

    def masked(values: np.ndarray) -> np.ndarray:
        return np.where(sampled, values, 0).astype(np.float32)

    size = len(tokens)
    return Datum(
        np.array(tokens), sampled, masked(old), masked(draws.normal(size=size)), masked(draws.random(size)),
        masked(np.full(size, 0.5 * kl)),
    )  # fmt: skip


sequences = st.lists(st.lists(st.integers(1, 3), min_size=2, max_size=9), min_size=1, max_size=12)


def beginnings(part: Packed) -> list[tuple[int, ...]]:
    """For each sampled token what its predictor has seen, read off the mask in the order of positions; and itself."""
    forest = part.forest
    width, found = forest.tokens.shape[1], []
    for place, target in zip(forest.predictor.tolist(), forest.targets.tolist(), strict=True):
        row, column = divmod(place, width)
        seen = forest.visible[row, 0, column].nonzero()[:, 0]
        positions = forest.positions[row, seen]
        assert sorted(positions.tolist()) == list(range(len(seen)))
        found.append((*forest.tokens[row, seen][positions.argsort()].tolist(), target))
    return found


@given(sequences, st.integers(4, 30), st.sampled_from([1, 20, 1000]))
def test_every_sampled_token_comes_after_its_own_beginning(lists: list[list[int]], width: int, budget: int) -> None:
    data = [datum(tokens, seed, kl=seed % 3 == 0) for seed, tokens in enumerate(lists)]
    expected: dict[tuple[int, ...], np.ndarray] = defaultdict(lambda: np.zeros(5))
    seen: dict[tuple[int, ...], np.ndarray] = defaultdict(lambda: np.zeros(5))
    for item in data:
        for i in np.flatnonzero(item.sampled):
            gain = item.advantages[i]
            expected[tuple(item.tokens[: i + 1].tolist())] += (
                max(gain, 0), min(gain, 0), item.entropy[i], item.kl[i], 1,
            )  # fmt: skip
    for part in pack(data, budget, width):
        rows, columns = part.forest.tokens.shape
        assert rows * columns <= budget or rows == 1
        assert columns <= max(width, max(map(len, lists)) - 1)
        batch = part.batch
        sums = torch.stack([batch.gain, batch.loss, batch.entropy, batch.kl, batch.copies], 1).numpy()
        for key, values, source in zip(beginnings(part), sums, part.source.tolist(), strict=True):
            seen[key] += values
            assert tuple(data[source].tokens[: len(key)].tolist()) == key
    assert seen.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(seen[key], values, atol=1e-5)


def test_shared_beginnings_are_there_once() -> None:
    data = [datum([1, 2, 3, 4], 0), datum([1, 2, 3, 5], 1), datum([1, 2, 6, 6], 2), datum([1, 2, 3, 4], 3)]
    (part,) = pack(data, 1000)
    assert part.forest.tokens.tolist() == [[1, 2, 3, 6]]  # the last token of each is predicted, never read
    assert part.forest.positions.tolist() == [[0, 1, 2, 2]]
    assert part.forest.visible[0, 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]


@pytest.mark.parametrize("budget", [300, 10_000])
def test_loss_and_gradient_are_those_of_the_sequences_alone(make_engine: Build, budget: int) -> None:
    engine = make_engine(max_tokens_per_batch=budget)
    engine.freeze_reference()
    with torch.no_grad():
        engine.model.lm_head.weight.mul_(1.5)  # the policy has moved: clipping and KL are at work
    draws = np.random.default_rng(0)
    stem = draws.integers(4, 20, 60).tolist()
    lists = [
        [*stem[: draws.integers(1, 60)], *draws.integers(4, 20, draws.integers(1, 30)).tolist()] for _ in range(12)
    ]
    data = [datum(tokens, seed, kl=seed % 3 == 0) for seed, tokens in enumerate([*lists, *lists[:3]])]
    assert sum(part.forest.tokens.shape[0] for part in pack(data, budget)) > 2

    def run(items: list[Datum]) -> tuple[float, list[torch.Tensor]]:
        """Loss and gradient, as sums over the sampled tokens."""
        engine.model.zero_grad()
        loss = asyncio.run(engine.forward_backward(items, LossConfig()))["loss"]
        count = sum(int(item.sampled.sum()) for item in items)
        return loss * count, [p.grad * count for p in engine.model.parameters()]

    loss, gradients = run(data)
    alone = [run([item]) for item in data]
    assert loss == pytest.approx(sum(each for each, _ in alone), rel=1e-4)
    for number, gradient in enumerate(gradients):
        torch.testing.assert_close(gradient, sum(each[number] for _, each in alone), rtol=1e-3, atol=1e-3)


def test_copies_that_were_sampled_at_other_probabilities_stay_apart() -> None:
    """A sampled token weighs by π/π_old: what one sampler found likelier is not the same datum."""

    def one(old: float, advantage: float) -> Datum:
        zeros = np.zeros(3, np.float32)
        last = np.array([0, 0, 1], np.float32)
        return Datum(np.array([1, 2, 3]), last > 0, old * last, advantage * last, zeros, zeros)

    (part,) = pack([one(-1.0, 2.0), one(-2.0, 3.0), one(-1.0, -4.0)], 1000)
    assert part.forest.predictor.tolist() == [1, 1]  # the node is one
    found = {
        old: (gain, loss)
        for old, gain, loss in zip(
            part.batch.old_logprobs.tolist(), part.batch.gain.tolist(), part.batch.loss.tolist(), strict=True
        )
    }
    assert found == {-1.0: (2.0, -4.0), -2.0: (3.0, 0.0)}
