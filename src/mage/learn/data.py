"""Trials and their advantages as data to learn from: exact sampled tokens, masks and per-token coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from mage.engine.base import Datum, Floats, ValuePoints
from mage.learn.table import Ints, Mask, Reals
from mage.play.records import Trial, Turn


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


class StateValues(NamedTuple):
    """Values of the states that turns were taken in: one array per trial, one entry per turn."""

    old: Sequence[Reals]
    """Before the update."""
    target: Sequence[Reals]
    """What they are trained towards."""
    learned: Sequence[Mask]
    """Which of them are trained at all."""

    def of(self, cut: slice) -> StateValues:
        """Those of some of the trials."""
        return StateValues(self.old[cut], self.target[cut], self.learned[cut])


def training_data(
    trials: Sequence[Trial],
    advantages: Sequence[Reals],
    coefficients: Coefficients,
    values: StateValues | None = None,
    silent: Sequence[Mask] | None = None,
) -> TrainingData:
    """One datum for each context that holds sampled tokens, cut after the last of them.

    `advantages` has one array per trial with an entry per turn; each sampled token of a turn carries the turn's
    advantage, the coefficients of its phase, and its temperature where the turn has some. `values` make the states of
    turns that are to be learned value points. `silent` marks turns that the policy does not learn from, one array per
    trial: their tokens are sampled tokens like others (they count in means, their states are value points), but with
    advantage and coefficients 0. Order: trial by trial, context by context. The arrays of all data are views into
    shared flat arrays.
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
    if silent is not None:
        unheard = at[np.repeat(np.concatenate((*silent, np.zeros(0, np.bool_))), length)]
        advantage[unheard] = entropy[unheard] = kl[unheard] = 0

    temperature = _temperatures(turns, at, total)
    points = _value_points(start, context, length > 0, kept, values) if values else [None] * len(kept)

    data = []
    for first, end, states in zip(offsets[kept].tolist(), (offsets + ends)[kept].tolist(), points, strict=True):
        cut = slice(first, end)
        own = None if temperature is None else temperature[cut]
        data.append(Datum(tokens[cut], sampled[cut], logprobs[cut], advantage[cut], entropy[cut], kl[cut], own, states))
    owner = np.searchsorted(bounds, kept, side="right") - 1
    return TrainingData(data, list(map(Source, owner.tolist(), (kept - bounds[owner]).tolist())))


def by_turn(trials: Sequence[Trial], found: Sequence[Floats]) -> list[Reals]:
    """Values found for the states of `training_data`, as one array per trial with an entry per turn.

    A turn without tokens was no state of the data: its value is 0.
    """
    spoke = np.array([turn.stop > turn.start for trial in trials for turn in trial.turns], dtype=np.bool_)
    flat = np.zeros(len(spoke))
    flat[spoke] = np.concatenate((*found, np.zeros(0)))
    return np.split(flat, np.cumsum([len(trial.turns) for trial in trials])[:-1]) if trials else []


def _temperatures(turns: Sequence[Turn], at: Ints, total: int) -> Floats | None:
    """Of each token where turns have temperatures of their own, 0 elsewhere; None if no turn has."""
    if not any(turn.temperatures for turn in turns):
        return None
    temperature = np.zeros(total, dtype=np.float32)
    each = (turn.temperatures or (0.0,) * len(turn.logprobs) for turn in turns)
    temperature[at] = np.fromiter(chain.from_iterable(each), dtype=np.float32, count=len(at))
    return temperature


def _value_points(start: Ints, context: Ints, spoke: Mask, kept: Ints, values: StateValues) -> list[ValuePoints | None]:
    """The learned states of each kept context: those in which a turn with tokens was taken; None where none is."""
    asked = spoke & np.concatenate((*values.learned, np.zeros(0, np.bool_)))
    old, target = (
        np.concatenate((*each, np.zeros(0)))[asked].astype(np.float32) for each in (values.old, values.target)
    )
    begin, own = start[asked], context[asked]
    cuts = [slice(first, end) for first, end in pairwise([*np.searchsorted(own, kept).tolist(), len(own)])]
    return [ValuePoints(begin[cut], old[cut], target[cut]) if cut.start < cut.stop else None for cut in cuts]


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
