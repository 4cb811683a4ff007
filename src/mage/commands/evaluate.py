"""`mage eval`: measure, show the table, keep the result."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mage.commands.recipes import load_recipe
from mage.errors import RunError
from mage.run.files import Row, encode
from mage.run.folder import RunFolder

if TYPE_CHECKING:
    from rich.table import Table

LONGEST_NAME = 200


def eval_command(target: Path, *, recipe: str | None, json: bool, options: Row) -> None:
    """Evaluate `target`; `options` are those of `mage.run.evaluate.evaluate`."""
    is_run = RunFolder.is_run(target)
    if not target.exists():
        raise RunError(f"{target} does not exist: give a run folder, or the folder of a model with --recipe")
    if not is_run and recipe is None:
        raise RunError(f"{target} is no run folder (it has no recipe.json); for a model's folder give --recipe too")
    folder = RunFolder.open(target) if is_run else None
    played = load_recipe(recipe) if recipe else None
    if folder and played and played.game.name != folder.recipe.game.name:
        logging.getLogger(__name__).warning(
            "%s was trained on %s and plays %s: its words may mean nothing to the model",
            target,
            folder.recipe.game.name,
            played.game.name,
        )
    from mage.run.evaluate import evaluate  # after the checks: it takes seconds

    result: Row = evaluate(target, recipe=played, **options).as_dict()
    try:
        path = folder.write_eval(eval_name(options, recipe), result) if folder else None
    except RunError:
        _show(result, None, json=json)  # what took long to measure is at least seen
        raise
    _show(result, path, json=json)


def _show(result: Row, path: Path | None, *, json: bool) -> None:
    if json:
        sys.stdout.write(encode(result) + "\n")
        return
    show_eval(result)
    if path:
        sys.stdout.write(f"kept in {path}\n")


def eval_name(options: Row, recipe: str | None = None) -> str:
    """Name under which a result is kept: `default`, or the options that make it another measurement.

    >>> eval_name({"held_out": True, "temperature": 0.7, "actor": "model"})
    'held_out-temperature_0.7'
    """
    parts = [Path(recipe).stem] if recipe else []
    parts += ["random"] if options.get("actor") == "random" else []
    parts += [name for name in ("held_out", "shuffle_remarks") if options.get(name)]
    parts += [_file_name(opponent) for opponent in options.get("opponents") or ()]
    exact = options.get("exact")
    parts += [] if exact is None else ["exact" if exact else "sampled"]
    parts += [f"{name}_{options[name]}" for name in ("temperature", "trials", "seed") if options.get(name) is not None]
    name = "-".join(parts) or "default"
    if len(name.encode()) > LONGEST_NAME:  # file systems refuse more than 255 bytes
        name = f"{name[:80]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return name


def show_eval(result: Row) -> None:
    """The table, in the terminal or as text."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print(eval_table(result))
    how = "exact" if result["kind"] == "exact" else "sampled, 95% intervals"
    why = f" (not exact: {result['why_not_exact']})" if result.get("why_not_exact") else ""
    more = f"{result['units']}, {how}{why}; temperature {result['temperature']}, {result['seconds']:.1f} s"
    console.print(more, style="dim", markup=False)


def eval_table(result: Row) -> Table:
    """Payoff by episode with its interval, per opponent and pooled, beside the exact values."""
    from rich.table import Table
    from rich.text import Text

    exact = result["kind"] == "exact"
    table = Table(title="payoff by episode", title_justify="left", header_style="dim", box=None, padding=(0, 2))
    table.add_column("opponent", no_wrap=True)
    for episode in range(result["episodes"]):
        table.add_column(f"episode {episode + 1}", justify="right", no_wrap=True)
    table.add_column("last: won/drawn/lost", justify="right", no_wrap=True)
    table.add_column("trials", justify="right")
    for name, row in result["opponents"].items():
        label = Text(name + (" (held out)" if row["held_out"] else ""))
        table.add_row(label, *_payoffs(row, exact), _shares(row), f"{row['trials']:,}")
    pooled = result["pooled"]
    table.add_row("all", *_payoffs(pooled, exact), _shares(pooled), f"{pooled['trials']:,}", style="bold")
    limits = result.get("limits")
    if limits:
        count = result["episodes"]
        table.add_section()
        for limit, values in (
            ("best that cannot adapt", [limits["non_adaptive"]] * count),
            ("adaptive optimum", limits["adaptive_by_episodes"]),
            ("opponent known", [limits["known"]] * count),
        ):
            table.add_row(limit, *(f"{value:z.4f}" for value in values), "", "exact", style="cyan")
    return table


def _payoffs(row: Row, exact: bool) -> Iterator[str]:
    for value, interval in zip(row["payoff"], row["interval"], strict=True):
        if value is None:
            yield "–"
        elif exact:
            yield f"{value:z.4f}"
        else:
            yield f"{value:z.3f} ± {(interval[1] - interval[0]) / 2:.3f}"  # Student's interval is symmetric


def _shares(row: Row) -> str:
    shares: Sequence[float | None] = [row[key][-1] for key in ("won", "drawn", "lost")]
    return "/".join("–" if share is None else f"{share:.0%}" for share in shares)


def _file_name(opponent: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in opponent)
