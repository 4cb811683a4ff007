"""Scores of many trials: payoff by episode with its interval, results, pass@k; exact or estimated by the same code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from mage.analysis.exact import payoffs, pool, shares_of
from mage.analysis.stats import interval
from mage.play.records import Trial
from mage.run.exact_play import Weighted

T = TypeVar("T")
Numbers = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """What trials scored, by episode (index 0 is the first).

    Episodes count over the trials that played them; None stands for an episode that none of them came to.
    """

    trials: int
    """How many trials this rests on."""
    payoff: Numbers
    interval: tuple[tuple[float, float] | None, ...]
    """95% interval of the payoff; of no width where it is exact, None where trials depend on one another."""
    by_seat: dict[int, Numbers]
    won: Numbers
    drawn: Numbers
    lost: Numbers
    pass_at_k: Numbers
    """Share of trials with a win in any of the first k episodes (cumulative: beside the payoff, not instead).

    None for k > 1 where exact trials with shuffled remarks share the chance of their episodes.
    """
    turns: Numbers
    """Mean responses per episode."""
    invalid_share: float
    """Share of responses that were illegal or malformed."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        row = asdict(self)
        row["by_seat"] = {str(seat): list(values) for seat, values in self.by_seat.items()}
        return row


def pooled_scores(
    found: Mapping[tuple[str, int], Weighted], shares: Mapping[str, float], episodes: int, exact: bool
) -> Scores:
    """Scores over (opponent, seat) pairs: opponents by `shares`, seats equally."""

    def expected(value: Callable[[Trial], Sequence[float]]) -> Numbers:
        return _padded(pool(found, shares, value).pooled, episodes)

    payoff = pool(found, shares, payoffs)
    responses, invalid = pool(
        found, shares, lambda trial: (len(trial.turns), sum(not turn.legal for turn in trial.turns))
    ).pooled
    return Scores(
        trials=sum(map(len, found.values())),
        payoff=_padded(payoff.pooled, episodes),
        interval=_padded(_intervals(found, shares, payoff.pooled, exact), episodes),
        by_seat={seat: _padded(values, episodes) for seat, values in payoff.by_seat.items()},
        won=expected(shares_of("won")),
        drawn=expected(shares_of("drawn")),
        lost=expected(shares_of("lost")),
        pass_at_k=expected(lambda trial: successes(trial, episodes)),
        turns=expected(lambda trial: [episode.turns for episode in trial.episodes]),
        invalid_share=invalid / responses if responses else 0.0,
    )


def successes(trial: Trial, episodes: int) -> list[float]:
    """For k = 1 … N whether any of the first k episodes was won."""
    won = [episode.result == "won" for episode in trial.episodes]
    return [float(any(won[:k])) for k in range(1, episodes + 1)]


def _padded(values: tuple[T, ...], episodes: int) -> tuple[T | None, ...]:
    return (*values, *[None] * (episodes - len(values)))


def _intervals(
    found: Mapping[tuple[str, int], Weighted], shares: Mapping[str, float], means: Sequence[float], exact: bool
) -> tuple[tuple[float, float], ...]:
    """Intervals by episode. Sampled pairs are strata: their variances add by the square of their weights.

    A stratum counts by its share and by how many of its trials came to the episode.
    """
    if exact:
        return tuple((mean, mean) for mean in means)
    everything = [reward for trials in found.values() for _, trial in trials for reward in payoffs(trial)]
    bounds = []
    for n, mean in enumerate(means):
        strata = []
        for (name, _), trials in found.items():
            rewards = [trial.episodes[n].reward for _, trial in trials if len(trial.episodes) > n]
            if rewards:
                strata.append((shares[name] * len(rewards) / len(trials), _half_width(rewards, everything)))
        total = sum(weight for weight, _ in strata)
        half = math.hypot(*(weight / total * width for weight, width in strata))
        bounds.append((mean - half, mean + half))
    return tuple(bounds)


def _half_width(rewards: Sequence[float], everything: Sequence[float]) -> float:
    """Half the width of the interval of a mean; one reward alone borrows the spread of all there are."""
    if len(rewards) > 1:
        estimate = interval(rewards)
        return estimate.high - estimate.mean
    estimate = interval(everything)
    return (estimate.high - estimate.mean) * math.sqrt(len(everything))
