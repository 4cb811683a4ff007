"""Generalised advantage estimation over the turns of a trial, for methods that learn a value function (PPO)."""

from __future__ import annotations

import numpy as np

from mage.learn.returns import credited_episode, differences, last_reward
from mage.learn.table import Ints, Mask, Reals, TurnTable
from mage.recipe_values import ReturnKind


def gae(rewards: Reals, discounts: Reals, values: Reals, lam: float) -> Reals:
    """A_t = δ_t + γ_t λ A_{t+1} with δ_t = r_t + γ_t V_{t+1} − V_t, [T].

    Args:
        rewards: r_t, [T], trial after trial in the order of play.
        discounts: γ_t between a turn and the one after it, [T]; 0 where nothing of what follows belongs to it.
        values: V_t of the state each turn was taken in, [T].
        lam: λ; 1 gives the discounted return minus V, 0 the one-step error.

    Source: Schulman et al. 2016, arXiv 1506.02438. Rewards 0, 1 with γ = (1, 0), V = 0 and λ = 1 give 1, 1.
    """
    advantages = np.zeros(len(rewards))
    value = advantage = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        error = rewards[t] + discounts[t] * value - values[t]
        advantage = advantages[t] = error + discounts[t] * lam * advantage
        value = values[t]
    return advantages


def turn_rewards(kind: ReturnKind, table: TurnTable, step_rewards: Reals, gamma_traj: float) -> Reals:
    """r_t: what an episode pays arrives at its last turn of play, step rewards at their own turn, [T].

    `differential` and `differential_code` pay R_n − R_{n−1}, `final` pays the last episode's reward alone, the others
    R_n. An episode in which the agent had no turn pays the turn before it, discounted once for each end of an episode
    in between; nothing pays for one before the trial's first turn, since there was no decision.
    """
    trials = table.trials
    paid, border = trials.rewards, _border(kind, gamma_traj)
    if kind in ("differential", "differential_code"):
        paid = differences(trials)
    elif kind == "final":
        paid = np.zeros_like(paid)
        count = trials.played.sum(axis=1)
        rows = np.flatnonzero(count)
        paid[rows, count[rows] - 1] = last_reward(trials)[rows]
    rewards = step_rewards + np.where(~table.reflects & table.last, paid[table.trial, table.episode], 0.0)
    place, ends = credited_episode(table), _ends_after(table)
    for ahead in range(trials.columns):  # of an episode without turns; a reflection is at the start of its episode
        at = np.flatnonzero((ahead < ends) & (table.reflects | (ahead > 0)))
        rewards[at] += border**ahead * paid[table.trial[at], place[at] + ahead]
    return rewards


def turn_discounts(kind: ReturnKind, table: TurnTable, gamma_step: float, gamma_traj: float) -> Reals:
    """γ_t between each turn and the next of its trial, [T].

    γ_step inside an episode; for each end of an episode in between γ_traj, except for `episode`, where nothing crosses
    the border, and `final`, which is not discounted; 1 from a reflection to the episode that it was written for; 0
    after a trial's last turn.
    """
    inside = 1.0 if kind == "final" else gamma_step
    crossed = _ends_after(table)
    within = ~table.reflects & (crossed == 0)
    discounts = np.where(within, inside, _border(kind, gamma_traj) ** crossed)
    return np.where(_last_of_trial(table), 0.0, discounts)


def _border(kind: ReturnKind, gamma_traj: float) -> float:
    return {"episode": 0.0, "final": 1.0}.get(kind, gamma_traj)


def _ends_after(table: TurnTable) -> Ints:
    """How many episodes end between each turn and the next of its trial, or the end of the trial, [T]."""
    place = credited_episode(table)
    following = np.where(_last_of_trial(table), table.trials.columns, np.append(place[1:], 0)[: len(place)])
    return np.maximum(following - place, 0)


def _last_of_trial(table: TurnTable) -> Mask:
    ends: Mask = np.append(table.trial[1:] != table.trial[:-1], True)[: len(table)]
    return ends
