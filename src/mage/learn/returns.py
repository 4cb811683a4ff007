"""Return of each turn: how the rewards of a trial's episodes are handed back to the turns that earned them.

Notation: N episodes; R_n reward of episode n, n = 1..N; Δ_n = R_n − R_{n−1} with R_0 = 0. What an episode pays (R_n or
Δ_n) arrives at its last turn of play; step rewards (penalties, and intrinsic rewards such as novelty) arrive at their
own turn and are never differenced, so that they reach every kind of return. An episode that ends before the agent moves
has no turn to pay at: what it pays is its start value, which flows back to what came before it.

A reflection is credited with what follows it: the return from the start of the next episode, plus its own step
reward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mage.learn.table import Ints, Mask, Reals, TrialTable, TurnTable
from mage.recipe_values import ReturnKind


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rewards discounted inside each episode alone: g_{n,t} = Σ_{t'≥t} γ_step^{t'−t} r_{t'} over its turns of play."""

    turns: Reals
    """[T] g at each turn of play; at a reflection its own step reward."""
    start: Reals
    """[M, N] g at the first turn of play; what the episode pays where there is none."""
    to_end: Reals
    """[T] γ_step^(turns of play still to come in the episode)."""
    whole: Reals
    """[M, N] `to_end` at the first turn of play; 1 where there is none."""


def differences(trials: TrialTable) -> Reals:
    """Differential reward Δ_n = R_n − R_{n−1}, R_0 = 0, [M, N]; 0 for an episode that was not played.

    Source: MAGE, arXiv 2603.03680. Rewards 1, 3, 2 give 1, 2, −1.
    """
    return np.where(trials.played, np.diff(trials.rewards, axis=1, prepend=0.0), 0.0)


def last_reward(trials: TrialTable) -> Reals:
    """Reward of the last episode played, [M]; 0 for a trial that finished none."""
    count = trials.played.sum(axis=1)
    rows = np.flatnonzero(count)
    reward = np.zeros(len(trials))
    reward[rows] = trials.rewards[rows, count[rows] - 1]
    return reward


def has_outcome(table: TurnTable) -> Mask:
    """Whether the episode a turn is credited with was played, [T]: its own, for a reflection the next one."""
    outcome: Mask = _at(table, table.trials.played.astype(np.float64)) > 0
    return outcome


def within_episodes(table: TurnTable, paid: Reals, step_rewards: Reals, gamma_step: float) -> Stretch:
    """Discount inside each episode. `paid` [M, N] arrives at the last turn of play, `step_rewards` [T] at their own."""
    play = np.flatnonzero(~table.reflects)
    cell = _cells(table)[play]
    step, last = table.step[play], table.last[play]
    g = step_rewards[play] + np.where(last, paid.ravel()[cell], 0.0)
    to_end = np.ones(len(play))
    for s in range(int(step.max(initial=0)) - 1, -1, -1):
        at = np.flatnonzero((step == s) & ~last)
        g[at] += gamma_step * g[at + 1]
        to_end[at] = gamma_step * to_end[at + 1]
    first = step == 0
    turns, ends = step_rewards.copy(), np.ones(len(table))
    turns[play], ends[play] = g, to_end
    start, whole = paid.copy(), np.ones_like(paid)
    start.ravel()[cell[first]], whole.ravel()[cell[first]] = g[first], to_end[first]
    return Stretch(turns, start, ends, whole)


def episode_returns(table: TurnTable, step_rewards: Reals, gamma_step: float = 1.0) -> Reals:
    """Each episode alone: G_{n,t} = Σ_{t'≥t} γ_step^{t'−t} r_{t'}, R_n paid at the end of episode n, [T].

    A reflection gets the next episode's G_{n+1,0}. Source: the usual return (GRPO, RLOO, GiGPO).
    """
    part = within_episodes(table, table.trials.rewards, step_rewards, gamma_step)
    return part.turns + _reflection(table, part.start)


def cumulative_returns(
    table: TurnTable, step_rewards: Reals, gamma_step: float = 1.0, gamma_traj: float = 0.6
) -> Reals:
    """Cross-episode return G_{n,t} = g_{n,t} + Σ_{m>n} γ_traj^{m−n} g_{m,0}, R_n paid at the end of episode n, [T].

    g is the return inside an episode, so the sum is not recursive. Source: LaMer, arXiv 2512.16848.
    """
    part = within_episodes(table, table.trials.rewards, step_rewards, gamma_step)
    later = np.zeros_like(part.start)
    for n in range(later.shape[1] - 2, -1, -1):
        later[:, n] = gamma_traj * (part.start[:, n + 1] + later[:, n + 1])
    return part.turns + _play(table, later) + _reflection(table, part.start + later)


