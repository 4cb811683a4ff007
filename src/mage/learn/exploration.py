"""Advantages shaped towards exploration, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mage.engine.base import Datum, Floats, TokenScores


def entropy_advantage(
    data: Sequence[Datum], scores: Sequence[TokenScores], weight: float = 0.4, share: float = 2.0
) -> list[Datum]:
    """A + min(α·H, |A|/κ) at each sampled token, with α = `weight` and κ = `share` > 1 of `data`.

    H is the entropy in `scores`, a number: no gradient goes through it. The bonus never turns the sign of an advantage,
    and where there is no advantage there is none. Source: arXiv 2506.14758; α = 0.4 and κ = 2 are its values.
    A = 1, −1, 0.1 and H = 0.5 give 1.2, −0.8, 0.15.
    """
    return [
        replace(datum, advantages=_shaped(datum, score, weight, share))
        for datum, score in zip(data, scores, strict=True)
    ]


def _shaped(datum: Datum, score: TokenScores, weight: float, share: float) -> Floats:
    bonus = np.minimum(weight * score.entropies, np.abs(datum.advantages) / share)
    shaped: Floats = (datum.advantages + bonus).astype(np.float32)
    return shaped
