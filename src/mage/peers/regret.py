"""What choices cost beside the best ones, and how fast that grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mage.errors import MageError

Floats = npt.NDArray[np.float64]
START = 20
"""First round of a fit of growth, so that the first asks of all peers do not decide it."""


def regrets(expected: Floats, chosen: Sequence[int]) -> Floats:
    """max_a r(a) − r(a_t) in each round, (rounds,).

    Args:
        expected: (rounds, peers), r: expected reward of each peer in the state of that round.
        chosen: (rounds,), whom was asked.

    >>> regrets(np.array([[0.2, 0.9], [0.5, 0.25]]), [0, 1]).tolist()
    [0.7, 0.25]
    """
    rounds = np.arange(len(expected))
    return np.asarray(expected.max(axis=1) - expected[rounds, np.asarray(chosen, dtype=np.int64)])


def growth_exponent(cumulative: Floats, start: int = START) -> float:
    """Slope of log R(t) on log t by least squares over rounds t = `start`, …, T: R(t) ≈ c·t^p, sublinear if p < 1.

    Args:
        cumulative: (rounds,), R after each round, positive from round `start` on.
        start: First round (from 1) of the fit.

    Raises MageError where there are fewer than two rounds to fit, or no regret to speak of.

    >>> round(growth_exponent(np.sqrt(np.arange(1.0, 401.0))), 6)
    0.5
    """
    rounds = np.arange(start, len(cumulative) + 1)
    values = cumulative[start - 1 :]
    if len(rounds) < 2 or (values <= 0).any():
        raise MageError(f"growth of regret over rounds {start} to {len(cumulative)}: expected 2 or more, each above 0")
    return float(np.polyfit(np.log(rounds), np.log(values), 1)[0])
