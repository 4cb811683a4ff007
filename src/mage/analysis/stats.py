"""Statistics of sampled evaluations: means with their intervals, paired comparison, probability of improvement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from mage.errors import MageError

Values = Sequence[float] | npt.NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate and its confidence interval."""

    mean: float
    low: float
    high: float


def interval(values: Values, level: float = 0.95) -> Interval:
    """Mean of independent values and its interval by Student's t: mean ± t_{n-1} · s / √n (Student 1908).

    One value alone says nothing about its spread: the interval is infinite. Trials of one group share their task and
    are not independent: give the groups' means. Raises MageError if there are no values.

    >>> interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484..., high=4.484...)
    """
    array = _checked(values)
    mean = float(array.mean())
    if len(array) == 1:
        return Interval(mean, -math.inf, math.inf)
    half = float(stdtrit(len(array) - 1, 0.5 + level / 2)) * float(array.std(ddof=1)) / math.sqrt(len(array))
    return Interval(mean, mean - half, mean + half)


def paired(values: Values, others: Values, level: float = 0.95) -> Interval:
    """Mean difference `values` - `others` of the same tasks, with its Student interval.

    Pairs share their deal and opponent, so what both have in common cancels. Raises MageError if lengths differ.

    >>> paired([1.0, 2.0], [0.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    first, second = _checked(values), _checked(others)
    if len(first) != len(second):
        raise MageError(f"paired comparison of {len(first)} and {len(second)} values: they must be of the same tasks")
    return interval(first - second, level)


def probability_of_improvement(values: Values, others: Values) -> float:
    """Chance that one of `values` beats one of `others`, a tie counting half: P(X > Y) + P(X = Y)/2.

    The Mann-Whitney statistic divided by its maximum (Agarwal et al. 2021, over runs).

    >>> probability_of_improvement([2.0, 3.0], [1.0, 2.0])
    0.875
    """
    first, second = _checked(values)[:, None], _checked(others)[None, :]
    return float(((first > second) + 0.5 * (first == second)).mean())


def _checked(values: Values) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        raise MageError("statistics of no values: at least one trial is needed")
    return array
