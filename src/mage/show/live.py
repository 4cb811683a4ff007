"""The live display of a run in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mage.recipe import Recipe
from mage.run.files import Row
from mage.show.progress import Rate, duration
from mage.show.records import read_metrics

if TYPE_CHECKING:
    from mage.run.folder import RunFolder

SPARKS = "▁▂▃▄▅▆▇█"
NAME_WIDTH = 28


class RichProgress:
    """Iteration k of K, payoff by episode, per opponent, tokens per second and time left, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._rate = Rate()
        self._total = 0
        self._title = ""
        self._last_payoffs: list[float] = []

    def start(self, recipe: Recipe, folder: RunFolder) -> None:
        """Open the display."""
        self._total = recipe.loop.iterations
        self._title = f"{recipe.name} · {recipe.method} on {recipe.game.name} · {folder.path}"
        self._last_payoffs = [row["payoff"][-1] or 0.0 for row in read_metrics(folder)]
        self._live = Live(Text(self._title, style="bold"), console=self._console, refresh_per_second=4)
        self._live.start()

    def iteration(self, metrics: Row, timings: Row) -> None:
        """Draw the newest rows."""
        self._rate.add(timings["seconds"])
        # a resumed run comes past iterations again that were read at the start
        self._last_payoffs[metrics["iteration"] - 1 :] = [metrics["payoff"][-1] or 0.0]
        if self._live is not None:
            self._live.update(self._draw(metrics, timings))

    def note(self, text: str) -> None:
        """A line above the display."""
        self._console.print(text, style="dim", highlight=False, markup=False)

    def done(self) -> None:
        """Leave the last picture and give the terminal back."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self, metrics: Row, timings: Row) -> RenderableType:
        number = metrics["iteration"]
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(f"iteration {number}/{self._total}"),
            ProgressBar(total=self._total, completed=number, width=24),
            Text(f"{timings['tokens_per_second']:,.0f} tokens/s", style="cyan"),
            Text(f"{duration(self._rate.left(self._total - number))} left", style="cyan"),
        )
        shares = [metrics[key][-1] for key in ("won", "drawn", "lost")]
        wins = "/".join("–" if share is None else f"{share:.0%}" for share in shares)
        state = Text(
            f"entropy {metrics.get('entropy', 0):.3f}   KL {metrics.get('kl', 0):.4f}   "
            f"invalid {metrics['invalid_share']:.1%}   log-prob gap {metrics['logprob_diff_max']:.1e}",
            style="dim",
        )
        curve = sparkline(self._last_payoffs, 36)
        trend = Text.assemble(("last episode ", "dim"), (curve, "green"), (f"  won/drawn/lost {wins}", "dim"))
        table = payoff_table(metrics, self._console.width)
        return Group(Text(self._title, style="bold"), head, table, trend, state)


def payoff_table(metrics: Row, width: int) -> Table:
    """Payoff by episode, one line per opponent and one for all, in `width` columns.

    Where it is narrow intervals are left out, then episodes between the first and the last ones.
    """
    rows = [
        (name, payoff, metrics["payoff_sem_by_opponent"][name])
        for name, payoff in metrics["payoff_by_opponent"].items()
    ]
    rows.append(("all" if rows else "all trials", metrics["payoff"], metrics["payoff_sem"]))
    count, room = len(metrics["payoff"]), width - NAME_WIDTH - 2
    intervals = count * (max(len(_cell(*pair)) for row in rows for pair in zip(*row[1:], strict=True)) + 2) <= room
    shown = list(range(count))
    if not intervals:
        shown = [0, *range(max(1, count - room // (len("episode 10") + 2) + 1), count)]
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("payoff", no_wrap=True, overflow="ellipsis", max_width=NAME_WIDTH)
    for episode in shown:
        table.add_column(f"episode {episode + 1}", justify="right", no_wrap=True)
    for name, payoff, errors in rows:
        cells = [_cell(payoff[n], errors[n] if intervals else None) for n in shown]
        table.add_row(Text(name), *cells, style="bold" if name == rows[-1][0] else None)
    return table


def sparkline(values: list[float], width: int) -> str:
    """A curve of at most `width` characters, each the mean of a stretch of `values`.

    >>> sparkline([0, 1, 2, 3], 4)
    '▁▃▆█'
    """
    stretch = max(1, -(-len(values) // width))
    means = [sum(part) / len(part) for part in (values[i : i + stretch] for i in range(0, len(values), stretch))]
    low, high = min(means), max(means)
    scale = (len(SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKS[round((mean - low) * scale)] for mean in means)


def _cell(value: float | None, sem: float | None = None) -> str:
    if value is None:
        return "–"
    return f"{value:z.3f}" if sem is None else f"{value:z.3f} ± {1.96 * sem:.3f}"
