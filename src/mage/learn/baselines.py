"""Keyed statistics: what a return is compared with.

Turns are compared when they agree in phase (an action is never compared with a reflection) and in the chosen columns.
Without the column `anchor` a trajectory has one value under a key, that of its first turn there, so that long
trajectories do not weigh more (the textbook form). With it, every turn at the state has a value (GiGPO). A trajectory
is a trial, or, where returns keep episodes apart, an episode.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from mage.learn.returns import has_outcome
from mage.learn.table import Ints, Mask, Reals, TurnTable
from mage.recipe_values import BaselineKey


@dataclass(frozen=True, slots=True)
class Baseline:
    """Who is compared with whom, for K values (of turns, or of trials)."""

    key: Ints
    """[K] dense number; values with equal keys share their statistics."""
    trial: Ints
    """[K] the trial a value belongs to: leaving one out leaves out all of it."""
    counted: Mask
    """[K] whether the value enters counts and means (they are told to all values of the key)."""
    weight: Reals
    """[K] weight of the value in the standard deviation: a trajectory's values under a key have the weight of one."""


def keys(table: TurnTable, columns: Collection[BaselineKey]) -> Ints:
    """Dense number of each turn's phase and `columns`, [T].

    The anchor of a reflection is its episode: what it was shown differs from trial to trial, so that the remarks which
    a group's members write after the same episode are compared with each other.
    """
    code = table.reflects.astype(np.int64)
    for column in sorted(columns):
        code = _joined(code, _anchor(table) if column == "anchor" else getattr(table, column))
    return _dense(code)


def first_of_trajectory(key: Ints, trajectory: Ints, eligible: Mask) -> Mask:
    """Whether an entry is the first eligible one of its trajectory under its key, [K]."""
    at = np.flatnonzero(eligible)
    _, first = np.unique(_joined(key[at], trajectory[at]), return_index=True)
    mask = np.zeros(len(key), dtype=np.bool_)
    mask[at[first]] = True
    return mask


def turn_baseline(table: TurnTable, columns: Collection[BaselineKey], by_episode: bool = False) -> Baseline:
    """Compare turns that agree in phase and `columns`; turns without an outcome are left out of the statistics.

    With `by_episode` each episode of a trial is a trajectory of its own, else the whole trial is one.
    """
    key, eligible = keys(table, columns), has_outcome(table)
    if "anchor" in columns:
        return Baseline(key, table.trial, eligible, eligible.astype(np.float64))
    trajectory = _joined(table.trial, table.episode) if by_episode else table.trial
    own = _dense(_joined(key, trajectory))
    weight = eligible / np.maximum(np.bincount(own, eligible), 1)[own]
    return Baseline(key, table.trial, first_of_trajectory(key, trajectory, eligible), weight)


def trial_baseline(table: TurnTable, columns: Collection[BaselineKey], by_episode: bool = False) -> Baseline:
    """Compare trials that agree in `columns`, of which group, opponent and seat apply; one value per trial.

    With `by_episode` there is one value per trial and episode, and each episode is compared with its like.
    """
    trials = table.trials
    count, episodes = trials.rewards.shape
    code = np.zeros(count, dtype=np.int64)
    for column in sorted({"group", "opponent", "seat"} & set(columns)):
        code = _joined(code, getattr(trials, column))
    if not by_episode:
        counted = np.any(trials.played, axis=1)
        return Baseline(_dense(code), np.arange(count), counted, counted.astype(np.float64))
    key = _joined(np.repeat(code, episodes), np.tile(np.arange(episodes), count))
    counted = trials.played.ravel()
    return Baseline(_dense(key), np.repeat(np.arange(count), episodes), counted, counted.astype(np.float64))


def keyed_count(baseline: Baseline) -> Ints:
    """How many values of each entry's key are counted, [K]."""
    return np.bincount(baseline.key, baseline.counted)[baseline.key].astype(np.int64)


def keyed_mean(values: Reals, baseline: Baseline) -> Reals:
    """Mean of the counted values of each entry's key, [K]; 0 where none is counted.

    Values 1, 2, 6 with keys 0, 0, 1 give 1.5, 1.5, 6.
    """
    total = np.bincount(baseline.key, np.where(baseline.counted, values, 0.0))[baseline.key]
    return total / np.maximum(keyed_count(baseline), 1)


def keyed_std(values: Reals, baseline: Baseline) -> Reals:
    """Standard deviation around `keyed_mean` of the weighted values of each entry's key, [K]; 0 where there are none.

    Of the population: √(Σ w (G − mean)² / Σ w). Where all turns of a trajectory have one return, as they have without
    step discount and penalties, this is the standard deviation of one value per trajectory. Turns after the first are
    in it so that a penalty late in a group of equal outcomes is not divided by zero.
    """
    squares = baseline.weight * (values - keyed_mean(values, baseline)) ** 2
    total, weight = np.bincount(baseline.key, squares), np.bincount(baseline.key, baseline.weight)
    return np.sqrt(total / np.where(weight > 0, weight, 1.0))[baseline.key]


def keyed_leave_one_out(values: Reals, baseline: Baseline) -> tuple[Reals, Ints]:
    """Mean of the counted values of the key over all *other* trials, [K], and how many those values are, [K].

    The mean is 0 where there are none. Values 1, 2, 6 of three trials with one key give 4, 3.5, 1.5.
    """
    own = _dense(_joined(baseline.key, baseline.trial))
    counted, amount = baseline.counted.astype(np.float64), np.where(baseline.counted, values, 0.0)
    others = np.bincount(baseline.key, counted)[baseline.key] - np.bincount(own, counted)[own]
    total = np.bincount(baseline.key, amount)[baseline.key] - np.bincount(own, amount)[own]
    return np.where(others > 0, total, 0.0) / np.maximum(others, 1), others.astype(np.int64)


def _anchor(table: TurnTable) -> Ints:
    return np.where(table.reflects, table.episode, table.anchor)  # phases are apart: the two numberings never meet


def _joined(code: Ints, column: Ints) -> Ints:
    return code * (int(column.max(initial=0)) + 1) + column


def _dense(code: Ints) -> Ints:
    return np.unique(code, return_inverse=True)[1].astype(np.int64)
