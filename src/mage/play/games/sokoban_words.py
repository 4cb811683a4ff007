"""Words of Sokoban in two dialects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_lowercase
from typing import Protocol

from mage.play.game import Dialect
from mage.play.games.sokoban_room import Position, Room

NAMES = ("up", "down", "left", "right")
SYMBOLS = {"wall": "#", "floor": "_", "target": "O", "box": "X", "box on target": "*", "you": "P", "you on target": "S"}


class SokobanWords(Protocol):
    """How one dialect tells a room."""

    rules: str
    solved: str
    out_of_turns: str
    forfeit: str
    joint: str
    """Between the moves of an answer."""

    def show(self, room: Room, position: Position, turns: int) -> str:
        """The room, with `turns` left."""
        ...

    def grammar(self) -> str:
        """What may be said."""
        ...


class CompactSokoban:
    """The compact dialect: one word for a cell and what is there, `b2_ c2X`; moves are words with spaces between."""

    joint = " "

    def __init__(self, rows: int, columns: int, boxes: int, turns: int, moves: int) -> None:
        self.rules, self.solved, self.out_of_turns, self.forfeit = "", "solved", "late", "forfeit"

    def show(self, room: Room, position: Position, turns: int) -> str:
        """`b2_ c2X d2O`: the floor alone, all else is wall."""
        return " ".join(
            [f"{cell_name(cell, room.columns)}{symbol(room, position, cell)}" for cell in sorted(room.floor)]
        )

    def grammar(self) -> str:
        """`up down left right`."""
        return " ".join(NAMES)


class NaturalSokoban:
    """The natural dialect: a map of symbols."""

    joint = ", "

    def __init__(self, rows: int, columns: int, boxes: int, turns: int, moves: int) -> None:
        self._moves = moves
        legend = ", ".join(f"{sign} {name}" for name, sign in SYMBOLS.items())
        self.rules = (
            f"You are playing Sokoban: push {_boxes(boxes)} onto the target{'s' * (boxes != 1)}. You move up, down, "
            "left or right by one cell; a move against a box pushes it, if the cell behind it is free. Boxes cannot be "
            f"pulled, and two cannot be pushed at once. The map has these symbols: {legend}. You have {turns} "
            f"turn{'s' * (turns != 1)} of up to {moves} move{'s' * (moves != 1)}. You score 1 when all boxes are on "
            "targets, else 0."
        )
        self.solved = "All boxes are on targets: you won. You score 1."
        self.out_of_turns = "No turns are left, and not all boxes are on targets. You score 0."
        self.forfeit = "You gave up. You score 0."

    def show(self, room: Room, position: Position, turns: int) -> str:
        """The map row by row, and the turns that are left."""
        lines = [
            " ".join(symbol(room, position, row * room.columns + column) for column in range(room.columns))
            for row in range(room.rows)
        ]
        return "\n".join([*lines, f"Turns left: {turns}."])

    def grammar(self) -> str:
        """How many moves, and which."""
        count = f"one to {self._moves} of " if self._moves > 1 else ""
        return f"{count}{', '.join(NAMES)}" + (" (separated by commas)" if self._moves > 1 else "")


def symbol(room: Room, position: Position, cell: int) -> str:
    """What is at a cell, by a sign."""
    on_target = cell in room.targets
    if cell == position.player:
        return SYMBOLS["you on target" if on_target else "you"]
    if cell in position.boxes:
        return SYMBOLS["box on target" if on_target else "box"]
    if on_target:
        return SYMBOLS["target"]
    return SYMBOLS["floor" if cell in room.floor else "wall"]


def cell_name(cell: int, columns: int) -> str:
    """Column and row: `b4`."""
    return f"{ascii_lowercase[cell % columns]}{cell // columns + 1}"


def _boxes(count: int) -> str:
    return "the box" if count == 1 else f"{count} boxes"


WORDINGS: Mapping[Dialect, Callable[[int, int, int, int, int], SokobanWords]] = {
    "compact": CompactSokoban,
    "natural": NaturalSokoban,
}
"""How each dialect words a room: (rows, columns, boxes, turns, moves of a turn)."""
