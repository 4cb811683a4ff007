"""The losses, per sampled token, and what is measured on the way. Everything here is a flat array over tokens [M]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from mage.engine.base import LossConfig


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """What the loss needs of M sampled tokens (sums over the copies of each, see `mage.engine.forest`)."""

    old_logprobs: torch.Tensor
    gain: torch.Tensor
    loss: torch.Tensor
    entropy: torch.Tensor
    kl: torch.Tensor
    copies: torch.Tensor


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a model says at the positions of the M sampled tokens."""

    everything: torch.Tensor
    """[M, V] log-probabilities."""
    logprobs: torch.Tensor
    """[M] log-probability of the sampled token."""

    @classmethod
    def of(cls, logits: torch.Tensor, targets: torch.Tensor, temperature: float | torch.Tensor) -> Predicted:
        """From logits [M, V], the sampled tokens [M], and the temperature of all or of each [M]."""
        if isinstance(temperature, torch.Tensor):
            logits = logits / temperature[:, None]
        elif temperature != 1:
            logits = logits / temperature
        everything = torch.log_softmax(logits, dim=-1)
        return cls(everything, everything.gather(1, targets[:, None])[:, 0])

    def entropies(self) -> torch.Tensor:
        """[M] entropy of each distribution, in nats."""
        return -(self.everything.exp() * self.everything).sum(dim=-1)


def divergence(model: Predicted, reference: Predicted, kind: Literal["k3", "full"]) -> torch.Tensor:
    """KL(π ‖ π_ref) at each token [M].

    `k3`: ρ − log ρ − 1 with ρ = π_ref/π of the sampled token, unbiased and never negative (Schulman 2020,
    "Approximating KL divergence"); used as a loss its gradient is bounded where π_ref is small.
    `full`: Σ_v π(v) log(π(v)/π_ref(v)), exact: it holds where k3 lets go, and costs the reference's whole distribution.
    """
    if kind == "full":
        return (model.everything.exp() * (model.everything - reference.everything)).sum(dim=-1)
    gap = reference.logprobs - model.logprobs
    return gap.exp() - gap - 1


def policy_loss(
    model: Predicted, kl: torch.Tensor | None, batch: TokenBatch, config: LossConfig
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Sum over tokens of the clipped surrogate, the entropy bonus and the KL penalty; and sums of what was seen.

    With ratio r = π(token)/π_old(token) and advantage A each copy of a token adds

        −min(r·A, clip(r, 1−ε_low, 1+ε_high)·A) − c_H·H(π) + c_KL·KL

    (PPO, Schulman et al. 2017). `kl` [M] is the divergence at each token, None where no token asks for it. A token with
    π(token) < `config.mask_below` adds nothing: off policy a small π makes the gradient of log π run away (EMPO²,
    arXiv 2602.23008). What was seen is of all tokens, masked or not.
    """
    ratio, entropies = (model.logprobs - batch.old_logprobs).exp(), model.entropies()
    high, low = 1 + config.clip_high, 1 - config.clip_low
    total = -(batch.gain * ratio.clamp(max=high) + batch.loss * ratio.clamp(min=low)) - batch.entropy * entropies
    clipped = ((ratio > high) & (batch.gain > 0)) | ((ratio < low) & (batch.loss < 0))
    seen = {
        "entropy": (entropies * batch.copies).sum(),
        "ratio_mean": (ratio * batch.copies).sum(),
        "clip_fraction": (clipped * batch.copies).sum(),
    }
    if kl is not None:
        total = total + batch.kl * kl
        asked = batch.copies * (batch.kl > 0)
        seen["kl"], seen["kl_tokens"] = (kl * asked).sum(), asked.sum()
    if config.mask_below > 0:
        masked = model.logprobs.exp() < config.mask_below
        total = total.masked_fill(masked, 0.0)
        seen["masked_share"] = (masked * batch.copies).sum()
    return total.sum(), {name: value.detach() for name, value in seen.items()}


def value_loss(values: torch.Tensor, old: torch.Tensor, target: torch.Tensor, clip: float) -> torch.Tensor:
    """Sum over states of ½ max((V − R)², (V_old + clip(V − V_old, ±ε) − R)²).

    Source: PPO (Schulman et al. 2017) in its published code. V = 0.5 from 0 towards 1 with ε = 0.2: ½ · 0.8².
    """
    near = old + (values - old).clamp(-clip, clip)
    return 0.5 * torch.maximum((values - target) ** 2, (near - target) ** 2).sum()


def cross_entropy_loss(model: Predicted, batch: TokenBatch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Sum over tokens of −weight · log π(token); and the sum of entropies."""
    loss = -((batch.gain + batch.loss) * model.logprobs).sum()
    return loss, {"entropy": (model.entropies() * batch.copies).sum().detach()}


def unbounded(model: Predicted, batch: TokenBatch) -> str:
    """What makes a loss of these tokens not finite, in words that name the keys to look at."""
    if not model.logprobs.isfinite().all():
        return "the model's own log-probabilities are not finite, its weights have run away; lower optim.lr"
    if not (batch.gain + batch.loss).isfinite().all():
        return "an advantage is not finite; look at the game's returns and the scales in credit"
    if not (batch.entropy + batch.kl).isfinite().all():
        return "a coefficient of optim.entropy or optim.kl is not finite"
    gap = float((model.logprobs.detach() - batch.old_logprobs).abs().max())
    return (
        f"log-probabilities are up to {gap:.3g} from those at sampling, advantages up to "
        f"{float(torch.maximum(batch.gain, -batch.loss).max()):.3g}, which overflows; lower optim.lr or what scales "
        "the loss: credit.reward_scale, penalties, optim.entropy, optim.kl"
    )
