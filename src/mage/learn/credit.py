"""From trials to one advantage per turn: step rewards, returns, baseline and estimator as the recipe names them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mage.errors import RecipeError
from mage.learn.advantages import gigpo, grpo, reinforce, reinforce_plus, rloo, standardised
from mage.learn.baselines import trial_baseline, turn_baseline
from mage.learn.data import StateValues
from mage.learn.gae import gae, turn_discounts, turn_rewards
from mage.learn.returns import has_outcome, trial_return_index, trial_returns, turn_returns
from mage.learn.table import Mask, Reals, TurnTable, turn_table
from mage.play.records import Phase, Trial
from mage.recipe import CreditSection
from mage.references import foreign, load

WHOLE = ("reinforce", "reinforce++", "rloo", "grpo")
"""Estimators that compare the value of a whole trajectory."""
SILENT = 1e-7
"""An advantage smaller than this is rounding."""


class Credit(NamedTuple):
    """Advantages of many trials and what was seen in computing them."""

    advantages: list[Reals]
    """One array per trial, one entry per turn."""
    states: StateValues | None
    """Values before the update and what they are trained towards; None without a value function."""
    diagnostics: dict[str, float]
    """silent_groups (share of groups without any advantage); invalid_penalty, length_penalty and, where some were
    given, intrinsic_reward (means per turn); for each phase that has turns advantage_mean_<phase> and
    advantage_std_<phase>."""


def assign_credit(
    trials: Sequence[Trial],
    credit: CreditSection,
    *,
    max_tokens: Mapping[Phase, int],
    values: Sequence[Reals] | None = None,
    rewards: Sequence[Reals] | None = None,
) -> Credit:
    """Advantage of each turn of `trials`, all groups of an iteration together.

    Args:
        trials: with their game rewards, which `credit.reward_scale` multiplies. It multiplies nothing else.
        credit: as the recipe names it.
        max_tokens: the token limit of a response in each phase, at which `credit.length_penalty` is full.
        values: of the states the turns were taken in, one array per trial, for `credit.advantage = "gae"`. Those of
            turns without an outcome are taken to be 0, and are not learned: nothing comes after that they could tell.
        rewards: intrinsic rewards of the turns (novelty), already weighted, one array per trial. They are in every
            return, baseline and value target: with `credit.returns = "episode"` estimators that compare whole
            trajectories get an episode's sum at its end (a sum to go, compared with what whole episodes got, would say
            that later turns are worse), all others each at its turn, as penalties are.

    A turn whose episode has no outcome (for a reflection: the next episode) enters no baseline: its advantage is its
    own penalty, and its intrinsic reward is dropped, since there is nothing that it would be compared with.
    """
    table = turn_table(trials, credit.reward_scale)
    invalid = invalid_penalties(table, credit.invalid_penalty)
    length = length_penalties(table, credit.length_penalty, max_tokens)
    counted = has_outcome(table)
    given = np.zeros(len(table)) if rewards is None else np.concatenate((*rewards, np.zeros(0)))
    intrinsic = np.where(counted, given, 0.0)
    known = None if values is None else np.where(counted, np.concatenate((*values, np.zeros(0))), 0.0)
    step_rewards = invalid + length
    if credit.returns == "episode" and credit.advantage in WHOLE:
        table = paid_at_the_end(table, intrinsic)
    else:
        step_rewards = step_rewards + intrinsic
    raw = turn_advantages(table, credit, step_rewards, known)
    advantages = raw if known is None else _scaled(table, credit, raw)
    diagnostics = {
        "silent_groups": silent_share(table, advantages),
        "invalid_penalty": _mean(invalid),
        "length_penalty": _mean(length),
    }
    if rewards is not None:
        diagnostics["intrinsic_reward"] = _mean(intrinsic)
    for phase, mask in (("act", ~table.reflects), ("reflect", table.reflects)):
        if mask.any():
            diagnostics[f"advantage_mean_{phase}"] = float(advantages[mask].mean())
            diagnostics[f"advantage_std_{phase}"] = float(advantages[mask].std())
    ends = np.cumsum([0, *(len(trial.turns) for trial in trials)]).tolist()
    parts = [slice(start, stop) for start, stop in pairwise(ends)]
    states = None
    if values is not None and known is not None:  # A = G − V: the target V + A is G, and A is how far V is from it
        states = StateValues(values, [(known + raw)[part] for part in parts], [counted[part] for part in parts])
        diagnostics["value_error"] = math.sqrt(_mean(raw[counted] ** 2))
    return Credit([advantages[part] for part in parts], states, diagnostics)


def paid_at_the_end(table: TurnTable, intrinsic: Reals) -> TurnTable:
    """The table with the intrinsic rewards [T] of each episode added to what it pays at its end.

    Source: one value per trajectory (GRPO, RLOO): A = R + Σ_t r_t minus that of the others, the same at all its turns.
    """
    trials = table.trials
    cell = table.trial * trials.columns + table.episode
    added = np.bincount(cell, intrinsic, minlength=trials.rewards.size).reshape(trials.rewards.shape)
    return replace(table, trials=replace(trials, rewards=trials.rewards + added))


def turn_advantages(table: TurnTable, credit: CreditSection, step_rewards: Reals, values: Reals | None = None) -> Reals:
    """Advantage of each turn, [T]; `step_rewards` [T] arrive at the turns themselves, `values` [T] are their states'.

    GiGPO compares steps by `credit.baseline` and anchor, trials by what of group, opponent and seat the baseline has.
    With `episode` in the baseline an anchor state is met anew in each episode (local anchor), without it the episodes
    of a trial share it (global anchor).
    """
    if credit.advantage == "gae":
        if values is None:
            raise ValueError("credit.advantage = 'gae' needs the values of the turns' states")
        rewards = turn_rewards(credit.returns, table, step_rewards, credit.gamma_traj)
        discounts = turn_discounts(credit.returns, table, credit.gamma_step, credit.gamma_traj)
        estimate = gae(rewards, discounts, values, credit.gae_lambda)
        return np.where(has_outcome(table), estimate, step_rewards)
    returns = turn_returns(credit.returns, table, step_rewards, credit.gamma_step, credit.gamma_traj)
    baseline = turn_baseline(table, credit.baseline, by_episode=credit.returns == "episode")
    match credit.advantage:
        case "reinforce":
            advantages = reinforce(returns, baseline, credit.std)
        case "reinforce++":
            advantages = reinforce_plus(returns, baseline, credit.std)
        case "rloo":
            advantages = rloo(returns, baseline, credit.std)
        case "grpo":
            advantages = grpo(returns, baseline)
        case "gigpo":
            advantages = gigpo(
                returns,
                turn_baseline(table, {*credit.baseline, "anchor"}),
                trial_returns(credit.returns, table, step_rewards).ravel(),
                trial_baseline(table, credit.baseline, by_episode=credit.returns == "episode"),
                trial_return_index(credit.returns, table),
                trial_weight=credit.trial_weight,
                step_weight=credit.step_weight,
                std=credit.std,
            )
        case reference:
            advantages = own_advantages(reference, table, returns, credit)
    return np.where(has_outcome(table), advantages, step_rewards)


def find_advantage(reference: str) -> Callable[[TurnTable, Reals, CreditSection], Reals]:
    """An advantage of the user's own. Raises RecipeError where the reference is no function."""
    function: Callable[[TurnTable, Reals, CreditSection], Reals] = load(
        "credit.advantage",
        reference,
        wanted="a function of (table, returns, credit)",
        fits=callable,
        error=RecipeError,
    )
    return function


