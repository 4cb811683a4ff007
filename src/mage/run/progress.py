"""What a run tells while it goes on; displays are in `mage.show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mage.recipe import Recipe
from mage.run.files import Row

if TYPE_CHECKING:
    from mage.run.folder import RunFolder


class ProgressSink(Protocol):
    """What a run tells while it goes on. Calls come in this order: start, then iterations and notes, then done."""

    def start(self, recipe: Recipe, folder: RunFolder) -> None:
        """A run begins or goes on."""
        ...

    def iteration(self, metrics: Row, timings: Row) -> None:
        """An iteration is complete: its rows as they stand in metrics.jsonl and timings.jsonl."""
        ...

    def note(self, text: str) -> None:
        """Something worth a line: a base model being built, a checkpoint skipped."""
        ...

    def done(self) -> None:
        """The run has ended or failed: the terminal is given back. A second call does nothing."""
        ...


class Silent:
    """Shows nothing: for tests and for use as a library."""

    def start(self, recipe: Recipe, folder: RunFolder) -> None:
        """Nothing."""

    def iteration(self, metrics: Row, timings: Row) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def done(self) -> None:
        """Nothing."""
