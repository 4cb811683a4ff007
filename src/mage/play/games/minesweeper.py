"""MineSweeper: open every cell that hides no mine. Where the mines are is dealt before the first cell is opened.

So a restart with the same deal is the same board, whatever is opened first: what an episode has shown stays true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from string import ascii_lowercase

from mage.chance import Dice
from mage.errors import GameError
from mage.play.game import Dialect, Episode
from mage.play.games.catalogue import Entry
from mage.play.games.mine_words import WORDINGS, MineWords
from mage.play.games.solo import SoloEpisode
from mage.play.specs import Parameter, Value, spell

NAME = "minesweeper"
SIDE = 20
"""Longest side of a board."""
PARAMETERS = (
    Parameter("rows", 6, "rows of the board", low=1, high=SIDE, hidden=True),
    Parameter("columns", 6, "columns of the board", low=1, high=SIDE, hidden=True),
    Parameter("mines", 3, "mines on it, fewer than cells", low=1, high=SIDE * SIDE - 1, hidden=True),
    Parameter("turns", 10, "cells that may be opened by hand", low=1, high=SIDE * SIDE, hidden=True),
)
Cells = frozenset[int]


class MineEpisode(SoloEpisode):
    """A board being cleared."""

    __slots__ = ("_game", "met", "mines", "opened", "turns")

    def __init__(self, game: MineSweeper, mines: Cells) -> None:
        super().__init__()
        self._game = game
        self.mines = mines
        self.opened: set[int] = set()
        self.turns = 0
        self.met: str | None = None
        """The cell where a mine was met."""

    @property
    def over(self) -> bool:
        """Whether a mine is met, all is clear or the turns are used up."""
        return self.met is not None or self.cleared or self.turns == self._game.most_turns

    @property
    def cleared(self) -> bool:
        """Whether every cell without a mine is open."""
        return len(self.opened) + len(self.mines) == len(self._game.cells)

    def observe(self, seat: int) -> str:
        """The board: numbers of mines around the cells that are open."""
        return self._game.words.show(self.numbers, self._game.most_turns - self.turns)

    @property
    def numbers(self) -> Sequence[int | None]:
        """By cell, the number of mines around it, None where it is not open."""
        around = self._game.around
        return [
            len(around[cell] & self.mines) if cell in self.opened else None for cell in range(len(self._game.cells))
        ]

    def legal(self) -> tuple[str, ...]:
        """The cells that are not open; none when the episode has ended."""
        if self.seat is None:
            return ()
        return tuple(name for cell, name in enumerate(self._game.cells) if cell not in self.opened)

    async def step(self, action: str) -> None:
        """Open a cell. Raises GameError if it is none, is open already, or the episode has ended."""
        legal = self.legal()
        if action not in legal:
            raise self.refusal(action, ", ".join(legal))
        cell = self._game.cells.index(action)
        self.turns += 1
        if cell in self.mines:
            self.met = action
        else:
            self._open(cell)

    def _open(self, cell: int) -> None:
        """Open a cell, and those around every cell without a mine around it."""
        waiting = [cell]
        while waiting:
            here = waiting.pop()
            if here not in self.opened:
                self.opened.add(here)
                around = self._game.around[here]
                if not around & self.mines:
                    waiting.extend(around - self.opened)

    def score(self) -> float:
        """1 if the board is clear, else 0."""
        return float(self.cleared)

    def ending(self) -> str:
        """Clear, given up, out of turns, or the mine that was met; others are not told."""
        words = self._game.words
        if self.met is not None:
            return words.mine(self.met)
        return words.clear if self.cleared else words.forfeit if self.gave_up else words.out_of_turns

    def gold(self) -> str:
        """The first cell without a mine that opens most."""
        closed = [cell for cell in range(len(self._game.cells)) if cell not in self.opened | self.mines]
        best = min(closed, key=lambda cell: (len(self._game.around[cell] & self.mines), cell))
        return self._game.cells[best]


class MineSweeper:
    """The game, for one seat; boards of any size.

    Args:
        rows: of the board.
        columns: of the board.
        mines: fewer than cells; raises GameError otherwise.
        turns: how many cells may be opened by hand.
        dialect: in which dialect boards are shown.
    """

    seats = 1
    has_chance = True
    units = "boards cleared per episode"

    def __init__(self, rows: int, columns: int, mines: int, turns: int, *, dialect: Dialect = "compact") -> None:
        values = {"rows": rows, "columns": columns, "mines": mines, "turns": turns}
        self.name = spell(NAME, values, PARAMETERS)
        if mines >= rows * columns:
            raise GameError(f"game {self.name!r}: mines = {mines} leaves no cell of {rows * columns} to open")
        self.dialect: Dialect = dialect
        self.mines, self.most_turns = mines, turns
        self.cells = tuple(f"{ascii_lowercase[column]}{row + 1}" for row in range(rows) for column in range(columns))
        self.around = _neighbours(rows, columns)
        self.words: MineWords = WORDINGS[dialect](self.cells, columns, mines, turns)

    def rules(self, seat: int) -> str:
        """The rules and the goal (empty in the compact dialect)."""
        return self.words.rules

    def vocabulary(self) -> tuple[str, ...]:
        """Every word of the compact dialect."""
        shown = [f"{cell}={number}" for cell in self.cells for number in range(9)]
        return (*self.cells, *shown, *(f"{cell}=mine" for cell in self.cells), "clear", "late", "forfeit")

    async def start(self, dice: Dice) -> MineEpisode:
        """A new board; `dice` lay the mines, every layout with the same probability."""
        left = list(range(len(self.cells)))
        mines = [left.pop(dice.pick([1.0] * len(left))) for _ in range(self.mines)]
        return MineEpisode(self, frozenset(mines))

    def facts(self, episode: Episode, seat: int) -> tuple[str, ...]:
        """The mine that was met, or else nothing: `b4=mine`."""
        assert isinstance(episode, MineEpisode)
        return () if episode.met is None else (f"{episode.met}=mine",)


@lru_cache(maxsize=32)
def _neighbours(rows: int, columns: int) -> tuple[Cells, ...]:
    """By cell, the up to eight around it."""
    return tuple(
        frozenset(
            near_row * columns + near_column
            for near_row in range(max(0, row - 1), min(rows, row + 2))
            for near_column in range(max(0, column - 1), min(columns, column + 2))
            if (near_row, near_column) != (row, column)
        )
        for row in range(rows)
        for column in range(columns)
    )


def _build(spec: str, values: Mapping[str, Value], dialect: Dialect) -> MineSweeper:
    sizes = {name: value for name, value in values.items() if isinstance(value, int)}
    return MineSweeper(sizes["rows"], sizes["columns"], sizes["mines"], sizes["turns"], dialect=dialect)


MINESWEEPER = Entry(
    name=NAME,
    summary="open all cells without a mine; numbers tell how many are around; the mines are dealt first",
    parameters=PARAMETERS,
    build=_build,
)
