"""Runs of several seeds in one row for each selector: mean regret, its interval, the paired difference to random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mage.analysis.stats import Interval, interval, paired
from mage.peers.play import PeerRun

AGAINST = "random"


@dataclass(frozen=True)
class PeerSummary:
    """One selector in one setting, over seeds; intervals of 95% are None for one seed."""

    setting: str
    selector: str
    seeds: tuple[int, ...]
    regret: float
    """Cumulative regret of all rounds."""
    regret_interval: tuple[float, float] | None
    regret_trial: float
    regret_exploit: float
    score: float
    difference: float | None
    """Regret minus random's on the same seeds; None for random itself, and where it was not run."""
    difference_interval: tuple[float, float] | None
    share: float | None
    """Mean regret divided by random's."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def summarise(runs: Sequence[PeerRun]) -> list[PeerSummary]:
    """A row for each selector of one setting, in the order in which they came; every one has run the same seeds."""
    by_selector: dict[str, list[PeerRun]] = {}
    for run in runs:
        by_selector.setdefault(run.selector, []).append(run)
    return [_row(same, by_selector.get(AGAINST)) for same in by_selector.values()]


def _row(runs: Sequence[PeerRun], against: Sequence[PeerRun] | None) -> PeerSummary:
    kept = [run.as_dict() for run in runs]
    regret = [float(row["regret"]) for row in kept]
    base = None if against is None or against[0].selector == runs[0].selector else _totals(against)
    mean = interval(regret)
    gap = None if base is None else paired(regret, base)
    return PeerSummary(
        setting=runs[0].setting,
        selector=runs[0].selector,
        seeds=tuple(run.seed for run in runs),
        regret=mean.mean,
        regret_interval=_ends(mean),
        regret_trial=interval([row["regret_trial"] for row in kept]).mean,
        regret_exploit=interval([row["regret_exploit"] for row in kept]).mean,
        score=interval([row["score"] for row in kept]).mean,
        difference=None if gap is None else gap.mean,
        difference_interval=None if gap is None else _ends(gap),
        share=mean.mean / interval(base).mean if base and any(base) else None,
    )


def _totals(runs: Sequence[PeerRun]) -> list[float]:
    return [float(run.regret.sum()) for run in runs]


def _ends(found: Interval) -> tuple[float, float] | None:
    return (found.low, found.high) if math.isfinite(found.low) else None
