"""Drawing tokens: vectorised over requests, each with a counter-based generator of its own.

A request's draws depend on its seed, the position in its response and the distribution, and on nothing else: not on
which other requests shared its batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mage.engine.base import SamplingParams

Matrix = npt.NDArray[np.float32]


def uniforms(seeds: npt.NDArray[np.uint64], steps: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """[R] numbers in [0, 1): SplitMix64 of (seed, step) (Steele, Lea and Flood 2014), 53 bits each."""
    with np.errstate(over="ignore"):
        z = seeds + (steps + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return np.asarray((z >> np.uint64(11)).astype(np.float64) * 2.0**-53, np.float64)


def log_softmax(logits: Matrix) -> Matrix:
    """[R, V] log-probabilities of [R, V] logits."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


def draw(
    logprobs: Matrix, uniform: npt.NDArray[np.float64], params: Sequence[SamplingParams]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Tokens [R] and their log-probabilities [R] under the temperature, top-k and top-p of each request.

    The log-probability is that of the tempered distribution before any truncation: what the trainer computes again.
    Greedy requests (temperature 0) take the arg-max and report its log-probability at temperature 1.
    """
    temperatures = np.fromiter((p.temperature for p in params), np.float32, len(params))
    greedy = temperatures == 0
    scaled = ~greedy & (temperatures != 1)  # the others keep their bits, whatever stands beside them
    tempered = logprobs
    if scaled.any():
        tempered = logprobs.copy()
        tempered[scaled] = log_softmax(logprobs[scaled] / temperatures[scaled][:, None])
    weights = np.exp(tempered, dtype=np.float64)
    for row, p in enumerate(params):
        if (p.top_p < 1 or p.top_k) and not greedy[row]:
            _truncate(weights[row], p)
    cumulative = weights.cumsum(axis=1)
    tokens = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
    np.minimum(tokens, logprobs.shape[1] - 1, out=tokens)
    if greedy.any():
        tokens[greedy] = logprobs[greedy].argmax(axis=1)
    return tokens, tempered[np.arange(len(tokens)), tokens]


def _truncate(weights: npt.NDArray[np.float64], params: SamplingParams) -> None:
    """Set to zero, in place, what top-k and then top-p leave out; the most likely token always stays."""
    order = np.argsort(-weights, kind="stable")
    keep = len(order) if params.top_k == 0 else min(params.top_k, len(order))
    mass = weights[order[:keep]].cumsum()
    keep = min(keep, int(np.searchsorted(mass, params.top_p * mass[-1])) + 1)
    weights[order[keep:]] = 0
