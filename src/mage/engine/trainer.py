"""The training half of the local engine: data to padded micro-batches, forward, loss, backward, optimizer step."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from mage.engine.base import AdamParams, Datum, LossConfig
from mage.engine.loss import Predicted, TokenBatch, cross_entropy_loss, divergence, policy_loss
from mage.engine.merge import Merged, merge
from mage.errors import EngineError


class Trainer:
    """Accumulates gradients of a causal Transformers model and steps AdamW; keeps a frozen reference if asked to."""

    def __init__(self, model: Any, *, max_tokens_per_batch: int) -> None:
        self._model = model
        self._budget = max_tokens_per_batch
        self._reference: Any | None = None
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, foreach=True)

    def freeze_reference(self) -> None:
        """Take the weights as they are now as the reference of the KL penalty."""
        self._reference = copy.deepcopy(self._model).eval().requires_grad_(False)

    @property
    def reference(self) -> Any | None:
        """The frozen reference model, or None."""
        return self._reference

    def forward_backward(self, data: Sequence[Datum], loss: LossConfig) -> dict[str, float]:
        """See `mage.engine.base.Engine.forward_backward`."""
        if any(datum.kl.any() for datum in data) and self._reference is None:
            raise EngineError("a KL penalty was asked for, but no reference was frozen")
        sampled = sum(int(datum.sampled.sum()) for datum in data)
        totals: dict[str, float] = {}
        for part in _micro_batches(merge(data), self._budget):
            seen = self._accumulate(part, loss, sampled)
            for name, value in seen.items():
                totals[name] = (
                    max(totals.get(name, 0.0), value) if name.endswith("_max") else totals.get(name, 0) + value
                )
        kl_tokens = totals.pop("kl_tokens", 0.0)
        means = {name: value if name.endswith("_max") else value / sampled for name, value in totals.items()}
        if kl_tokens:
            means["kl"] = totals["kl"] / kl_tokens
        return means | {"tokens": float(sum(len(datum.tokens) for datum in data)), "sampled_tokens": float(sampled)}

    def _accumulate(self, part: list[Merged], loss: LossConfig, sampled: int) -> dict[str, float]:
        """Forward and backward of one micro-batch; sums over its tokens, copies counted."""
        tokens, chosen, batch = _tensors(part)
        model = _predict(self._model, tokens, chosen, loss.temperature)
        if loss.kind == "cross_entropy":
            total, seen = cross_entropy_loss(model, batch)
        else:
            total, seen = policy_loss(model, self._divergence(model, tokens, chosen, batch, loss), batch, loss)
            gap = (model.logprobs.detach() - batch.old_logprobs).abs()
            seen["logprob_diff_mean"], seen["logprob_diff_max"] = (gap * batch.copies).sum(), gap.max()
        if not torch.isfinite(total):
            bad = _first_bad(model.logprobs, chosen)
            raise EngineError(f"the loss is {total.item()}; first bad sequence: {part[bad].datum.tokens.tolist()}")
        torch.autograd.backward(total / sampled)
        return {"loss": float(total.detach())} | {name: float(value) for name, value in seen.items()}

    def _divergence(
        self, model: Predicted, tokens: torch.Tensor, chosen: torch.Tensor, batch: TokenBatch, loss: LossConfig
    ) -> torch.Tensor | None:
        """[M] divergence from the reference; only sequences that ask for it are computed, 0 elsewhere."""
        if not batch.kl.any():
            return None
        asked = torch.zeros_like(chosen, dtype=batch.kl.dtype)
        asked[chosen] = batch.kl
        rows = asked.any(dim=1)
        there = (chosen & rows[:, None])[chosen]
        with torch.no_grad():
            reference = _predict(self._reference, tokens[rows], chosen[rows], loss.temperature)
        result = torch.zeros_like(model.logprobs)
        result[there] = divergence(Predicted(model.everything[there], model.logprobs[there]), reference, loss.kl)
        return result

    def optim_step(self, adam: AdamParams) -> dict[str, float]:
        """See `mage.engine.base.Engine.optim_step`."""
        parameters = [p for p in self._model.parameters() if p.grad is not None]
        if not parameters:
            raise EngineError("an optimizer step needs a gradient: call forward_backward first")
        norm = torch.nn.utils.clip_grad_norm_(parameters, adam.grad_clip or float("inf"), foreach=True)
        if not torch.isfinite(norm):
            names = [
                name for name, p in self._model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()
            ]
            self.optimizer.zero_grad()
            raise EngineError(
                f"the gradient is not finite in {names[0] if names else 'its norm'}; the step was not taken"
            )
        for group in self.optimizer.param_groups:
            group.update(lr=adam.lr, betas=(adam.beta1, adam.beta2), eps=adam.eps, weight_decay=adam.weight_decay)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return {"grad_norm": float(norm)}


def _predict(model: Any, tokens: torch.Tensor, chosen: torch.Tensor, temperature: float) -> Predicted:
    """What `model` says where `chosen` [B, T-1]; logits are computed there only."""
    hidden = model.get_decoder()(input_ids=tokens[:, :-1], use_cache=False).last_hidden_state
    logits = model.get_output_embeddings()(hidden[chosen]).float()
    return Predicted.of(logits, tokens[:, 1:][chosen], temperature)


def _micro_batches(data: list[Merged], budget: int) -> Iterator[list[Merged]]:
    """Sequences of similar length together, each part at most `budget` tokens with padding (one sequence at least)."""
    part: list[Merged] = []
    for item in sorted(data, key=lambda item: len(item.datum.tokens)):
        if part and len(item.datum.tokens) * (len(part) + 1) > budget:
            yield part
            part = []
        part.append(item)
    if part:
        yield part


def _tensors(part: list[Merged]) -> tuple[torch.Tensor, torch.Tensor, TokenBatch]:
    """Tokens [B, T] padded on the right, mask [B, T-1] of positions whose next token was sampled, and the M tokens."""
    lengths = np.fromiter((len(item.datum.tokens) for item in part), np.int64, len(part))
    inside = np.arange(lengths.max()) < lengths[:, None]
    tokens, sampled = np.zeros(inside.shape, np.int64), np.zeros(inside.shape, np.bool_)
    tokens[inside] = np.concatenate([item.datum.tokens for item in part])
    flat = np.concatenate([item.datum.sampled for item in part])
    sampled[inside] = flat

    def pick(arrays: list[np.ndarray[Any, Any]]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(arrays)[flat].astype(np.float32))

    batch = TokenBatch(
        old_logprobs=pick([item.datum.logprobs for item in part]),
        gain=pick([item.gain for item in part]),
        loss=pick([item.loss for item in part]),
        entropy=pick([item.entropy for item in part]),
        kl=pick([item.kl for item in part]),
        copies=pick([np.full(len(item.datum.tokens), item.copies) for item in part]),
    )
    return torch.from_numpy(tokens), torch.from_numpy(sampled[:, 1:]), batch


def _first_bad(logprobs: torch.Tensor, chosen: torch.Tensor) -> int:
    """Row of the first token whose log-probability is not finite (0 if the loss overflowed elsewhere)."""
    rows = chosen.nonzero()[:, 0]
    bad = (~logprobs.isfinite()).nonzero()
    return int(rows[bad[0, 0]]) if len(bad) else 0
