"""Trials and their advantages as data to learn from: exact sampled tokens, masks and per-token coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from mage.engine.base import Datum
from mage.learn.table import Ints, Reals
from mage.play.records import Trial


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Per-token coefficients of the loss beside the advantage, by phase."""

    entropy_action: float = 0.0
    entropy_remark: float = 0.0
    kl_action: float = 0.0
    kl_remark: float = 0.0


class Source(NamedTuple):
    """Where a datum came from."""

    trial: int
    """Index into the trials given."""
    context: int
    """Index into that trial's contexts."""


class TrainingData(NamedTuple):
    """Data to learn from, and where each datum came from."""

    data: list[Datum]
    sources: list[Source]


def training_data(trials: Sequence[Trial], advantages: Sequence[Reals], coefficients: Coefficients) -> TrainingData:
    """One datum for each context that holds sampled tokens, cut after the last of them.

    `advantages` has one array per trial with an entry per turn; each sampled token of a turn carries the turn's
    advantage and the coefficients of its phase. Order: trial by trial, context by context. The arrays of all data are
    views into shared flat arrays.
    """
    turns = [turn for trial in trials for turn in trial.turns]
    start = np.array([turn.start for turn in turns], dtype=np.int64)
    length = np.array([turn.stop for turn in turns], dtype=np.int64) - start
    context = _flat_contexts(trials)
    bounds = np.cumsum([0, *(len(trial.contexts) for trial in trials)])
    ends = np.zeros(bounds[-1], dtype=np.int64)
    np.maximum.at(ends, context[length > 0], (start + length)[length > 0])

    everything = list(chain.from_iterable(trial.contexts for trial in trials))
    kept = np.flatnonzero(ends)
    offsets = np.cumsum(ends) - ends
    total = int(ends.sum())
    pieces = [everything[at][:end] for at, end in zip(kept.tolist(), ends[kept].tolist(), strict=True)]
    tokens = np.fromiter(chain.from_iterable(pieces), dtype=np.int64, count=total)

    at = _spans(offsets[context] + start, length)
    sampled = np.zeros(total, dtype=np.bool_)
    sampled[at] = True
    logprobs, advantage, entropy, kl = (np.zeros(total, dtype=np.float32) for _ in range(4))
    logprobs[at] = np.fromiter(chain.from_iterable([turn.logprobs for turn in turns]), dtype=np.float32, count=len(at))
    advantage[at] = np.repeat(np.concatenate((*advantages, np.zeros(0))), length)
    reflects = np.repeat(np.array([turn.phase == "reflect" for turn in turns], dtype=np.bool_), length)
    entropy[at] = np.where(reflects, coefficients.entropy_remark, coefficients.entropy_action)
    kl[at] = np.where(reflects, coefficients.kl_remark, coefficients.kl_action)

    data = []
    for first, end in zip(offsets[kept].tolist(), (offsets + ends)[kept].tolist(), strict=True):
        cut = slice(first, end)
        data.append(Datum(tokens[cut], sampled[cut], logprobs[cut], advantage[cut], entropy[cut], kl[cut]))
    owner = np.searchsorted(bounds, kept, side="right") - 1
    return TrainingData(data, list(map(Source, owner.tolist(), (kept - bounds[owner]).tolist())))


def _flat_contexts(trials: Sequence[Trial]) -> Ints:
    """Number of each turn's context when the contexts of all trials stand in one row."""
    first, flat = 0, []
    for trial in trials:
        flat.extend([first + turn.context for turn in trial.turns])
        first += len(trial.contexts)
    return np.array(flat, dtype=np.int64)


def _spans(start: Ints, length: Ints) -> Ints:
    """All positions start, start + 1, ... of each span, one span after the other.

    >>> _spans(np.array([2, 7]), np.array([3, 1])).tolist()
    [2, 3, 4, 7]
    """
    before = np.cumsum(length) - length
    return np.repeat(start - before, length) + np.arange(int(length.sum()))
