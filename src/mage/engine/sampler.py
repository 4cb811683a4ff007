"""The continuous batcher: requests join and leave at token granularity, and no prefix is computed twice.

Requests wait in the event loop of whoever samples. Each step computes the new nodes that all of them need in one
forward pass, draws one token for each, and hands finished responses back; a context seen before costs a look-up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mage.engine.base import Sample, SampleStop, SamplingParams
from mage.engine.draw import draw, log_softmax, uniforms
from mage.engine.prefix_tree import ROOT, PrefixTree, SlotStore
from mage.errors import EngineError

SMALL_VOCABULARY = 4096
"""Up to here the log-probabilities after every node are kept, not only those that somebody waits for."""


@dataclass(slots=True)
class _Request:
    """One response under way: it stands at a node of the tree and draws the token after it."""

    prompt: tuple[int, ...]
    params: SamplingParams
    seed: int
    done: asyncio.Future[Sample]
    mixed: bool
    """Whether its tokens are drawn at two temperatures."""
    node: int = ROOT
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)


class StopRule:
    """When a response ends: an end token, a stop string that is one added token, or a stop string in its tail."""

    def __init__(self, tokenizer: Any, stop: tuple[str, ...]) -> None:
        added = tokenizer.get_added_vocab()
        self.ids = frozenset({tokenizer.eos_token_id, *(added[text] for text in stop if text in added)} - {None})
        self._spelled = tuple(text for text in stop if text not in added)
        self._tokenizer = tokenizer

    def __call__(self, tokens: list[int]) -> bool:
        """Whether `tokens` ends with something that stops it."""
        if tokens[-1] in self.ids:
            return True
        if not self._spelled:
            return False
        tail = self._tokenizer.decode(tokens[-max(map(len, self._spelled)) - 4 :])
        return any(text in tail for text in self._spelled)


class ContinuousBatcher:
    """Samples from a causal Transformers model for any number of concurrent callers.

    `max_rows` bounds the rows of one forward pass, `max_slots` the tokens whose keys and values are kept: past it the
    tree starts anew as soon as nobody is under way.
    """

    def __init__(self, model: Any, tokenizer: Any, *, max_rows: int = 1024, max_slots: int = 200_000) -> None:
        self._decoder, self._head = model.get_decoder(), model.get_output_embeddings()
        self._tokenizer = tokenizer
        self._vocabulary = int(self._head.weight.shape[0])
        self._max_rows, self._max_slots = max_rows, max_slots
        self._rules: dict[tuple[str, ...], StopRule] = {}
        self._texts: dict[tuple[int, ...], str] = {}
        self._waiting: list[_Request] = []
        self._ready: list[_Request] = []
        self._stepping: list[_Request] = []  # those of the step under way: a failure must reach them too
        self._scheduled = False
        self.computed_tokens = 0
        """Tokens that went through the model since the start."""
        self.requested_tokens = 0
        """Tokens of prompts and responses since the start: what encoding every prompt afresh would have computed."""
        self._plant()

    def _plant(self) -> None:
        self._tree = PrefixTree(self._vocabulary)
        self._slots = SlotStore()
        self._at: dict[tuple[int, ...], int] = {}
        self._logprobs: dict[int, npt.NDArray[np.float32]] = {}

    def forget(self) -> None:
        """Drop every cached prefix: the weights have changed. Raises EngineError while requests are under way."""
        if self._waiting or self._ready:
            raise EngineError("the weights may not change while responses are being sampled")
        self._plant()

    async def sample(self, prompt: Sequence[int], params: SamplingParams, seed: int) -> Sample:
        """One response to `prompt`; see `mage.engine.base.Sampler`."""
        if not len(prompt):
            raise EngineError("an empty prompt cannot be continued: it needs at least one token")
        loop = asyncio.get_running_loop()
        if self._tree.size > self._max_slots and not self._ready and not self._waiting:
            self._plant()
        request = _Request(tuple(prompt), params, seed, loop.create_future(), params.then is not None)
        self._waiting.append(request)
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._pump, loop)
        return await request.done

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        """One step; runs again after whoever it woke has had a turn, as long as anybody waits."""
        try:
            self._step()
        except Exception as error:
            failed = self._waiting + self._ready + self._stepping
            self._waiting, self._ready, self._scheduled = [], [], False
            self._plant()
            for request in failed:
                if not request.done.done():
                    request.done.set_exception(error)
            return
        self._scheduled = bool(self._waiting or self._ready)
        if self._scheduled:
            loop.call_soon(self._pump, loop)

    def _step(self) -> None:
        """Compute what is needed, draw until everybody has ended or needs something new.

        Responses under way need one token each, prompts many: each kind has a forward pass of its own shape.
        """
        ready = self._stepping = [request for request in self._ready if not request.done.done()]
        self._ready = []
        self._compute(ready)
        admitted = self._admit()
        self._stepping = ready + admitted
        self._compute(admitted)
        pending = ready + admitted
        while pending:
            moved = self._draw(pending)
            pending = [request for request in moved if request.node in self._logprobs]
            self._ready += [request for request in moved if request.node not in self._logprobs]
        if self._vocabulary > SMALL_VOCABULARY:
            self._logprobs.clear()

    def _admit(self) -> list[_Request]:
        """Give each waiting prompt its node, growing the tree where it is new."""
        admitted = [request for request in self._waiting if not request.done.done()]
        self._waiting = []
        for request in admitted:
            node = self._at.get(request.prompt)
            if node is None:
                node = self._at[request.prompt] = self._tree.reach(request.prompt)
            request.node = node
            self.requested_tokens += len(request.prompt)
        return admitted

    def _draw(self, requests: list[_Request]) -> list[_Request]:
        """Draw the next token of each request and move it there; returns those that have not ended."""
        rows = np.stack([self._logprobs[request.node] for request in requests])
        steps = np.fromiter((len(request.tokens) for request in requests), np.uint64, len(requests))
        seeds = np.fromiter((request.seed for request in requests), np.uint64, len(requests))
        tokens, logprobs = draw(rows, uniforms(seeds, steps), [request.params for request in requests])
        moved, child = [], self._tree.child
        self.requested_tokens += len(requests)
        for request, token, logprob in zip(requests, tokens.tolist(), logprobs.tolist(), strict=True):
            request.tokens.append(token)
            request.logprobs.append(logprob)
            if request.mixed:
                self._change(request)
            stop = self._stopped(request)
            if stop is None:
                request.node = child(request.node, token)
                moved.append(request)
            else:
                self._finish(request, stop)
        return moved

    def _change(self, request: _Request) -> None:
        """Note the temperature that the newest token had; if it ends the first part, take that of the rest."""
        params = request.params
        request.temperatures.append(params.temperature or 1.0)  # greedy: the log-probability is that at 1
        if params.then and self._rule((params.then[0],))(request.tokens):
            request.params = replace(params, temperature=params.then[1], then=None)

    def _stopped(self, request: _Request) -> SampleStop | None:
        if self._rule(request.params.stop)(request.tokens):
            return "stop"
        return "length" if len(request.tokens) >= request.params.max_tokens else None

    def _rule(self, stop: tuple[str, ...]) -> StopRule:
        rule = self._rules.get(stop)
        if rule is None:
            rule = self._rules[stop] = StopRule(self._tokenizer, stop)
        return rule

    def _finish(self, request: _Request, stop: SampleStop) -> None:
        tokens = tuple(request.tokens)
        text = self._texts.get(tokens)
        if text is None:
            if len(self._texts) > 100_000:
                self._texts.clear()
            text = self._texts[tokens] = self._tokenizer.decode(tokens)
        request.done.set_result(Sample(tokens, tuple(request.logprobs), stop, text, tuple(request.temperatures)))

    @torch.inference_mode()
    def _compute(self, requests: list[_Request]) -> None:
        """Run the model over what is new on the way to each request's node; keep the log-probabilities after it."""
        wanted = dict.fromkeys(request.node for request in requests if request.node not in self._logprobs)
        chains = self._tree.chains(wanted)
        for start in range(0, len(chains), self._max_rows):
            part = chains[start : start + self._max_rows]
            rows = self._tree.rows(part)
            self._slots.serve(rows)
            hidden = self._decoder(
                input_ids=rows.tokens,
                attention_mask=rows.visible,
                position_ids=rows.positions,
                cache=self._slots,
                use_cache=True,
            ).last_hidden_state
            last = hidden[torch.arange(len(part)), rows.last]
            logprobs = log_softmax(self._head(last).float().numpy())
            self._logprobs.update(zip((chain[-1] for chain in part), logprobs, strict=True))
            self.computed_tokens += len(rows.write)
