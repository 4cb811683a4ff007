"""`mage compare`: methods side by side, a table and a plot."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mage.commands.recipes import recipe_path
from mage.errors import RecipeError
from mage.run.files import Row, encode, write_text, writing

if TYPE_CHECKING:
    from rich.table import Table

    from mage.run.compare import Compared


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
    from mage.run.compare import compare, contenders, summarise

    path = recipe_path(recipe)
    recipes = contenders(path, overrides, _words("methods", methods), _numbers("seeds", seeds))
    folder = folder or Path("runs") / f"compare-{path.stem}"
    results = compare(recipes, folder, parallel=parallel, note=_say)
    rows = summarise(recipes, results)
    kept = {"recipe": str(path), "overrides": list(overrides), "methods": [row.as_dict() for row in rows]}
    write_text(folder / "compare.json", encode({**kept, "runs": results}) + "\n")
    plot = folder / "compare.svg"
    _draw(results, plot)
    if json:
        sys.stdout.write(encode(kept) + "\n")
        return
    show_comparison(rows, results)
    sys.stdout.write(f"kept in {folder / 'compare.json'}, drawn in {plot}\n")


def show_comparison(rows: Sequence[Compared], results: Sequence[Row]) -> None:
    """The table, in the terminal or as text."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    console.print(comparison_table(rows, results[0]))
    how = "exact" if all(result["kind"] == "exact" for result in results) else "sampled"
    console.print(
        f"{results[0]['units']}, evaluated {how}; intervals of 95% over seeds, differences paired by seed; "
        "tokens and seconds are those of training one seed",
        style="dim",
    )


def comparison_table(rows: Sequence[Compared], result: Row) -> Table:
    """A row for each method, and the exact values where there are some."""
    from rich.table import Table

    first, episodes = rows[0].method, len(rows[0].mean)
    table = Table(title="payoff by episode", title_justify="left", header_style="dim", box=None, padding=(0, 2))
    table.add_column("method", no_wrap=True)
    for column in (*(f"episode {n + 1}" for n in range(episodes)), "interval of the last", f"− {first}", "P(better)"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("tokens", "seconds"):
        table.add_column(column, justify="right")
    for row in rows:
        gap = _spread(row.difference, row.difference_interval)
        chance = "" if row.improvement is None else f"{row.improvement:.2f}"
        values = ["–" if value is None else f"{value:z.4f}" for value in row.mean]
        table.add_row(row.method, *values, _range(row.interval), gap, chance, f"{row.tokens:,}", f"{row.seconds:,.0f}")
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


def _range(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:z.4f} … {interval[1]:z.4f}"


def _spread(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None:
        return ""
    return f"{value:+z.4f}" + (f" ± {(interval[1] - interval[0]) / 2:.4f}" if interval else "")


def _words(option: str, text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if "" in words:
        raise RecipeError(f"--{option} {text!r}: expected names separated by commas")
    return words


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise RecipeError(f"--{option} {text!r}: expected whole numbers separated by commas, such as 0,1,2") from None


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
