"""Beliefs over hidden types: which can be held after an episode, and what each is worth. The rows of exact limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mage.analysis.tree import Floats, InformationTree, Ints

DIGITS = 12
"""Beliefs that agree to so many decimals are one."""
CHUNK = 4_000_000
"""Numbers of an intermediate array at most."""


def after_episode(reach: Floats, beliefs: Floats, most: int) -> tuple[Floats, Ints]:
    """Beliefs that can be held an episode later, and (ends, beliefs) which of them: 0 where it cannot be seen.

    Stops early when there are more than `most`.
    """
    found: dict[bytes, int] = {}
    rows: list[Floats] = []
    links = np.zeros((len(reach), len(beliefs)), dtype=np.intp)
    for part in _chunks(len(beliefs), reach.size):
        after = reach[:, None, :] * beliefs[None, part, :]
        mass = after.sum(axis=2)
        possible = mass > 0
        posterior = after[possible] / mass[possible][:, None]
        _, first, inverse = np.unique(_keys(posterior), return_index=True, return_inverse=True)
        index = np.empty(len(first), dtype=np.intp)
        for place, row in enumerate(first):
            key = np.round(posterior[row], DIGITS).tobytes()
            index[place] = found.setdefault(key, len(found))
            if index[place] == len(rows):
                rows.append(posterior[row])
        links[:, part][possible] = index[inverse]
        if len(rows) > most:
            break
    return np.array(rows), links


def _keys(rows: Floats) -> npt.NDArray[np.void]:
    """One sortable key for each row, equal where rows agree to `DIGITS` decimals."""
    rounded = np.ascontiguousarray(np.round(rows, DIGITS))
    return rounded.view(np.dtype((np.void, rounded.itemsize * rounded.shape[1]))).ravel()


def best_values(tree: InformationTree, beliefs: Floats, follow: tuple[Ints, Floats] | None) -> Floats:
    """V of each belief: of the last episode, or with (links, values of the beliefs that follow)."""
    values = np.empty(len(beliefs))
    for part in _chunks(len(beliefs), len(tree.reach)):
        rows = beliefs[part].T
        ends = tree.payoff @ rows if follow is None else (tree.reach @ rows) * follow[1][follow[0][:, part]]
        values[part] = tree.best(ends)
    return values


def _chunks(count: int, each: int) -> Iterator[slice]:
    step = max(1, CHUNK // each)
    return (slice(start, start + step) for start in range(0, count, step))
