"""Advantage estimators: a return minus what it is compared with. Each works on turns or on whole trials alike."""

from __future__ import annotations

import numpy as np

from mage.learn.baselines import Baseline, keyed_count, keyed_leave_one_out, keyed_mean, keyed_std
from mage.learn.table import Ints, Reals

EPSILON = 1e-6
"""Added to a standard deviation before dividing by it."""


def reinforce(values: Reals, baseline: Baseline, std: bool = False) -> Reals:
    """A = G − mean_key G, [K]; 0 where the key has a single value, which leaves nothing to compare with.

    With `std` it is divided by std_key G + 1e-6 besides. Source: REINFORCE with the group mean (Dr. GRPO without std).
    Values 1, 3 of one key give −1, 1.
    """
    advantage = np.where(keyed_count(baseline) > 1, values - keyed_mean(values, baseline), 0.0)
    return advantage / (keyed_std(values, baseline) + EPSILON) if std else advantage


def grpo(values: Reals, baseline: Baseline) -> Reals:
    """A = (G − mean_key G) / (std_key G + 1e-6), [K], std as in `keyed_std`. Source: GRPO, arXiv 2402.03300.

    Values 1, 3 give −1, 1, and so do 10, 30.
    """
    return reinforce(values, baseline, std=True)


def reinforce_plus(values: Reals, baseline: Baseline, std: bool = True) -> Reals:
    """A = (x − mean x) / (std x + 1e-6) with x = G − mean_key G: the scale is that of all values, not a group's, [K].

    With an empty key x is G minus the mean of all. Source: REINFORCE++, arXiv 2501.03262 (with a group key its
    REINFORCE++-baseline). Groups 1, 3 and 10, 10 give −1.414, 1.414, 0, 0.
    """
    centred = values - keyed_mean(values, baseline)
    return standardised(centred, baseline.weight) if std else centred


def standardised(values: Reals, weight: Reals) -> Reals:
    """(x − mean x) / (std x + 1e-6) over all K values, each with its weight, [K]."""
    total = weight.sum() or 1.0
    mean = (weight * values).sum() / total
    spread = np.sqrt((weight * (values - mean) ** 2).sum() / total)
    scaled: Reals = (values - mean) / (spread + EPSILON)
    return scaled


def rloo(values: Reals, baseline: Baseline, std: bool = False) -> Reals:
    """A_i = G_i − mean over the other trajectories of the key, [K]; 0 where there are none.

    With `std` it is divided by std_key G + 1e-6 besides. Source: RLOO, arXiv 2402.14740. Values 1, 3 give −2, 2.
    """
    mean, others = keyed_leave_one_out(values, baseline)
    advantage = np.where(others > 0, values - mean, 0.0)
    return advantage / (keyed_std(values, baseline) + EPSILON) if std else advantage


def gigpo(
    returns: Reals,
    steps: Baseline,
    trial_returns: Reals,
    trials: Baseline,
    trial_index: Ints,
    *,
    trial_weight: float = 1.0,
    step_weight: float = 1.0,
    std: bool = False,
) -> Reals:
    """A = w_trial (r − mean_group r) + ω (G − mean_{group, anchor} G), [T]: whole trial and single step together.

    Args:
        returns: G of each turn, [T].
        steps: who is compared with whom in the step term: turns at the same anchor state, [T].
        trial_returns: r of each trial (or episode), [K].
        trials: who is compared with whom in the trial term, [K].
        trial_index: which entry of `trial_returns` each turn belongs to, [T].
        trial_weight: weight of the trial term (1 in the papers).
        step_weight: ω.
        std: divide both terms by their standard deviations (mean_std_norm); without it mean_norm, as MAGE does.

    An anchor state met once gives a step term of 0. Source: GiGPO, arXiv 2505.10978; MAGE, arXiv 2603.03680.
    """
    trial_term = reinforce(trial_returns, trials, std)[trial_index]
    return trial_weight * trial_term + step_weight * reinforce(returns, steps, std)
