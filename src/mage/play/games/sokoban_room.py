"""A room of Sokoban and the positions in it: pure geometry, no words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Cells = frozenset[int]


class Position(NamedTuple):
    """Where everything is that moves."""

    player: int
    boxes: Cells


@dataclass(frozen=True, slots=True)
class Room:
    """Floor and targets of a rectangle of cells, numbered row by row; what is no floor is wall."""

    rows: int
    columns: int
    floor: Cells
    targets: Cells
    """As many as boxes, all on the floor."""

    @property
    def steps(self) -> tuple[int, ...]:
        """What a move up, down, left and right adds to the number of a cell (the outermost cells are walls)."""
        return -self.columns, self.columns, -1, 1

    def move(self, position: Position, step: int) -> Position:
        """The position after a move; the same one where a wall, or a box that cannot be pushed, is in the way."""
        player, boxes = position
        ahead = player + step
        if ahead not in self.floor:
            return position
        if ahead not in boxes:
            return Position(ahead, boxes)
        beyond = ahead + step
        if beyond not in self.floor or beyond in boxes:
            return position
        return Position(ahead, boxes - {ahead} | {beyond})

    def solved(self, position: Position) -> bool:
        """Whether every box is on a target."""
        return position.boxes == self.targets
