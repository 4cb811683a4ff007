"""The four verbs between algorithms and models: sample, forward_backward, optim_step, save/load; and what passes.

The verbs keep to the shapes of the Tinker API, so that a remote training service can stand behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
SampleStop = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How one response is sampled."""

    max_tokens: int
    temperature: float = 1.0
    """0 means greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """0 means all."""
    stop: tuple[str, ...] = ()
    """Strings that end the response; they are kept in it."""
    then: tuple[str, float] | None = None
    """(text, temperature): once the response holds `text`, the rest of it is drawn at that temperature."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sampled response."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    """log π(token | prefix) of each token under the temperature it was sampled at."""
    stop: SampleStop
    text: str
    temperatures: tuple[float, ...] = ()
    """Of each token, where `SamplingParams.then` made them differ; else empty."""


class Renderer(Protocol):
    """Turns a dialogue into token ids piece by piece, so that what was sampled is never tokenized again."""

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of `text` alone."""
        ...

    def system(self, text: str) -> tuple[int, ...]:
        """Opening of a context with its system text (may be empty)."""
        ...

    def user(self, text: str) -> tuple[int, ...]:
        """A user message and the header after which the model writes."""
        ...

    def close(self, sampled: tuple[int, ...]) -> tuple[int, ...]:
        """What must follow a sampled response before the next user message (end-of-turn tokens not yet in it)."""
        ...


@runtime_checkable
class Sampler(Protocol):
    """The sampling half of an engine: enough for evaluation, opponents and peers."""

    renderer: Renderer
    context_length: int
    """Most tokens of prompt and response together."""

    async def sample(self, prompt: Sequence[int], params: SamplingParams, seed: int) -> Sample:
        """One response to `prompt` (token ids). The draws depend only on the distribution and on `seed`."""
        ...


@dataclass(frozen=True, slots=True)
class ValuePoints:
    """States of one sequence whose value is asked for or learned, K of them."""

    at: Ints
    """[K] index of the token that is chosen in each state: the state is all before it."""
    old: Floats
    """[K] value before the update."""
    target: Floats
    """[K] what it is trained towards."""


@dataclass(frozen=True, slots=True)
class Datum:
    """One sequence to learn from. All arrays have length T and are aligned with `tokens`.

    Position i says how token i was chosen given tokens before it; read tokens have `sampled` False and zeros elsewhere.
    """

    tokens: Ints
    sampled: npt.NDArray[np.bool_]
    logprobs: Floats
    """The sampler's log π(token)."""
    advantages: Floats
    entropy: Floats
    """Coefficient of the entropy bonus."""
    kl: Floats
    """Coefficient of the KL penalty to the frozen reference."""
    temperature: Floats | None = None
    """What each token was sampled at; default, and where it is 0: `LossConfig.temperature`."""
    values: ValuePoints | None = None
    """Where there is a value function to learn."""


@dataclass(frozen=True, slots=True)
class LossConfig:
    """What is minimised, as a mean over the sampled tokens.

    `policy`: the clipped importance ratio (PPO), with entropy bonus and KL by the data's per-token coefficients.
    `cross_entropy`: −advantage · log π(token), supervised learning where advantages are weights.
    """

    kind: Literal["policy", "cross_entropy"] = "policy"
    clip_low: float = 0.2
    clip_high: float = 0.2
    kl: Literal["k3", "full"] = "k3"
    """`k3` estimates the KL to the reference from the sampled token; `full` sums over the vocabulary."""
    temperature: float = 1.0
    """The temperature that the tokens were sampled at."""
    value_weight: float = 0.5
    """Weight of the mean value loss, ½ max((V − R)², (clip(V, V_old ± value_clip) − R)²) (PPO)."""
    value_clip: float = 0.2
    mask_below: float = 0.0
    """Sampled tokens that the model being trained gives less than this probability add nothing to `policy`."""


@runtime_checkable
class Critic(Protocol):
    """What an engine offers besides if it has a value function."""

    async def values(self, data: Sequence[Datum]) -> list[Floats]:
        """V of the states at `datum.values.at`, [K] for each datum."""
        ...


class TokenScores(NamedTuple):
    """What a model says of the tokens of one datum, each at its temperature; 0 at read tokens."""

    logprobs: Floats
    """[T] log π(token)."""
    entropies: Floats
    """[T] entropy of π at the token, in nats."""


@runtime_checkable
class Scorer(Protocol):
    """What an engine offers besides if it can say how likely it finds tokens that are there already."""

    async def score(self, data: Sequence[Datum], temperature: float) -> list[TokenScores]:
        """What the model as it is now says of each sampled token, one entry per datum; nothing is learned.

        temperature: of tokens whose datum does not say what they were sampled at.
        """
        ...


@dataclass(frozen=True, slots=True)
class AdamParams:
    """One optimizer step."""

    lr: float
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.0
    grad_clip: float = 1.0
    """Largest global gradient norm; 0 means no clipping."""


@runtime_checkable
class Engine(Sampler, Protocol):
    """A model that can be sampled and trained."""

    async def forward_backward(self, data: Sequence[Datum], loss: LossConfig) -> dict[str, float]:
        """Accumulate the gradient of the mean per-token loss over `data`; returns means of what was seen.

        Keys: loss, value_loss (where data have values), entropy, kl, clip_fraction, ratio_mean, logprob_diff_mean and
        logprob_diff_max (trainer against sampler), masked_share (of the sampled tokens, where `loss.mask_below` is
        above 0), tokens, sampled_tokens. Raises EngineError at a non-finite loss, naming the first bad sequence; no
        gradient is left then.
        """
        ...

    def freeze_reference(self) -> None:
        """Take the weights as they are now as the reference of the KL penalty."""
        ...

    async def optim_step(self, adam: AdamParams) -> dict[str, float]:
        """Apply the accumulated gradient; returns grad_norm. Raises EngineError at a non-finite gradient."""
        ...

    def save_state(self, folder: Path) -> None:
        """Write weights and optimizer (safetensors and JSON) into an existing, empty `folder`."""
        ...

    def load_state(self, folder: Path) -> None:
        """Take weights and optimizer from a folder that `save_state` wrote."""
        ...

    def save_model(self, folder: Path) -> None:
        """Write the model and its tokenizer as a Transformers folder."""
        ...

    def token_texts(self, tokens: Sequence[int]) -> list[str]:
        """The text of each token, for viewers."""
        ...
