"""EMPO²'s three importance ratios and its two masks on a response of three tokens, through the engine's loss."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from mage.engine.base import Datum, LossConfig, TokenScores
from mage.engine.forest import pack
from mage.engine.loss import Predicted, policy_loss
from mage.learn.data import Coefficients, training_data
from mage.learn.hybrid import improbable_turns, with_old_logprobs
from mage.play.records import StopReason, Task, Trial, Turn

OLD_AIDED = (0.5, 0.5, 0.5)
"""π_old(a | s, tips), which sampled the response."""
OLD = (0.25, 0.4, 0.05)
"""π_old(a | s)."""
AIDED = (0.55, 0.5, 0.6)
"""π(a | s, tips) after some updates."""
PLAIN = (0.5, 0.2, 0.04)
"""π(a | s) after some updates."""
CLIP = LossConfig(clip_low=0.2, clip_high=0.3)


def trial(read: Sequence[int], probabilities: Sequence[float]) -> Trial:
    """One turn of the tokens 7, 8, 9 after those that were read."""
    logprobs = tuple(math.log(p) for p in probabilities)
    turn = Turn("act", 0, 0, len(read), len(read) + 3, logprobs, "", "", "", "s", True)
    task = Task(0, 0, "x", 1, "redeal", 0)
    return Trial(task, 0, ((*read, 7, 8, 9),), (turn,), (), StopReason.COMPLETED)


def data(one: Trial) -> list[Datum]:
    """With advantage 1."""
    return training_data([one], [np.ones(1)], Coefficients()).data


def loss(items: Sequence[Datum], now: Sequence[float], config: LossConfig = CLIP) -> tuple[float, dict[str, float]]:
    """Sum of the policy loss over the three tokens where the model gives them the probabilities `now`."""
    (part,) = pack(items, 1000)
    rows = torch.tensor([[p, 1 - p] for p in now])
    model = Predicted.of(rows.log(), torch.zeros(3, dtype=torch.long), 1.0)
    total, seen = policy_loss(model, None, part.batch, config)
    return float(total), {name: float(value) for name, value in seen.items()}


TIPS, NONE = (1, 5, 5, 2), (1, 2)
"""What was read, with tips (5 5) and without."""


def test_plain() -> None:
    # played without tips, π(a|s) / π_old(a|s): 2 (clipped to 1.3), 0.5, 0.8
    total, seen = loss(data(trial(NONE, OLD)), PLAIN)
    assert total == pytest.approx(-(1.3 + 0.5 + 0.8), abs=1e-6)
    assert seen["ratio_mean"] == pytest.approx(2 + 0.5 + 0.8, abs=1e-6)


def test_on_policy_with_tips() -> None:
    # π(a|s,tips) / π_old(a|s,tips): 1.1, 1, 1.2
    assert loss(data(trial(TIPS, OLD_AIDED)), AIDED)[0] == pytest.approx(-(1.1 + 1 + 1.2), abs=1e-6)


def test_off_policy() -> None:
    # the same response after the prompt without tips, π(a|s) / π_old(a|s,tips): 1, 0.4, 0.08
    (unaided,) = data(trial(NONE, OLD_AIDED))
    assert unaided.tokens.tolist() == [1, 2, 7, 8, 9]
    assert loss([unaided], PLAIN)[0] == pytest.approx(-(1 + 0.4 + 0.08), abs=1e-6)


def test_off_policy_as_printed() -> None:
    # π(a|s) / π_old(a|s), whatever sampled the response: as if it had been played without tips
    given = data(trial(NONE, OLD_AIDED))
    scores = [TokenScores(np.log([1, 1, *OLD]).astype(np.float32), np.zeros(5, np.float32))]
    (printed,) = with_old_logprobs(given, scores)
    assert printed.logprobs.dtype == np.float32
    assert loss([printed], PLAIN)[0] == pytest.approx(-(1.3 + 0.5 + 0.8), abs=1e-6)
    assert np.exp(given[0].logprobs[2:]) == pytest.approx(OLD_AIDED)  # what was given stays as it was


def test_mask_of_tokens() -> None:
    # δ = 0.1: the third token (0.04) is left out of whichever ratio
    masked = LossConfig(clip_low=0.2, clip_high=0.3, mask_below=0.1)
    total, seen = loss(data(trial(NONE, OLD_AIDED)), PLAIN, masked)
    assert total == pytest.approx(-(1 + 0.4), abs=1e-6)
    assert seen["masked_share"] == 1  # of three
    assert loss(data(trial(NONE, OLD)), PLAIN, masked)[0] == pytest.approx(-(1.3 + 0.5), abs=1e-6)


def test_mask_of_turns() -> None:
    # at −2.9 the turn goes for its third token (log 0.05 = −2.996), at −3 it stays
    one = trial(NONE, OLD)
    assert [turns.tolist() for turns in improbable_turns([one, trial(TIPS, OLD_AIDED)], -2.9)] == [[True], [False]]
    assert [turns.tolist() for turns in improbable_turns([one], -3.0)] == [[False]]
    for least, total in ((-2.9, 0.0), (-3.0, -2.6)):
        silent = improbable_turns([one], least)
        items = training_data([one], [np.ones(1)], Coefficients(entropy_action=0.5 * silent[0][0]), silent=silent).data
        assert loss(items, PLAIN)[0] == pytest.approx(total, abs=1e-6)
    assert improbable_turns([]) == []


def test_the_limit_of_a_turn_is_that_of_the_released_code() -> None:
    at, below = (trial(NONE, [1, math.exp(logprob), 1]) for logprob in (-4.99, -5.01))
    assert [turns.tolist() for turns in improbable_turns([at, below])] == [[False], [True]]
