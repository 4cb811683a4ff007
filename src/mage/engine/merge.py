"""Sequences that were sampled more than once are computed once, exactly.

The clipped surrogate min(r·A, clip(r)·A) is linear in A on either side of zero: A⁺·min(r, 1+ε) for A ≥ 0 and
A⁻·max(r, 1−ε) for A < 0. Copies of a sequence share r, so their positive and negative advantages add up; entropy and KL
coefficients add up likewise. The sum over copies is the same number, for one forward and backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mage.engine.base import Datum, Floats


@dataclass(slots=True)
class Merged:
    """One distinct sequence and what all of its copies ask of it; arrays of length T."""

    datum: Datum
    """The first copy: tokens, mask and log-probabilities."""
    gain: Floats
    """Sum of the positive advantages at each token."""
    loss: Floats
    """Sum of the negative advantages at each token."""
    entropy: Floats
    kl: Floats
    copies: int


def merge(data: Sequence[Datum]) -> list[Merged]:
    """The distinct sequences of `data` in order of first appearance.

    Copies agree in tokens, mask and the sampler's log-probabilities bit for bit.
    """
    merged: dict[tuple[bytes, bytes, bytes], Merged] = {}
    for datum in data:
        key = (datum.tokens.tobytes(), datum.sampled.tobytes(), datum.logprobs.tobytes())
        gain, loss = np.maximum(datum.advantages, 0), np.minimum(datum.advantages, 0)
        found = merged.get(key)
        if found is None:
            merged[key] = Merged(datum, gain, loss, datum.entropy.copy(), datum.kl.copy(), 1)
        else:
            found.gain += gain
            found.loss += loss
            found.entropy += datum.entropy
            found.kl += datum.kl
            found.copies += 1
    return list(merged.values())
