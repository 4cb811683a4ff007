"""Scores of many trials: payoff by episode with its interval, results, pass@k; exact or estimated by the same code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mage.analysis.exact import payoffs, pool, shares_of
from mage.analysis.stats import interval
from mage.play.records import Trial
from mage.run.exact_play import Weighted

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """What trials scored, by episode (index 0 is the first). Episodes count over the trials that played them."""

    trials: int
    """How many trials this rests on."""
    payoff: Numbers
    interval: tuple[tuple[float, float], ...]
    """95% interval of the payoff; of no width where it is exact."""
    by_seat: dict[int, Numbers]
    won: Numbers
    drawn: Numbers
    lost: Numbers
    pass_at_k: Numbers
    """Share of trials with a win in any of the first k episodes (cumulative: beside the payoff, not instead)."""
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
        return pool(found, shares, value).pooled

    payoff = pool(found, shares, payoffs)
    responses = sum(expected(lambda trial: [len(trial.turns)]))
    invalid = sum(expected(lambda trial: [sum(not turn.legal for turn in trial.turns)]))
    return Scores(
        trials=sum(map(len, found.values())),
        payoff=payoff.pooled,
        interval=_intervals(found, shares, payoff.pooled, exact),
        by_seat=payoff.by_seat,
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


def _intervals(
    found: Mapping[tuple[str, int], Weighted], shares: Mapping[str, float], means: Numbers, exact: bool
) -> tuple[tuple[float, float], ...]:
    """Intervals by episode. Sampled pairs are strata: their variances add by the square of their weights."""
    if exact:
        return tuple((mean, mean) for mean in means)
    total = sum(shares[name] for name, _ in found)
    bounds = []
    for n, mean in enumerate(means):
        variance = 0.0
        for (name, _), trials in found.items():
            rewards = [trial.episodes[n].reward for _, trial in trials if len(trial.episodes) > n]
            if len(rewards) > 1:
                half = interval(rewards).high - sum(rewards) / len(rewards)
                variance += (shares[name] / total * half) ** 2
        bounds.append((mean - variance**0.5, mean + variance**0.5))
    return tuple(bounds)
