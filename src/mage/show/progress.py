"""Progress of a run: a live display in a terminal, plain lines elsewhere, JSON for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from mage.recipe import Recipe
from mage.run.files import Row, encode
from mage.run.progress import ProgressSink

if TYPE_CHECKING:
    from rich.console import Console

    from mage.run.folder import RunFolder


class JsonProgress:
    """One JSON object per line: `{"event": "iteration", "metrics": {…}, "timings": {…}}`."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._open = False

    def start(self, recipe: Recipe, folder: RunFolder) -> None:
        """Event `start` with the run's folder."""
        self._open = True
        self._write(event="start", run=str(folder.path), name=recipe.name, iterations=recipe.loop.iterations)

    def iteration(self, metrics: Row, timings: Row) -> None:
        """Event `iteration`."""
        self._write(event="iteration", metrics=metrics, timings=timings)

    def note(self, text: str) -> None:
        """Event `note`."""
        self._write(event="note", text=text)

    def done(self) -> None:
        """Event `end`, once."""
        if self._open:
            self._write(event="end")
        self._open = False

    def _write(self, **row: Any) -> None:
        self._stream.write(encode(row) + "\n")
        self._stream.flush()


class PlainProgress:
    """A line at most every `every` seconds, the first and the last iteration always."""

    def __init__(
        self, stream: TextIO | None = None, every: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stderr
        self._every = every
        self._clock = clock
        self._last = float("-inf")
        self._total = 0
        self._rate = Rate()

    def start(self, recipe: Recipe, folder: RunFolder) -> None:
        """Name the folder."""
        self._total = recipe.loop.iterations
        self._line(f"run {folder.path}: {self._total} iterations")

    def iteration(self, metrics: Row, timings: Row) -> None:
        """One line, if the last is old enough."""
        self._rate.add(timings["seconds"])
        number, now = metrics["iteration"], self._clock()
        if now - self._last < self._every and number != self._total:
            return
        self._last = now
        self._line(
            f"iteration {number}/{self._total}  payoff {numbers(metrics['payoff'])}  entropy {metrics['entropy']:.2f}  "
            f"{timings['tokens_per_second']:,.0f} tokens/s  left {duration(self._rate.left(self._total - number))}"
        )

    def note(self, text: str) -> None:
        """One line."""
        self._line(text)

    def done(self) -> None:
        """Nothing more to say."""

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class Rate:
    """Seconds per iteration, a mean that forgets: the base of the time left."""

    def __init__(self) -> None:
        self._mean: float | None = None

    def add(self, seconds: float) -> None:
        """Count one iteration."""
        self._mean = seconds if self._mean is None else 0.9 * self._mean + 0.1 * seconds

    def left(self, iterations: int) -> float:
        """Seconds that so many iterations will take."""
        return (self._mean or 0.0) * iterations


def choose_progress(*, json: bool, console: Console | None = None) -> ProgressSink:
    """The display that fits: JSON if asked for, live in a terminal, else plain lines."""
    if json:
        return JsonProgress()
    if console is None:
        from rich.console import Console

        console = Console(stderr=True)
    if console.is_terminal:
        from mage.show.live import RichProgress

        return RichProgress(console)
    return PlainProgress()


def numbers(values: Sequence[float | None]) -> str:
    """Payoffs by episode in one short text.

    >>> numbers([0.5, None, -0.25])
    '0.500 / – / -0.250'
    """
    return " / ".join("–" if value is None else f"{value:z.3f}" for value in values)


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(75), duration(3700), duration(8.2)
    ('1m 15s', '1h 01m', '8s')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
