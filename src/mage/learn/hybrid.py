"""EMPO²'s learning on and off policy (arXiv 2602.23008): denominators of the importance ratio, and its masks.

A response a was sampled with tips in sight, from π_old(a | s, tips). What is learned from it is decided by the data:

- on policy with tips, π(a | s, tips) / π_old(a | s, tips): the data of the trials as they were played;
- off policy, π(a | s) / π_old(a | s, tips): the data of the trials without tips, the log-probabilities as sampled
  (the paper's Table 3 and its released code);
- off policy, π(a | s) / π_old(a | s): the same, with `with_old_logprobs` (as printed in the paper's section 4.2).

The mask of single tokens, π(a | s) < δ (the paper's), changes as the model does: `mask_below` of the engine's loss. The
mask of whole turns (the released code's, off there by default) is `improbable_turns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mage.engine.base import Datum, TokenScores
from mage.learn.table import Mask
from mage.play.records import Trial


def with_old_logprobs(data: Sequence[Datum], scores: Sequence[TokenScores]) -> list[Datum]:
    """The data with log π_old taken from `scores`, what the model says of them before the update.

    The importance ratio then starts at 1 whatever was in sight when the tokens were sampled.
    """
    return [replace(datum, logprobs=score.logprobs) for datum, score in zip(data, scores, strict=True)]


def improbable_turns(trials: Sequence[Trial], least: float = -5.0) -> list[Mask]:
    """Turns with a token whose log-probability was below `least` when it was sampled: one array per trial, [turns].

    With least = −5 log-probabilities (−1, −5.1) are masked, (−5, −5) are not.
    """
    return [
        np.array([any(each < least for each in turn.logprobs) for turn in trial.turns], dtype=np.bool_)
        for trial in trials
    ]
