"""The local engine: a causal Transformers model in this process, sampled by continuous batching and trained."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from mage.engine.base import AdamParams, Datum, Floats, LossConfig, Renderer, Sample, SamplingParams, TokenScores
from mage.engine.render import ChatRenderer
from mage.engine.sampler import ContinuousBatcher
from mage.engine.trainer import Trainer
from mage.errors import EngineError

STATE = "engine.json"
EXACT = 1e-2
"""Largest difference of log-probabilities between the model as it is and as this engine computes it (bfloat16)."""


class LocalEngine:
    """All four verbs on one model. The reference of the KL penalty is the model as it was given.

    >>> engine = LocalEngine.open(Path("model"))                                            # doctest: +SKIP
    >>> sample = await engine.sample(prompt, SamplingParams(max_tokens=8), seed=0)           # doctest: +SKIP
    """

    def __init__(self, model: Any, tokenizer: Any, *, max_tokens_per_batch: int = 16384, critic: bool = False) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer  # eval: dropout would part sampler and trainer
        self.renderer: Renderer = ChatRenderer(tokenizer)
        self.context_length = _context_length(model.config)
        check_exact(model, min(8, self.context_length))
        self._trainer = Trainer(model, max_tokens_per_batch=max_tokens_per_batch, critic=critic)
        self._batcher = ContinuousBatcher(model, tokenizer)

    @classmethod
    def open(cls, folder: Path, *, max_tokens_per_batch: int = 16384, critic: bool = False) -> LocalEngine:
        """The engine of a Transformers folder, with a value head on its last hidden state if `critic` says so.

        Raises EngineError where there is none, or only pickled weights.
        """
        model, tokenizer = open_model(folder)
        return cls(model, tokenizer, max_tokens_per_batch=max_tokens_per_batch, critic=critic)

    async def sample(self, prompt: Sequence[int], params: SamplingParams, seed: int) -> Sample:
        """See `mage.engine.base.Sampler`."""
        return await self._batcher.sample(prompt, params, seed)

    async def forward_backward(self, data: Sequence[Datum], loss: LossConfig) -> dict[str, float]:
        """See `mage.engine.base.Engine`."""
        return self._trainer.forward_backward(data, loss)

    async def values(self, data: Sequence[Datum]) -> list[Floats]:
        """See `mage.engine.base.Critic`."""
        return self._trainer.values(data)

    async def score(self, data: Sequence[Datum], temperature: float) -> list[TokenScores]:
        """See `mage.engine.base.Scorer`."""
        return self._trainer.score(data, temperature)

    async def optim_step(self, adam: AdamParams) -> dict[str, float]:
        """See `mage.engine.base.Engine`."""
        self._batcher.forget()
        return self._trainer.optim_step(adam)

    def freeze_reference(self) -> None:
        """Take the weights as they are now as the reference of the KL penalty."""
        self._trainer.freeze_reference()

    @property
    def computed_tokens(self) -> int:
        """Tokens that the sampler ran through the model since the start."""
        return self._batcher.computed_tokens

    @property
    def requested_tokens(self) -> int:
        """Tokens of prompts and responses since the start, as if each prompt were encoded afresh."""
        return self._batcher.requested_tokens

    def token_texts(self, tokens: Sequence[int]) -> list[str]:
        """The text of each token, for viewers."""
        return [str(text) for text in self.tokenizer.batch_decode([[token] for token in tokens])]

    def save_state(self, folder: Path) -> None:
        """Write weights, optimizer moments and the reference into `folder`."""
        _save(self.model.state_dict(), folder / "weights.safetensors")
        state = self._trainer.optimizer.state_dict()["state"]
        moments = {f"{index}.{name}": value for index, entry in state.items() for name, value in entry.items()}
        _save(moments, folder / "optimizer.safetensors")
        if self._trainer.critic is not None:
            _save(self._trainer.critic.state_dict(), folder / "critic.safetensors")
        if self._trainer.reference is not None:
            _save(self._trainer.reference.state_dict(), folder / "reference.safetensors")
        (folder / STATE).write_text(json.dumps(self._kind()) + "\n")

    def load_state(self, folder: Path) -> None:
        """Take everything back that `save_state` wrote. Raises EngineError, naming the file, where it does not fit."""
        _check_kind(folder / STATE, self._kind())
        self._batcher.forget()
        if (folder / "reference.safetensors").exists():
            self._trainer.freeze_reference()
            _load(self._trainer.reference, folder / "reference.safetensors")
        _load(self.model, folder / "weights.safetensors")
        if self._trainer.critic is not None:
            _load(self._trainer.critic, folder / "critic.safetensors")
        entries: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in _read(folder / "optimizer.safetensors").items():
            index, _, name = key.partition(".")
            entries.setdefault(int(index), {})[name] = value
        optimizer = self._trainer.optimizer
        optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})

    def _kind(self) -> dict[str, Any]:
        """What a saved state must have been written by to fit."""
        return {"engine": "local", "parameters": sum(p.numel() for p in self.model.parameters())}

    def save_model(self, folder: Path) -> None:
        """Write a folder that Transformers opens."""
        _hide_progress_bars()
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)


def check_exact(model: Any, length: int) -> None:
    """Whether what this engine computes of a model is what the model itself says, on one sequence of `length` tokens.

    Sampler and trainer apply the output embeddings to the decoder's hidden states. A family that does more than that
    (scales or caps its logits) would be trained as another model, with both halves wrong alike. Raises EngineError.
    """
    tokens = torch.arange(1, length + 1, device=model.device)[None] % model.config.vocab_size
    visible = torch.ones(1, 1, length, length, dtype=torch.bool, device=model.device).tril()
    with torch.inference_mode():
        hidden = model.get_decoder()(input_ids=tokens, attention_mask=visible, use_cache=False).last_hidden_state
        ours = model.get_output_embeddings()(hidden).float().log_softmax(-1)
        gap = float((ours - model(tokens).logits.float().log_softmax(-1)).abs().max())
    if not gap < EXACT:
        raise EngineError(
            f"models of type {model.config.model_type!r} are not supported: they do more than apply their output "
            f"embeddings to the last hidden state (log-probabilities would be wrong by {gap:.3g})"
        )


def _context_length(config: Any) -> int:
    """Longest context; where layers see a sliding window only, its length: up to there they see everything."""
    longest = int(config.max_position_embeddings)
    slides = "sliding_attention" in (getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    families = slides or (getattr(config, "layer_types", None) is None and getattr(config, "use_sliding_window", True))
    return min(longest, int(window)) if window and families else longest


def set_threads(threads: int) -> None:
    """How many threads PyTorch may use in this process; 0 means all cores. Sums depend on it in the last bit."""
    torch.set_num_threads(threads or os.cpu_count() or 1)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread of PyTorch inside, as many as before after it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def open_model(folder: Path) -> tuple[Any, Any]:
    """Model (float32) and tokenizer of a Transformers folder; only safetensors are read, never pickled weights.

    Raises EngineError where there is none, where it does not open, and where weights and config are of two models.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    _hide_progress_bars()
    if not (folder / "config.json").is_file():
        raise EngineError(f"{folder}: no model folder (it has no config.json)")
    if not list(folder.glob("*.safetensors")):
        raise EngineError(f"{folder}: no safetensors file; weights in other formats are not loaded")
    try:
        opened: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            use_safetensors=True,
            dtype=torch.float32,
            local_files_only=True,
            attn_implementation="sdpa",
            output_loading_info=True,
        )
        model, loaded = opened
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # Transformers raises what it likes where a config makes no sense
        reason = " ".join(str(error).split())  # in one line
        raise EngineError(f"{folder}: cannot be opened as a Transformers model ({reason})") from None
    for kind in ("missing", "unexpected"):  # Transformers would fill up with random weights, or drop some
        if names := sorted(loaded[f"{kind}_keys"]):
            raise EngineError(f"{folder}: the weights are not those of its config.json: {names[0]} is {kind}")
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()  # out of the mapped file: sums depend in the last bit on alignment
    return model, tokenizer


def _hide_progress_bars() -> None:
    from transformers.utils import logging

    logging.disable_progress_bar()  # files are a matter of milliseconds, and the terminal belongs to our own display


def _check_kind(path: Path, wanted: dict[str, Any]) -> None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"{path}: cannot be read ({error})") from None
    if found != wanted:
        raise EngineError(f"{path}: a state of another engine or model: {found} there, {wanted} here")


def _save(tensors: dict[str, torch.Tensor], path: Path) -> None:
    save_file({name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}, path)


def _read(path: Path) -> dict[str, torch.Tensor]:
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise EngineError(f"{path}: cannot be read ({error})") from None


def _load(model: Any, path: Path) -> None:
    tensors = _read(path)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise EngineError(f"{path}: does not fit the model ({str(error).splitlines()[-1].strip()})") from None
