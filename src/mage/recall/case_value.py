"""What a case is worth where one stands, learned from what came of showing it (Memento's parametric memory)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from mage.recall.embed import Vectors

Reals = npt.NDArray[np.float64]


class Pairs(NamedTuple):
    """States and cases that are, or could be, shown there."""

    states: Vectors
    """Embeddings of the states that episodes begin with: [n, d]."""
    case_states: Vectors
    """Embeddings of the states of the cases: [n, d]."""
    cases: Vectors
    """Embeddings of the cases' texts: [n, d]."""
    good: Reals
    """1 for a case with a positive reward, else 0: [n]."""

    @property
    def features(self) -> Reals:
        """φ(s, c): [n, 2 d + 2]."""
        rest = np.stack([self.good, np.ones_like(self.good)], axis=1)
        return np.concatenate([self.states * self.case_states, self.cases, rest], axis=1).astype(np.float64)


class CaseValue:
    """Q(s, c) = σ(w · φ(s, c)): the probability that an episode that begins in state s is won with case c in sight.

    φ(s, c) holds the products of the embeddings of s and of the case's state, dimension by dimension, the embedding of
    the case's text, whether the case was good, and 1. w minimises the cross-entropy −Σ [r log Q + (1 − r) log(1 − Q)]
    + ½ |w|². Source: Memento, arXiv 2508.16153, whose single-step Q has the same loss and a two-layer network in place
    of φ: here the minimum is unique, so that there is no seed and no schedule.
    """

    def __init__(self, shown: Pairs, rewards: Reals) -> None:
        """Fits what was shown and whether the episode was won (1) or not (0): [n]."""
        features = shown.features

        def loss(weights: Reals) -> tuple[float, Reals]:
            logits = features @ weights
            value = -(log_expit(logits) * rewards + log_expit(-logits) * (1 - rewards)).sum() + weights @ weights / 2
            return float(value), features.T @ (expit(logits) - rewards) + weights

        self._weights: Reals = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B").x

    def __call__(self, pairs: Pairs) -> Reals:
        """Q(s, c) of each pair: [n]."""
        values: Reals = expit(pairs.features @ self._weights)
        return values
