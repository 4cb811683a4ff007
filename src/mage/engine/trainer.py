"""The training half of the local engine: data to packed micro-batches, forward, loss, backward, optimizer step."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mage.engine.base import AdamParams, Datum, Floats, LossConfig, TokenScores
from mage.engine.forest import Forest, Packed, States, pack
from mage.engine.loss import Predicted, cross_entropy_loss, divergence, policy_loss, unbounded, value_loss
from mage.errors import EngineError


class Trainer:
    """Accumulates gradients of a causal Transformers model and steps AdamW; keeps a frozen reference if asked to."""

    def __init__(self, model: Any, *, max_tokens_per_batch: int, critic: bool = False) -> None:
        self._model = model
        self._budget = max_tokens_per_batch
        self._reference: Any | None = None
        self.critic = _value_head(model) if critic else None
        self._parameters = [*model.parameters(), *(self.critic.parameters() if self.critic else ())]
        self.optimizer = torch.optim.AdamW(self._parameters, lr=0.0, foreach=True)

    def freeze_reference(self) -> None:
        """Take the weights as they are now as the reference of the KL penalty."""
        self._reference = copy.deepcopy(self._model).eval().requires_grad_(False)

    @property
    def reference(self) -> Any | None:
        """The frozen reference model, or None."""
        return self._reference

    @torch.no_grad()
    def values(self, data: Sequence[Datum]) -> list[Floats]:
        """See `mage.engine.base.Critic`."""
        found = [np.zeros(0, np.float32)] * len(data)
        for part in pack(data, self._budget):
            if part.states is not None:
                values = self._values(_hidden(self._model, part.forest), part.states).numpy()
                for index in np.unique(part.states.owner).tolist():
                    found[index] = values[part.states.owner == index]
        return found

    @torch.no_grad()
    def score(self, data: Sequence[Datum], temperature: float) -> list[TokenScores]:
        """See `mage.engine.base.Scorer`."""
        lengths = np.array([len(datum.tokens) for datum in data], np.int64)
        ends = np.cumsum(lengths)
        found = np.zeros((2, int(lengths.sum())), np.float32)
        for part in pack(data, self._budget):
            model = _predict(self._model, _hidden(self._model, part.forest), part.forest, temperature)
            at = (ends - lengths)[part.copies.owner] + part.copies.place
            found[:, at] = torch.stack((model.logprobs, model.entropies())).numpy()[:, part.copies.token]
        spans = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
        return [TokenScores(*found[:, start:end]) for start, end in spans]

    def _values(self, hidden: torch.Tensor, states: States) -> torch.Tensor:
        if self.critic is None:
            raise EngineError("values were asked for, but the engine was opened without a critic")
        values: torch.Tensor = self.critic(hidden[states.place].float())[:, 0]
        return values

    def forward_backward(self, data: Sequence[Datum], loss: LossConfig) -> dict[str, float]:
        """See `mage.engine.base.Engine.forward_backward`."""
        if any(datum.kl.any() for datum in data) and self._reference is None:
            raise EngineError("a KL penalty was asked for, but no reference was frozen")
        sampled = sum(int(datum.sampled.sum()) for datum in data)
        points = sum(len(datum.values.at) for datum in data if datum.values)
        totals: dict[str, float] = {}
        for part in pack(data, self._budget):
            seen = self._accumulate(data, part, loss, sampled, points)
            for name, value in seen.items():
                totals[name] = (
                    max(totals.get(name, 0.0), value) if name.endswith("_max") else totals.get(name, 0) + value
                )
        kl_tokens, value_total = totals.pop("kl_tokens", 0.0), totals.pop("value_loss", 0.0)
        means = {name: value if name.endswith("_max") else value / sampled for name, value in totals.items()}
        if kl_tokens:
            means["kl"] = totals["kl"] / kl_tokens
        if points:
            means["value_loss"] = value_total / points
        return means | {"tokens": float(sum(len(datum.tokens) for datum in data)), "sampled_tokens": float(sampled)}

    def _accumulate(
        self, data: Sequence[Datum], part: Packed, loss: LossConfig, sampled: int, points: int
    ) -> dict[str, float]:
        """Forward and backward of one micro-batch; sums over its tokens, copies counted, and over its states."""
        batch, states = part.batch, part.states
        hidden = _hidden(self._model, part.forest)
        model = _predict(self._model, hidden, part.forest, loss.temperature)
        if loss.kind == "cross_entropy":
            total, seen = cross_entropy_loss(model, batch)
        else:
            total, seen = policy_loss(model, self._divergence(model, part, loss), batch, loss)
            gap = (model.logprobs.detach() - batch.old_logprobs).abs()
            seen["logprob_diff_mean"], seen["logprob_diff_max"] = (gap * batch.copies).sum(), gap.max()
        if not torch.isfinite(total):
            bad = data[part.source[_first_bad(model.logprobs)]]
            self.optimizer.zero_grad()  # what micro-batches before this one left is no gradient of the whole
            raise EngineError(
                f"the loss is {total.item()}: {unbounded(model, batch)}; first bad sequence: {bad.tokens.tolist()}"
            )
        objective = total / sampled
        if states is not None:
            error = value_loss(self._values(hidden, states), states.old, states.target, loss.value_clip)
            objective = objective + loss.value_weight * error / points
            seen["value_loss"] = error.detach()
        torch.autograd.backward(objective)
        return {"loss": float(total.detach())} | {name: float(value) for name, value in seen.items()}

    def _divergence(self, model: Predicted, part: Packed, loss: LossConfig) -> torch.Tensor | None:
        """[M] divergence from the reference; only rows that ask for it are computed, 0 elsewhere."""
        if not part.batch.kl.any():
            return None
        width = part.forest.tokens.shape[1]
        asking = torch.zeros(len(part.forest.tokens), dtype=torch.bool)
        asking[(part.forest.predictor // width)[part.batch.kl > 0]] = True
        rows, there = part.forest.of_rows(asking)
        with torch.no_grad():
            reference = _predict(self._reference, _hidden(self._reference, rows), rows, loss.temperature)
        result = torch.zeros_like(model.logprobs)
        result[there] = divergence(Predicted(model.everything[there], model.logprobs[there]), reference, loss.kl)
        return result

    def optim_step(self, adam: AdamParams) -> dict[str, float]:
        """See `mage.engine.base.Engine.optim_step`."""
        parameters = [p for p in self._parameters if p.grad is not None]
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


def _value_head(model: Any) -> torch.nn.Linear:
    """A linear value of the last hidden state; 0 everywhere at the start."""
    head = torch.nn.Linear(model.config.hidden_size, 1, device=model.device)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    return head


def _hidden(model: Any, forest: Forest) -> torch.Tensor:
    """[B · L, H] last hidden states of all nodes."""
    state: torch.Tensor = model.get_decoder()(
        input_ids=forest.tokens, attention_mask=forest.visible, position_ids=forest.positions, use_cache=False
    ).last_hidden_state
    return state.flatten(0, 1)


def _predict(model: Any, hidden: torch.Tensor, forest: Forest, temperature: float) -> Predicted:
    """What `model` says of the sampled tokens; logits are computed there only."""
    logits = model.get_output_embeddings()(hidden[forest.predictor]).float()
    own = forest.temperature
    return Predicted.of(logits, forest.targets, temperature if own is None else own.where(own > 0, temperature))


def _first_bad(logprobs: torch.Tensor) -> int:
    """The first token whose log-probability is not finite (0 if the loss overflowed elsewhere)."""
    bad = (~logprobs.isfinite()).nonzero()
    return int(bad[0, 0]) if len(bad) else 0
