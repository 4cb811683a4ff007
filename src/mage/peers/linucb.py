"""Disjoint LinUCB: for each arm a ridge regression of reward on features, and a bonus for what it has not seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mage.chance import derive
from mage.errors import MageError

Floats = npt.NDArray[np.float64]


def upper_bounds(inverse: Floats, sums: Floats, features: Floats, alpha: float) -> Floats:
    """θ̂ₐᵀxₐ + α √(xₐᵀ Aₐ⁻¹ xₐ) with θ̂ₐ = Aₐ⁻¹ bₐ, for each arm (Li et al. 2010, algorithm 1).

    Args:
        inverse: (arms, size, size), Aₐ⁻¹.
        sums: (arms, size), bₐ = Σ r·x.
        features: (arms, size), xₐ.
        alpha: Weight of the bonus; 0 leaves the prediction.

    Returns:
        (arms,)
    """
    reach = np.einsum("aij,aj->ai", inverse, features)  # Aₐ⁻¹ xₐ; as A is symmetric, θ̂ₐᵀxₐ = bₐᵀ Aₐ⁻¹ xₐ
    spread = np.maximum(np.einsum("ai,ai->a", reach, features), 0.0)
    return np.asarray(np.einsum("ai,ai->a", reach, sums) + alpha * np.sqrt(spread))


def with_outer(inverse: Floats, x: Floats) -> Floats:
    """(A + xxᵀ)⁻¹ from A⁻¹: A⁻¹ − A⁻¹x xᵀA⁻¹ / (1 + xᵀA⁻¹x) (Sherman and Morrison 1950).

    Args:
        inverse: (size, size), symmetric and positive definite.
        x: (size,)
    """
    reach = inverse @ x
    return np.asarray(inverse - np.outer(reach, reach) / (1.0 + x @ reach))


def pick_best(values: Floats, generator: np.random.Generator) -> int:
    """Index of the largest value; equal ones (up to rounding) are drawn with equal chances."""
    best = np.flatnonzero(values >= values.max() - 1e-12)
    return int(best[0] if len(best) == 1 else generator.choice(best))


class LinUCB:
    """The statistics of all arms: A⁻¹ (A = λI at first, then + xxᵀ) and b (+ r·x), which are all it remembers."""

    def __init__(self, arms: int, size: int, *, alpha: float, ridge: float, seed: int) -> None:
        """Start without experience. Raises MageError for fewer than two arms, α < 0 or λ ≤ 0."""
        if arms < 2:
            raise MageError(f"LinUCB over {arms} arm(s): there is nothing to choose with fewer than 2 peers")
        if not 0 <= alpha < float("inf"):
            raise MageError(f"alpha = {alpha}: expected a number of at least 0, the weight of the bonus")
        if not 0 < ridge < float("inf"):
            raise MageError(f"ridge = {ridge}: expected a number above 0, λ of A = λI")
        self.alpha, self.ridge = alpha, ridge
        self.inverse: Floats = np.tile(np.eye(size) / ridge, (arms, 1, 1))
        self.sums: Floats = np.zeros((arms, size))
        self._generator = np.random.default_rng(derive(seed, "linucb"))

    def choose(self, features: Floats, *, explore: bool) -> int:
        """The arm with the largest upper bound, or with the largest prediction if not `explore`.

        Args:
            features: (arms, size)
            explore: Whether the bonus counts.
        """
        bounds = upper_bounds(self.inverse, self.sums, features, self.alpha if explore else 0.0)
        return pick_best(bounds, self._generator)

    def learn(self, arm: int, x: Floats, reward: float) -> None:
        """Take in that `arm` with features `x` (size,) brought `reward`."""
        self.inverse[arm] = with_outer(self.inverse[arm], x)
        self.sums[arm] += reward * x

    def weights(self) -> Floats:
        """(arms, size), θ̂ₐ = Aₐ⁻¹ bₐ."""
        return np.asarray(np.einsum("aij,aj->ai", self.inverse, self.sums))
