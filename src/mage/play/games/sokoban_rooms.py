"""Rooms of Sokoban made from dice: floor carved by a walk, a first position whose shortest solution fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.games.sokoban_room import Cells, Position, Room
from mage.play.games.sokoban_search import lengths

TRIES = 1000
"""Rooms that are carved in search of one with such a solution."""
TURN = 0.35
"""How often the walk that carves a room changes its direction."""
SHAPES = (
    ((0, 0), (0, -1), (0, 1)),
    ((0, 0), (-1, 0), (1, 0)),
    ((0, 0), (0, 1), (1, 0)),
    ((0, 0), (0, 1), (1, 0), (1, 1)),
)
"""What a step of the walk carves: rows and columns beside the cell that it comes to."""


class Sizes(NamedTuple):
    """What rooms are asked for."""

    rows: int
    columns: int
    boxes: int
    shortest: int
    """Fewest moves that a shortest solution may have."""
    longest: int
    search: int
    """Positions nearest to solved among which the first one is drawn."""


def make_room(sizes: Sizes, seed: int) -> tuple[Room, Position]:
    """A room and its first position, with no box on a target and a way to solve it. GameError if there is none."""
    dice = SeededDice(seed)
    for _ in range(TRIES):
        floor = _carve(sizes, dice)
        if len(floor) < 2 * sizes.boxes + 1:
            continue
        room = Room(sizes.rows, sizes.columns, floor, _draw(sorted(floor), sizes.boxes, dice))
        fitting = [
            position
            for position, length in lengths(room, sizes.search).items()
            if sizes.shortest <= length <= sizes.longest and position.boxes.isdisjoint(room.targets)
        ]
        if fitting:
            return room, fitting[dice.pick([1.0] * len(fitting))]
    raise GameError(
        f"no room of Sokoban in {TRIES} has a shortest solution of {sizes.shortest} to {sizes.longest} moves among the "
        f"{sizes.search:,} positions nearest to solved: give it other bounds, or more positions (search)"
    )


def _carve(sizes: Sizes, dice: SeededDice) -> Cells:
    """The floor that a random walk leaves in a block of wall."""
    row, column = 1 + _one_of(sizes.rows - 2, dice), 1 + _one_of(sizes.columns - 2, dice)
    ways = ((-1, 0), (1, 0), (0, -1), (0, 1))
    way = ways[_one_of(4, dice)]
    floor: set[int] = set()
    for _ in range(int(1.7 * (sizes.rows + sizes.columns))):
        for down, right in SHAPES[_one_of(len(SHAPES), dice)]:
            if 0 < row + down < sizes.rows - 1 and 0 < column + right < sizes.columns - 1:
                floor.add((row + down) * sizes.columns + column + right)
        if dice.pick((TURN, 1 - TURN)) == 0:
            way = ways[_one_of(4, dice)]
        row = min(max(row + way[0], 1), sizes.rows - 2)
        column = min(max(column + way[1], 1), sizes.columns - 2)
    return frozenset(floor)


def _draw(cells: Sequence[int], count: int, dice: SeededDice) -> Cells:
    left = list(cells)
    return frozenset(left.pop(_one_of(len(left), dice)) for _ in range(count))


def _one_of(count: int, dice: SeededDice) -> int:
    return dice.pick([1.0] * count)
