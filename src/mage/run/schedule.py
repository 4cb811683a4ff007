"""Coefficients that change over a run."""

from __future__ import annotations

from dataclasses import dataclass

from mage.recipe import OptimSection


@dataclass(frozen=True, slots=True)
class Schedule:
    """The coefficients at one iteration."""

    lr: float
    entropy: float
    entropy_remark: float
    kl_action: float


def schedule(optim: OptimSection, iteration: int, iterations: int) -> Schedule:
    """The schedule at `iteration` (from 0): linear warm-up and fall of the rate, linear fall of bonus and KL."""
    done = iteration / max(1, iterations - 1)
    warm = min(1.0, (iteration + 1) / (optim.lr_warmup + 1))
    left = max(0.0, 1 - done / optim.entropy_until) if optim.entropy_until else 0.0
    end = optim.kl_action if optim.kl_action_end is None else optim.kl_action_end
    return Schedule(
        lr=warm * (optim.lr + (optim.lr_end - optim.lr) * done),
        entropy=optim.entropy_end + (optim.entropy - optim.entropy_end) * left,
        entropy_remark=optim.entropy_remark * left,
        kl_action=end + (optim.kl_action - end) * left,
    )
