"""The mask of improbable tokens, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from mage.engine.base import LossConfig
from mage.engine.loss import Predicted, TokenBatch, policy_loss


def test_masked_tokens_add_neither_surrogate_nor_entropy_nor_kl() -> None:
    # π = 0.5, 0.2, 0.05; π_old = 0.5, 0.25, 0.1 with A = 1, −1, 1: −1, +0.8 and −0.5; entropy 0.1·H and KL 0.5·1 each
    distributions = torch.tensor([[0.5, 0.5], [0.2, 0.8], [0.05, 0.95]])
    model = Predicted.of(distributions.log(), torch.zeros(3, dtype=torch.long), 1.0)
    batch = TokenBatch(
        old_logprobs=torch.tensor([0.5, 0.25, 0.1]).log(),
        gain=torch.tensor([1.0, 0.0, 1.0]),
        loss=torch.tensor([0.0, -1.0, 0.0]),
        entropy=torch.full((3,), 0.1),
        kl=torch.full((3,), 0.5),
        copies=torch.tensor([1.0, 1.0, 2.0]),
    )
    entropies = [-p * math.log(p) - (1 - p) * math.log(1 - p) for p in (0.5, 0.2, 0.05)]
    terms = [a - 0.1 * h + 0.5 for a, h in zip((-1.0, 0.8, -0.5), entropies, strict=True)]
    for below, kept, share in ((0.0, 3, None), (0.1, 2, 2.0), (0.3, 1, 3.0), (0.05 / 2, 3, 0.0)):
        config = replace(LossConfig(), mask_below=below)
        total, seen = policy_loss(model, torch.ones(3), batch, config)
        assert float(total) == pytest.approx(sum(terms[:kept]), abs=1e-6)
        assert (None if share is None else float(seen["masked_share"])) == share
        assert ("masked_share" in seen) == (share is not None)
        assert float(seen["entropy"]) == pytest.approx(entropies[0] + entropies[1] + 2 * entropies[2], abs=1e-5)
