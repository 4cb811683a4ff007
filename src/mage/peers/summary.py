"""Runs of several seeds in one row for each selector: mean regret, its interval, the paired difference to random."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    share_trial: float | None
    """The same over the trial phase alone: in exploitation `random` and `fixed` go on as before."""

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
    base = None if against is None or against[0].selector == runs[0].selector else [run.as_dict() for run in against]
    mean = interval(_column(kept, "regret"))
    gap = None if base is None else paired(_column(kept, "regret"), _column(base, "regret"))
    return PeerSummary(
        setting=runs[0].setting,
        selector=runs[0].selector,
        seeds=tuple(run.seed for run in runs),
        regret=mean.mean,
        regret_interval=_ends(mean),
        regret_trial=interval(_column(kept, "regret_trial")).mean,
        regret_exploit=interval(_column(kept, "regret_exploit")).mean,
        score=interval(_column(kept, "score")).mean,
        difference=None if gap is None else gap.mean,
        difference_interval=None if gap is None else _ends(gap),
        share=_share(kept, base, "regret"),
        share_trial=_share(kept, base, "regret_trial"),
    )


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


def _share(rows: Sequence[Mapping[str, Any]], base: Sequence[Mapping[str, Any]] | None, name: str) -> float | None:
    """Of sums over the same seeds; None without a base, or where that has none."""
    whole = sum(_column(base or (), name))
    return sum(_column(rows, name)) / whole if whole else None


def _ends(found: Interval) -> tuple[float, float] | None:
    return (found.low, found.high) if math.isfinite(found.low) else None
