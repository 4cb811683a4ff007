"""Words of MineSweeper in two dialects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from mage.play.game import Dialect


class MineWords(Protocol):
    """How one dialect tells a board; cells are named by column and row: `b4`."""

    rules: str
    clear: str
    """Told when the last cell without a mine is open."""
    out_of_turns: str
    forfeit: str

    def show(self, numbers: Sequence[int | None], turns: int) -> str:
        """The board, by cell the number of mines around it or None where it is closed, with `turns` left."""
        ...

    def mine(self, cell: str) -> str:
        """Told when a mine was met at `cell`."""
        ...


class CompactMines:
    """The compact dialect: `a1=0 b1=2 c1`, one word for a cell and what is known of it; a mine is `b4=mine`."""

    def __init__(self, cells: Sequence[str], columns: int, mines: int, turns: int) -> None:
        self.rules, self.clear, self.out_of_turns, self.forfeit = "", "clear", "late", "forfeit"
        self._cells = cells

    def show(self, numbers: Sequence[int | None], turns: int) -> str:
        """`a1=0 b1=2 c1`."""
        pairs = zip(self._cells, numbers, strict=True)
        return " ".join([cell if number is None else f"{cell}={number}" for cell, number in pairs])

    def mine(self, cell: str) -> str:
        """`b4=mine`."""
        return f"{cell}=mine"


class NaturalMines:
    """The natural dialect: a board with letters above and numbers beside it."""

    def __init__(self, cells: Sequence[str], columns: int, mines: int, turns: int) -> None:
        self._columns = columns
        self._header = "   " + " ".join(cell[0] for cell in cells[:columns])
        self._rows = len(cells) // columns
        self.rules = (
            f"You are playing MineSweeper on a board of {self._rows} rows and {columns} columns with {_mines(mines)}. "
            "In each turn you open one cell, named by its column and row, such as "
            f"{cells[0]}. If it hides a mine, you lose. Otherwise it shows how many of the up to eight cells around it "
            "hide a mine; around a cell that shows 0, all are opened for you. "
            f"You win when all cells without a mine are open, and score 1; else you score 0. You have {turns} "
            f"turn{'s' * (turns != 1)}."
        )
        self.clear = "All cells without a mine are open: you won. You score 1."
        self.out_of_turns = "No turns are left, and not all cells without a mine are open. You score 0."
        self.forfeit = "You gave up. You score 0."

    def show(self, numbers: Sequence[int | None], turns: int) -> str:
        """The board row by row, and the turns that are left."""
        lines = [
            f"{row + 1:>2} " + " ".join("?" if number is None else str(number) for number in cells)
            for row, cells in enumerate(
                numbers[start : start + self._columns] for start in range(0, len(numbers), self._columns)
            )
        ]
        return "\n".join([self._header, *lines, f"Turns left: {turns}."])

    def mine(self, cell: str) -> str:
        """Which cell it was."""
        return f"There was a mine at {cell}: you lost. You score 0."


def _mines(count: int) -> str:
    return f"{count} mine{'s' * (count != 1)}"


WORDINGS: Mapping[Dialect, Callable[[Sequence[str], int, int, int], MineWords]] = {
    "compact": CompactMines,
    "natural": NaturalMines,
}
"""How each dialect words a board: (cells, columns, mines, turns)."""
