"""`mage peers`: whom to ask, selectors side by side."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mage.errors import MageError, unknown
from mage.run.files import encode

if TYPE_CHECKING:
    from rich.table import Table

    from mage.peers.summary import PeerSummary


def peers_command(
    setting: str,
    *,
    selectors: str,
    rounds: int,
    trial_rounds: int | None,
    seeds: str,
    alpha: float | None,
    ridge: float | None,
    json: bool,
) -> None:
    """Run every selector on every seed and show what it cost; JSON has every round of every run."""
    from mage.peers.play import SETTINGS, run_peers, trial_length
    from mage.peers.selectors import ALPHA, RIDGE, check_selectors
    from mage.peers.summary import summarise

    if setting not in SETTINGS:
        raise MageError(unknown("setting", setting, SETTINGS))
    names = [word.strip() for word in selectors.split(",")]
    check_selectors(names)
    numbers = split_seeds(seeds)
    trial = trial_length(rounds, trial_rounds)
    alpha, ridge = ALPHA if alpha is None else alpha, RIDGE if ridge is None else ridge
    runs = [
        asyncio.run(run_peers(setting, name, seed, rounds=rounds, trial_rounds=trial, alpha=alpha, ridge=ridge))
        for name in names
        for seed in numbers
    ]
    rows = summarise(runs)
    if json:
        asked = {"setting": setting, "rounds": rounds, "trial_rounds": trial, "alpha": alpha, "ridge": ridge}
        found = {"selectors": [row.as_dict() for row in rows], "runs": [run.as_dict() for run in runs]}
        sys.stdout.write(encode({**asked, **found}) + "\n")
    else:
        show_peers(rows, f"{setting}: {SETTINGS[setting]}", rounds, trial)


def split_seeds(seeds: str) -> list[int]:
    """Different whole numbers of a comma-separated list. Raises MageError for anything else.

    >>> split_seeds("0, 1,2")
    [0, 1, 2]
    """
    try:
        numbers = [int(word) for word in seeds.split(",")]
    except ValueError:
        numbers = []
    if not numbers or len(set(numbers)) < len(numbers):
        raise MageError(f"--seeds {seeds!r}: expected different whole numbers separated by commas, such as 0,1,2")
    return numbers


def show_peers(rows: Sequence[PeerSummary], title: str, rounds: int, trial: int) -> None:
    """The table, in the terminal or as text."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print(title, style="bold", markup=False)
    console.print(peers_table(rows))
    seeds = len(rows[0].seeds)
    console.print(
        f"cumulative regret over {rounds} rounds, {trial} of them the trial phase; {seeds} seed{'s' * (seeds > 1)}, "
        "intervals of 95%, differences paired by seed; right: share of tasks answered rightly",
        style="dim",
    )


def peers_table(rows: Sequence[PeerSummary]) -> Table:
    """A row for each selector."""
    from rich.table import Table

    table = Table(header_style="dim", box=None, padding=(0, 2))
    table.add_column("selector", no_wrap=True)
    for column in ("regret", "interval", "trial", "exploitation", "− random", "interval", "÷ random", "right"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.selector,
            f"{row.regret:z.2f}",
            _range(row.regret_interval),
            f"{row.regret_trial:z.2f}",
            f"{row.regret_exploit:z.2f}",
            "" if row.difference is None else f"{row.difference:z.2f}",
            _range(row.difference_interval),
            "" if row.share is None else f"{row.share:.2f}",
            f"{row.score:.1%}",
        )
    return table


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:z.2f} … {interval[1]:z.2f}"
