"""How wide tables may be: as the terminal is, and as they need where a program or a file reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

UNBOUNDED = 10_000


def wide_console() -> Console:
    """Standard output, of the terminal's width; without a terminal of any width, so that nothing is cut."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=UNBOUNDED)
