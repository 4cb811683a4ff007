"""The losses, per sampled token, and what is measured on the way. Everything here is a flat array over tokens [M]."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from mage.engine.base import LossConfig


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """What the loss needs of M sampled tokens (sums over the copies of each, see `mage.engine.merge`)."""

    old_logprobs: torch.Tensor
    gain: torch.Tensor
    loss: torch.Tensor
    entropy: torch.Tensor
    kl: torch.Tensor
    copies: torch.Tensor


def policy_loss(
    logprobs: torch.Tensor,
    entropies: torch.Tensor,
    reference: torch.Tensor | None,
    batch: TokenBatch,
    config: LossConfig,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Sum over tokens of the clipped surrogate, the entropy bonus and the KL penalty; and sums of what was seen.

    With ratio r = π(token)/π_old(token) and advantage A each copy of a token adds

        −min(r·A, clip(r, 1−ε_low, 1+ε_high)·A) − c_H·H(π) + c_KL·k3,   k3 = ρ − log ρ − 1,  ρ = π_ref/π

    (PPO, Schulman et al. 2017; k3, Schulman 2020, "Approximating KL divergence").
    """
    ratio = (logprobs - batch.old_logprobs).exp()
    surrogate = batch.gain * ratio.clamp(max=1 + config.clip_high) + batch.loss * ratio.clamp(min=1 - config.clip_low)
    total = -surrogate - batch.entropy * entropies
    seen = {
        "entropy": (entropies * batch.copies).sum(),
        "ratio_mean": (ratio * batch.copies).sum(),
        "clip_fraction": (
            batch.copies
            * (((ratio > 1 + config.clip_high) & (batch.gain > 0)) | ((ratio < 1 - config.clip_low) & (batch.loss < 0)))
        ).sum(),
    }
    if reference is not None:
        gap = reference - logprobs
        k3 = gap.exp() - gap - 1
        total = total + batch.kl * k3
        asked = batch.copies * (batch.kl > 0)
        seen["kl"] = (k3 * asked).sum()
        seen["kl_tokens"] = asked.sum()
    return total.sum(), {name: value.detach() for name, value in seen.items()}


def cross_entropy_loss(logprobs: torch.Tensor, batch: TokenBatch) -> torch.Tensor:
    """Sum over tokens of −weight · log π(token)."""
    return -((batch.gain + batch.loss) * logprobs).sum()
