"""`mage compare`: methods side by side, a table and a plot."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mage.commands.recipes import recipe_path
from mage.commands.tables import names, numbers, span
from mage.errors import RunError
from mage.run.files import Row, encode, write_text, writing

if TYPE_CHECKING:
    from rich.table import Table

    from mage.run.compared import Compared


def compare_command(
    recipe: str,
    overrides: Sequence[str],
    *,
    methods: str,
    seeds: str,
    parallel: int | None,
    folder: Path | None,
    json: bool,
) -> None:
    """Run all, show the table, keep `compare.json` and `compare.svg` in the folder."""
    from mage.run.compare import compare, contenders
    from mage.run.compared import summarise

    path = recipe_path(recipe)
    recipes = contenders(path, overrides, names("methods", methods), numbers("seeds", seeds))
    folder = folder or Path("runs") / f"compare-{path.stem}"
    try:
        found = compare(recipes, folder, parallel=parallel, note=_say)
    except KeyboardInterrupt:
        _say("stopped; the same command goes on from there")
        raise
    failures = [one for one in found if isinstance(one, RunError)]
    failed = {one.method for one, result in zip(recipes, found, strict=True) if isinstance(result, RunError)}
    whole = [one for one in recipes if one.method not in failed]
    results = [one for one in found if not isinstance(one, RunError) and one["method"] not in failed]
    if results:
        rows = summarise(whole, results)
        kept = {"recipe": str(path), "overrides": list(overrides), "methods": [row.as_dict() for row in rows]}
        write_text(folder / "compare.json", encode({**kept, "runs": results}) + "\n")
        plot = folder / "compare.svg"
        _draw(results, plot)
        if json:
            sys.stdout.write(encode(kept) + "\n")
        else:
            show_comparison(rows, results)
            sys.stdout.write(f"kept in {folder / 'compare.json'}, drawn in {plot}\n")
        sys.stdout.flush()
    if failures:
        raise RunError(f"{len(failures)} of {len(found)} runs failed: " + "; ".join(map(str, failures)))


def show_comparison(rows: Sequence[Compared], results: Sequence[Row]) -> None:
    """The table, in the terminal or as text."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    console.print(comparison_table(rows, results[0]))
    units = results[0]["units"] if rows[0].measure == "payoff" else "share of trials"
    console.print(
        f"{units}; {_how(rows)}; intervals of 95% over seeds, differences paired by seed; tokens and seconds are those "
        "of training one seed, of its evaluation where nothing is trained",
        style="dim",
    )


def _how(rows: Sequence[Compared]) -> str:
    """How methods were evaluated; each kind is named with its methods where there are two."""
    kinds = {row.kind: [each.method for each in rows if each.kind == row.kind] for row in rows}
    words = {"exact": "evaluated exactly", "sampled": "evaluated in sampled trials"}
    if len(kinds) == 1:
        return words[rows[0].kind]
    return ", ".join(f"{' and '.join(methods)} {words[kind]}" for kind, methods in kinds.items())


def comparison_table(rows: Sequence[Compared], result: Row) -> Table:
    """A row for each method, and the exact values where there are some."""
    from rich.table import Table

    first, episodes = rows[0].method, len(rows[0].mean)
    pays = rows[0].measure == "payoff"
    title = "payoff by episode" if pays else "won within so many episodes (trials end at a success)"
    table = Table(title=title, title_justify="left", header_style="dim", box=None, padding=(0, 2))
    table.add_column("method", no_wrap=True)
    columns = [f"{'episode' if pays else 'within'} {n + 1}" for n in range(episodes)]
    for column in (*columns, "interval of the last", f"− {first}", "P(better)"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("tokens", "seconds"):
        table.add_column(column, justify="right")
    for row in rows:
        gap = _spread(row.difference, row.difference_interval)
        chance = "" if row.improvement is None else f"{row.improvement:.2f}"
        values = ["–" if value is None else f"{value:z.4f}" for value in row.mean]
        table.add_row(
            row.method, *values, span(row.interval, 4, "–"), gap, chance, f"{row.tokens:,}", f"{row.seconds:,.0f}"
        )
    limits = result.get("limits")
    if limits:
        table.add_section()
        for name, exact in (
            ("best that cannot adapt", [limits["non_adaptive"]] * episodes),
            ("adaptive optimum", limits["adaptive_by_episodes"]),
        ):
            table.add_row(name, *(f"{value:z.4f}" for value in exact), style="cyan")
    return table


def _draw(results: Sequence[Row], path: Path) -> None:
    from mage.show.charts import adaptation_figure, save_svg

    figure = adaptation_figure([{**result, "label": result["method"]} for result in results])
    with writing(path):
        save_svg(figure, path, "compare")


def _spread(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None:
        return ""
    return f"{value:+z.4f}" + (f" ± {(interval[1] - interval[0]) / 2:.4f}" if interval else "")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
