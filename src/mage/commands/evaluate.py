"""`mage eval`: measure, show the table, keep the result."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mage.commands.recipes import load_recipe, recipe_path, shipped_recipes
from mage.errors import RunError
from mage.run.files import Row, encode
from mage.run.folder import RunFolder
from mage.run.recipe_record import placed
from mage.show.width import wide_console

if TYPE_CHECKING:
    from rich.table import Table

LONGEST_NAME = 200
NARROW_NAME = 12
"""To how many columns the names of opponents may be folded."""


def eval_command(target: Path, *, recipe: str | None, json: bool, options: Row) -> None:
    """Evaluate `target`; `options` are those of `mage.run.evaluate.evaluate`. Without a model a recipe will do."""
    is_run = RunFolder.is_run(target)
    if options.get("actor", "model") != "model" and recipe is None and not is_run:
        target, recipe = Path(), str(target)  # nothing is learned: what is played is enough
    if not target.exists():
        raise RunError(f"{target} does not exist: give a run folder, or the folder of a model with --recipe")
    if not is_run and recipe is None:
        raise RunError(f"{target} is no run folder (it has no recipe.json); for a model's folder give --recipe too")
    folder = RunFolder.open(target) if is_run else None
    played = load_recipe(recipe) if recipe else None
    if folder and played and placed(played).game.name != folder.recipe.game.name:
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
    parts = [f"recipe_{_recipe_name(recipe)}"] if recipe else []
    parts += [f"actor_{options['actor']}"] if options.get("actor", "model") != "model" else []
    parts += [name for name in ("held_out", "shuffle_remarks") if options.get(name)]
    parts += [_file_name(opponent) for opponent in options.get("opponents") or ()]
    exact = options.get("exact")
    parts += [] if exact is None else ["exact" if exact else "sampled"]
    parts += [f"{name}_{options[name]}" for name in ("temperature", "trials", "seed") if options.get(name) is not None]
    parts += [f"memory_{_file_name(options['memory'])}"] if options.get("memory") else []
    name = "-".join(parts) or "default"
    if len(name.encode()) > LONGEST_NAME:  # file systems refuse more than 255 bytes
        name = f"{name[:80]}-{_digest(name, 16)}"
    return name


def show_eval(result: Row) -> None:
    """The table, in the terminal or as text."""
    console = wide_console()
    for table in eval_tables(result, console.width):
        console.print(table)
    how = "exact" if result["kind"] == "exact" else "sampled, 95% intervals"
    if not any(result["pooled"]["interval"]):
        how = "sampled, without intervals: trials depend on one another through the memory"
    why = f" (not exact: {result['why_not_exact']})" if result.get("why_not_exact") else ""
    more = f"{result['units']}, {how}{why}; trials in all: {result['pooled']['trials']:,}; "
    more += f"temperature {result['temperature']}, {result['seconds']:.1f} s"
    console.print(more, style="dim", markup=False)
    if result.get("limits"):
        console.print("exact values are those of an agent that knows this pool", style="dim")


def eval_tables(result: Row, width: int) -> list[Table]:
    """Payoff by episode per opponent and pooled, beside the exact values, in `width` columns: no number is ever cut.

    Where it is narrow names are folded, trials and results are left out in this order, and episodes go on in a table
    below.
    """
    count = result["episodes"]
    for more in (("shares", "trials"), ("shares",), ()):
        table = _eval_table(result, range(count), more)
        if _narrowest(table) <= width:
            return [table]
    each = count
    while each > 1 and _narrowest(_eval_table(result, range(each), ())) > width:
        each -= 1
    return [_eval_table(result, range(first, min(first + each, count)), ()) for first in range(0, count, each)]


def _narrowest(table: Table) -> int:
    """Least width of a table: numbers whole, names folded."""
    texts = ["\n".join(map(str, (column.header, *column.cells))) for column in table.columns[1:]]
    return sum(width + 2 for width in (NARROW_NAME, *(max(map(len, text.splitlines())) for text in texts)))


def _eval_table(result: Row, episodes: range, more: Sequence[str]) -> Table:
    """The table of some episodes, with the columns `shares` and `trials` if they are among `more`."""
    from rich.table import Table
    from rich.text import Text

    exact = result["kind"] == "exact"
    table = Table(title="payoff by episode", title_justify="left", header_style="dim", box=None, padding=(0, 1))
    table.add_column("opponent" if result["opponents"] else "", overflow="fold", min_width=NARROW_NAME)
    for episode in episodes:
        table.add_column(f"episode {episode + 1}", justify="right", no_wrap=True)
    if "shares" in more:
        table.add_column("last episode:\nwon/drawn/lost", justify="right", no_wrap=True)
    if "trials" in more:
        table.add_column("trials", justify="right", no_wrap=True)

    def add(name: str, payoffs: Sequence[str], shares: str, trials: str, style: str | None = None) -> None:
        chosen = {"shares": shares, "trials": trials}
        table.add_row(Text(name), *(payoffs[n] for n in episodes), *(chosen[key] for key in more), style=style)

    for name, row in result["opponents"].items():
        held_out = " (held out)" if row["held_out"] else ""
        add(name + held_out, list(_payoffs(row, exact)), _shares(row), f"{row['trials']:,}")
    pooled = result["pooled"]
    everybody = "all" if result["opponents"] else "all trials"
    add(everybody, list(_payoffs(pooled, exact)), _shares(pooled), f"{pooled['trials']:,}", "bold")
    limits = result.get("limits")
    if limits:
        count = result["episodes"]
        table.add_section()
        for limit, values in (
            ("best that cannot adapt", [limits["non_adaptive"]] * count),
            ("adaptive optimum", limits["adaptive_by_episodes"]),
            ("opponent known", [limits["known"]] * count),
        ):
            add(limit, [f"{value:z.4f}" for value in values], "", "exact", "cyan")
    return table


def _payoffs(row: Row, exact: bool) -> Iterator[str]:
    for value, interval in zip(row["payoff"], row["interval"], strict=True):
        if value is None:
            yield "–"
        elif exact or interval is None:
            yield f"{value:z.4f}"
        else:
            yield f"{value:z.3f} ± {(interval[1] - interval[0]) / 2:.3f}"  # Student's interval is symmetric


def _shares(row: Row) -> str:
    shares: Sequence[float | None] = [row[key][-1] for key in ("won", "drawn", "lost")]
    return "/".join("–" if share is None else f"{share:.0%}" for share in shares)


def _recipe_name(recipe: str) -> str:
    """The name of a shipped recipe; of any other file, its name and a digest of where it lies."""
    path = recipe_path(recipe).resolve()
    if path in (shipped.resolve() for shipped in shipped_recipes().values()):
        return path.stem
    return f"{_plain(path.stem)}_{_digest(str(path))}"


def _file_name(opponent: str) -> str:
    """The opponent in letters, digits and underscores, with a digest of it where others have become underscores."""
    plain = _plain(opponent)
    return plain if plain == opponent else f"{plain}_{_digest(opponent)}"


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in text)


def _digest(text: str, length: int = 8) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:length]
