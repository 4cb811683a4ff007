"""Trial records as flat arrays: the only form in which credit is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from mage.play.records import Trial

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TrialTable:
    """What is known once per trial or once per episode of M trials of at most N episodes."""

    group: Ints
    """[M] dense number of the task."""
    opponent: Ints
    """[M] dense number of the opponent's name."""
    seat: Ints
    """[M] the agent's seat."""
    rewards: Reals
    """[M, N] return of each episode in scaled game units; 0 where it was not played to its end."""
    played: Mask
    """[M, N] whether the episode has an outcome: a trial may stop early."""

    def __len__(self) -> int:
        return len(self.group)

    @property
    def columns(self) -> int:
        """N: episodes of the longest task."""
        return int(self.rewards.shape[1])


@dataclass(frozen=True, slots=True)
class TurnTable:
    """All T turns of many trials, trial after trial, each in the order it was played. Every array has length T."""

    trials: TrialTable
    trial: Ints
    """Row in `trials`."""
    episode: Ints
    """Episode of the turn, from 0; a reflection has the episode that it looks back on."""
    reflects: Mask
    """True for a reflection, False for a turn of play."""
    step: Ints
    """Place among the turns of its phase in its episode, from 0."""
    last: Mask
    """Whether no turn of its phase in its episode comes after it."""
    group: Ints
    opponent: Ints
    seat: Ints
    anchor: Ints
    """Dense number of the anchor state's key."""
    legal: Mask
    truncated: Mask
    length: Ints
    """Sampled tokens of the response."""

    def __len__(self) -> int:
        return len(self.trial)


def turn_table(trials: Sequence[Trial], reward_scale: float = 1.0) -> TurnTable:
    """Gather `trials` into arrays; rewards are multiplied by `reward_scale`.

    The table has as many episode columns as the longest task has episodes.
    """
    turns = [turn for trial in trials for turn in trial.turns]
    rows = _trial_table(trials, reward_scale)
    trial = np.repeat(np.arange(len(trials)), [len(one.turns) for one in trials])
    episode = np.array([turn.episode for turn in turns], dtype=np.int64)
    reflects = np.array([turn.phase == "reflect" for turn in turns], dtype=np.bool_)
    step, last = _places((trial * rows.columns + episode) * 2 + reflects)
    return TurnTable(
        trials=rows,
        trial=trial,
        episode=episode,
        reflects=reflects,
        step=step,
        last=last,
        group=rows.group[trial],
        opponent=rows.opponent[trial],
        seat=rows.seat[trial],
        anchor=_dense(turn.anchor for turn in turns),
        legal=np.array([turn.legal for turn in turns], dtype=np.bool_),
        truncated=np.array([turn.truncated for turn in turns], dtype=np.bool_),
        length=np.array([turn.stop - turn.start for turn in turns], dtype=np.int64),
    )


def _trial_table(trials: Sequence[Trial], reward_scale: float) -> TrialTable:
    columns = max((trial.task.episodes for trial in trials), default=0)
    counts = np.array([len(trial.episodes) for trial in trials], dtype=np.int64)
    played = np.arange(columns) < counts[:, None]
    rewards = np.zeros(played.shape)
    flat = chain.from_iterable(trial.episodes for trial in trials)
    rewards[played] = reward_scale * np.array([episode.reward for episode in flat], dtype=np.float64)
    return TrialTable(
        group=_dense(trial.task.group for trial in trials),
        opponent=_dense(trial.task.opponent for trial in trials),
        seat=np.array([trial.task.seat for trial in trials], dtype=np.int64),
        rewards=rewards,
        played=played,
    )


def _dense(names: Iterable[str | int]) -> Ints:
    """Number names 0, 1, 2, ... in the order in which they first appear."""
    numbers: dict[str | int, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _places(cell: Ints) -> tuple[Ints, Mask]:
    """Running count of each entry among equal entries of `cell`, and whether it is the last of them."""
    order = np.argsort(cell, kind="stable")
    grouped = cell[order]
    change = np.flatnonzero(grouped[1:] != grouped[:-1]) + 1
    starts = np.concatenate(([0], change)) if len(cell) else change
    sizes = np.diff(starts, append=len(cell))
    step = np.empty(len(cell), dtype=np.int64)
    step[order] = np.arange(len(cell)) - np.repeat(starts, sizes)
    last = np.zeros(len(cell), dtype=np.bool_)
    last[order[starts + sizes - 1]] = True
    return step, last
