"""Rewards for what was not seen before, by random network distillation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mage.explore.arrays import Arrays, read, write
from mage.explore.novelty import FILE, states
from mage.learn.table import Reals
from mage.play.records import Trial
from mage.recall.embed import HashedNgrams, Vectors

INPUTS, HIDDEN, OUTPUTS = 512, 64, 32
RATE = 0.01
"""Of stochastic gradient descent: a state that is a whole minibatch loses about half of its error in a step."""
BATCH = 64


class Distillation:
    """Reward weight · ‖f(s) − g(s)‖² / σ: how badly a network g, trained on what was seen, predicts a random one f.

    Source: Burda et al. 2018, arXiv 1810.12894. States are word n-grams (hashed, unit vectors); f and g have one hidden
    layer of rectifiers. σ is the standard deviation of all errors so far (and of one 0, so that it never starts at 0).
    The states of a call get their rewards before any of them is learned from, in minibatches in their order. Nothing
    grows: what is known is in the weights.
    """

    def __init__(self, weight: float = 1.0, seed: int = 0) -> None:
        self._weight = weight
        self._embedder = HashedNgrams(INPUTS)
        draws = np.random.default_rng(seed)
        self._target, self._predictor = _Network.drawn(draws), _Network.drawn(draws)
        self._moments = np.array([1.0, 0.0, 0.0])  # how many errors, their mean, sum of squares around it

    def rewards(self, trials: Sequence[Trial]) -> list[Reals]:
        """See `mage.explore.novelty.Novelty`."""
        texts = [states(trial) for trial in trials]
        vectors = self._vectors([state for each in texts for state in each if state is not None])
        errors = ((self._predictor(vectors) - self._target(vectors)) ** 2).mean(axis=1, dtype=np.float64)
        self._moments = _merged(self._moments, errors)
        spread = math.sqrt(self._moments[2] / self._moments[0]) or 1.0
        for start in range(0, len(vectors), BATCH):
            batch = vectors[start : start + BATCH]
            self._predictor.descend(batch, self._target(batch), RATE)
        paid = iter((self._weight * errors / spread).tolist())
        return [np.array([0.0 if state is None else next(paid) for state in each]) for each in texts]

    def _vectors(self, seen: Sequence[str]) -> Vectors:
        """[n, INPUTS]; each text is embedded once."""
        unique = {state: number for number, state in enumerate(dict.fromkeys(seen))}
        return self._embedder.embed(list(unique))[[unique[state] for state in seen]]

    def save(self, folder: Path) -> None:
        """See `mage.explore.novelty.Novelty`."""
        write(folder / FILE, self._arrays())

    def load(self, folder: Path) -> None:
        """See `mage.explore.novelty.Novelty`."""
        found = read(folder / FILE, self._arrays())
        self._target = _Network(found["target.first"], found["target.second"])
        self._predictor = _Network(found["predictor.first"], found["predictor.second"])
        self._moments = found["moments"]

    def _arrays(self) -> Arrays:
        return {
            "target.first": self._target.first,
            "target.second": self._target.second,
            "predictor.first": self._predictor.first,
            "predictor.second": self._predictor.second,
            "moments": self._moments,
        }


class _Network:
    """x ↦ relu(x · first) · second."""

    def __init__(self, first: Vectors, second: Vectors) -> None:
        self.first, self.second = first, second

    @classmethod
    def drawn(cls, draws: np.random.Generator) -> _Network:
        """Outputs have variance 1 at a unit vector."""
        second = draws.standard_normal((HIDDEN, OUTPUTS)) * math.sqrt(2 / HIDDEN)
        return cls(draws.standard_normal((INPUTS, HIDDEN)).astype(np.float32), second.astype(np.float32))

    def __call__(self, x: Vectors) -> Vectors:
        """[n, OUTPUTS]."""
        outputs: Vectors = np.maximum(x @ self.first, 0) @ self.second
        return outputs

    def descend(self, x: Vectors, wanted: Vectors, rate: float) -> None:
        """One step down the gradient of the mean over x of ½‖output − wanted‖²."""
        hidden = np.maximum(x @ self.first, 0)
        back = (hidden @ self.second - wanted) / len(x)
        into = (back @ self.second.T) * (hidden > 0)
        self.second = self.second - rate * hidden.T @ back
        self.first = self.first - rate * x.T @ into


def _merged(moments: Reals, values: Reals) -> Reals:
    """Moments (count, mean, sum of squares around it) with more values taken in (Chan et al. 1979)."""
    if not len(values):
        return moments
    count, mean, squares = moments.tolist()
    more, gap = len(values), float(values.mean()) - mean
    total = count + more
    own = float(((values - values.mean()) ** 2).sum())
    return np.array([total, mean + gap * more / total, squares + own + gap**2 * count * more / total])