def differential_returns(
    table: TurnTable, step_rewards: Reals, gamma_step: float = 1.0, gamma_traj: float = 0.6
) -> Reals:
    """Figure of MAGE: G_{n,t} = Σ_{t'≥t} γ_step^{t'−t} r̃_{t'} + Σ_{m>n} γ_traj^{m−n} G_{m,0}, [T].

    r̃ pays Δ_n at the end of episode n. G_{m,0} holds the episodes after m in turn, so later ones are counted along
    every path: over three episodes with γ_step = 1 the first turn gets Δ_1 + γ Δ_2 + 2γ² Δ_3, which is
    0.4 R_1 − 0.12 R_2 + 0.72 R_3 at γ_traj = 0.6 and does not telescope to R_3 at γ_traj = 1 (see
    `differential_code_returns`). Source: MAGE, arXiv 2603.03680.
    """
    part = within_episodes(table, differences(table.trials), step_rewards, gamma_step)
    later = np.zeros_like(part.start)
    for n in range(later.shape[1] - 2, -1, -1):
        # Σ_{m>n} γ^{m−n} G_{m,0} = γ (G_{n+1,0} + Σ_{m>n+1} γ^{m−n−1} G_{m,0}), and G_{n+1,0} = start + later
        later[:, n] = gamma_traj * (part.start[:, n + 1] + 2.0 * later[:, n + 1])
    return part.turns + _play(table, later) + _reflection(table, part.start + later)


def differential_code_returns(
    table: TurnTable, step_rewards: Reals, gamma_step: float = 1.0, gamma_traj: float = 0.6
) -> Reals:
    """One running sum over the trial: γ_step from turn to turn inside an episode, γ_traj at each border, [T].

    r̃ pays Δ_n at the end of episode n, so G_{n,t} = g_{n,t} + γ_step^{turns to the end of n} γ_traj G_{n+1,0}. Over
    three episodes with γ_step = 1 the first turn gets 0.4 R_1 + 0.24 R_2 + 0.36 R_3 at γ_traj = 0.6 and exactly R_3 at
    γ_traj = 1. Source: the released code of MAGE.
    """
    part = within_episodes(table, differences(table.trials), step_rewards, gamma_step)
    start, later = part.start.copy(), np.zeros_like(part.start)
    for n in range(start.shape[1] - 2, -1, -1):
        later[:, n] = gamma_traj * start[:, n + 1]
        start[:, n] += part.whole[:, n] * later[:, n]
    return part.turns + part.to_end * _play(table, later) + _reflection(table, start)


def final_returns(table: TurnTable, step_rewards: Reals) -> Reals:
    """Undiscounted reward of the last episode played for every turn, plus the turn's own step reward, [T].

    A reflection that no played episode follows gets its step reward alone. Source: the objective that MAGE
    states in words.
    """
    reward = last_reward(table.trials)[table.trial]
    return step_rewards + np.where(table.reflects & ~has_outcome(table), 0.0, reward)


def turn_returns(
    kind: ReturnKind, table: TurnTable, step_rewards: Reals, gamma_step: float = 1.0, gamma_traj: float = 0.6
) -> Reals:
    """Returns [T] of the named kind; `step_rewards` [T] are penalties and intrinsic rewards."""
    match kind:
        case "episode":
            return episode_returns(table, step_rewards, gamma_step)
        case "cumulative":
            return cumulative_returns(table, step_rewards, gamma_step, gamma_traj)
        case "differential":
            return differential_returns(table, step_rewards, gamma_step, gamma_traj)
        case "differential_code":
            return differential_code_returns(table, step_rewards, gamma_step, gamma_traj)
        case "final":
            return final_returns(table, step_rewards)


def trial_returns(kind: ReturnKind, table: TurnTable, step_rewards: Reals) -> Reals:
    """Undiscounted sum of a trial's shaped rewards and all its step rewards, [M, 1]; [M, N] for kind `episode`.

    `differential`, `differential_code` and `final` sum to the reward of the last episode played, `cumulative` to the
    rewards of all. `episode` keeps episodes apart: each has its own reward, its step rewards of play and those of the
    reflection written for it (the one before it), since nothing of other episodes may reach it.
    """
    trials = table.trials
    if kind == "episode":
        cell = (table.trial * trials.columns + credited_episode(table))[has_outcome(table)]
        taken = np.bincount(cell, step_rewards[has_outcome(table)], minlength=trials.rewards.size)
        return trials.rewards + taken.reshape(trials.rewards.shape)
    reward = trials.rewards.sum(axis=1) if kind == "cumulative" else last_reward(trials)
    return (reward + np.bincount(table.trial, step_rewards, minlength=len(trials)))[:, None]


def trial_return_index(kind: ReturnKind, table: TurnTable) -> Ints:
    """Where in the flattened `trial_returns` each turn finds its own, [T] (any entry for turns without an outcome)."""
    if kind != "episode":
        return table.trial
    columns = table.trials.columns
    return table.trial * columns + np.minimum(credited_episode(table), columns - 1)


def credited_episode(table: TurnTable) -> Ints:
    """The episode a turn is credited with, [T]: its own, for a reflection the next one."""
    return table.episode + table.reflects.astype(np.int64)


def _cells(table: TurnTable) -> Ints:
    return table.trial * table.trials.columns + table.episode


def _at(table: TurnTable, values: Reals) -> Reals:
    """The entry of `values` [M, N] at the episode each turn is credited with; 0 after the last episode, [T]."""
    beyond = np.concatenate((values, np.zeros((len(values), 1))), axis=1)
    return beyond[table.trial, credited_episode(table)]


def _play(table: TurnTable, values: Reals) -> Reals:
    return np.where(table.reflects, 0.0, _at(table, values))


def _reflection(table: TurnTable, values: Reals) -> Reals:
    return np.where(table.reflects, _at(table, values), 0.0)