def own_advantages(reference: str, table: TurnTable, returns: Reals, credit: CreditSection) -> Reals:
    """Advantages [T] by a function of the user's own, `(table, returns, credit) -> advantages`.

    Raises RecipeError where the reference is no function, and where what it returns is not one finite number a turn.
    """
    function = find_advantage(reference)
    with foreign(f"credit.advantage {reference!r}", RecipeError):
        advantages = np.asarray(function(table, returns, credit), dtype=np.float64)
    if advantages.shape != returns.shape or not np.isfinite(advantages).all():
        raise RecipeError(
            f"credit.advantage = {reference!r}: expected {len(returns)} finite numbers, one a turn, "
            f"not an array of shape {advantages.shape}" + ("" if np.isfinite(advantages).all() else " with others")
        )
    return advantages


def invalid_penalties(table: TurnTable, coefficient: float) -> Reals:
    """−`coefficient` at each turn that was illegal or malformed, else 0, [T]."""
    return np.where(table.legal, 0.0, -coefficient)


def length_penalties(table: TurnTable, coefficient: float, max_tokens: Mapping[Phase, int]) -> Reals:
    """−`coefficient` · max(0, length − L/2) / (L/2) at a response limit of L tokens, [T].

    Source: the released code of MAGE. With L = 8 and coefficient 2 lengths 4, 6, 8 give 0, −1, −2.
    """
    half = np.where(table.reflects, max_tokens["reflect"], max_tokens["act"]) / 2
    return -coefficient * np.maximum(0.0, table.length - half) / half


def silent_share(table: TurnTable, advantages: Reals) -> float:
    """Share of groups in which no turn has an advantage: nothing is learned from them."""
    if not len(table.trials):
        return 0.0
    loud: Mask = np.abs(advantages) > SILENT
    groups = int(table.trials.group.max()) + 1
    return 1.0 - len(np.unique(table.group[loud])) / groups


def _scaled(table: TurnTable, credit: CreditSection, advantages: Reals) -> Reals:
    """Advantages of `gae` over all turns with an outcome at mean 0 and deviation 1, if the recipe asks for it."""
    if not credit.std:
        return advantages
    counted = has_outcome(table)
    return np.where(counted, standardised(advantages, counted.astype(np.float64)), advantages)


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0
