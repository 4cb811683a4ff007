"""`mage peers`: whom to ask, selectors side by side."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mage.commands.tables import numbers, span
from mage.errors import MageError, unknown
from mage.run.files import encode

if TYPE_CHECKING:
    from rich.table import Table

    from mage.engine.base import Sampler
    from mage.peers.summary import PeerSummary

COLUMNS = ("regret", "interval", "trial", "exploit", "− random", "interval", "÷ random", "÷ trial", "right")


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
    models: str | None = None,
    peers: int | None = None,
    selector_model: str | None = None,
) -> None:
    """Run every selector on every seed and show what it cost; JSON has every round of every run.

    With `models` (folders, separated by commas) the peers are models, else they are scripted; with `selector_model` the
    choice of `in_context` is a model's.
    """
    from mage.peers.play import SETTINGS, PeerRun, run_peers, trial_length
    from mage.peers.selectors import ALPHA, RIDGE, check_selectors
    from mage.peers.summary import summarise

    if setting not in SETTINGS:
        raise MageError(unknown("setting", setting, SETTINGS))
    names = [word.strip() for word in selectors.split(",")]
    check_selectors(names)
    drawn = numbers("seeds", seeds)
    trial = trial_length(rounds, trial_rounds)
    alpha, ridge = ALPHA if alpha is None else alpha, RIDGE if ridge is None else ridge
    folders = peer_folders(setting, models, peers)
    if selector_model is not None and "in_context" not in names:
        raise MageError("--selector-model goes with the selector in_context; name it in --selectors")
    opened = dict.fromkeys([*folders, *([selector_model] if selector_model else [])])
    engines = {folder: open_sampler(folder) for folder in opened}

    async def run(name: str, seed: int) -> PeerRun:
        return await run_peers(
            setting,
            name,
            seed,
            rounds=rounds,
            trial_rounds=trial,
            alpha=alpha,
            ridge=ridge,
            sampler=engines[selector_model] if selector_model else None,
            models=[engines[folder] for folder in folders],
        )

    runs = [asyncio.run(run(name, seed)) for name in names for seed in drawn]
    rows = summarise(runs)
    if json:
        asked = {
            "setting": setting,
            "rounds": rounds,
            "trial_rounds": trial,
            "alpha": alpha,
            "ridge": ridge,
            "models": folders,
            "selector_model": selector_model,
        }
        found = {"selectors": [row.as_dict() for row in rows], "runs": [run.as_dict() for run in runs]}
        sys.stdout.write(encode({**asked, **found}) + "\n")
    else:
        title = f"{len(folders)} models" if folders else SETTINGS[setting]
        show_peers(rows, f"{setting}: {title}", rounds, trial)


def peer_folders(setting: str, models: str | None, peers: int | None) -> list[str]:
    """The model folder of each peer; empty where peers are scripted.

    One folder is that of `peers` peers that hold different notes. Raises MageError where that leaves nothing to choose.
    """
    if models is None:
        if peers is not None:
            raise MageError("--peers says how many peers one model is; it goes with --models FOLDER")
        return []
    folders = [word.strip() for word in models.split(",")]
    if len(folders) > 1:
        if peers is not None and peers != len(folders):
            raise MageError(f"--peers {peers}: {len(folders)} models are {len(folders)} peers; leave --peers out")
        return folders
    if setting != "evidence":
        raise MageError(
            f"--models {models}: one model is one peer in {setting}, which leaves nothing to choose; expected at least "
            "2 models, or the setting evidence, where one model is many peers by what they hold"
        )
    if peers is None or peers < 2:
        given = "" if peers is None else f" --peers {peers}"
        raise MageError(
            f"--models {models}{given}: one peer leaves nothing to choose; expected --peers N of at least 2, "
            "or at least 2 models"
        )
    return folders * peers


def open_sampler(folder: str) -> Sampler:
    """The newest model of a run folder, or that of a Transformers folder. Raises MageError where there is none."""
    from mage.run.evaluate import open_trained
    from mage.run.folder import RunFolder

    path = Path(folder)
    return open_trained(path, RunFolder.open(path) if RunFolder.is_run(path) else None)[0]


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
        "intervals of 95%, differences paired by seed; ÷ trial: of the trial phase alone, as random does not exploit; "
        "right: share of tasks answered rightly",
        style="dim",
    )


def peers_table(rows: Sequence[PeerSummary]) -> Table:
    """A row for each selector."""
    from rich.table import Table

    table = Table(header_style="dim", box=None, padding=(0, 1))
    table.add_column("selector", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*peer_cells(row))
    return table


def peer_cells(row: PeerSummary) -> list[str]:
    """A row of the table."""
    return [
        row.selector,
        f"{row.regret:z.2f}",
        span(row.regret_interval, 2),
        f"{row.regret_trial:z.2f}",
        f"{row.regret_exploit:z.2f}",
        "" if row.difference is None else f"{row.difference:z.2f}",
        span(row.difference_interval, 2),
        "" if row.share is None else f"{row.share:.2f}",
        "" if row.share_trial is None else f"{row.share_trial:.2f}",
        f"{row.score:.1%}",
    ]
