"""Shortest solutions of Sokoban rooms: forwards from a position, and backwards from all that are solved."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from mage.play.games.sokoban_room import Position, Room

MOVES = 4


@lru_cache(maxsize=4096)
def solution(room: Room, position: Position, most: int) -> tuple[int, ...] | None:
    """The moves (0 up, 1 down, 2 left, 3 right) of a shortest solution, by breadth-first search.

    None where there is none, or none was found among the first `most` positions.
    """
    came: dict[Position, tuple[Position, int] | None] = {position: None}
    waiting = deque([position])
    while waiting:
        here = waiting.popleft()
        if room.solved(here):
            return _path(came, here)
        for move, step in enumerate(room.steps):
            after = room.move(here, step)
            if after not in came and len(came) < most:
                came[after] = here, move
                waiting.append(after)
    return None


def _path(came: dict[Position, tuple[Position, int] | None], end: Position) -> tuple[int, ...]:
    moves: list[int] = []
    while (before := came[end]) is not None:
        end, move = before
        moves.append(move)
    return tuple(reversed(moves))


def lengths(room: Room, most: int) -> dict[Position, int]:
    """Length of the shortest solution of every position that has one: of all, or of the `most` nearest to solved.

    Breadth-first search over moves undone, from all solved positions at once.
    """
    starts = [Position(player, room.targets) for player in sorted(room.floor - room.targets)]
    found = dict.fromkeys(starts, 0)
    waiting = deque(starts)
    while waiting and len(found) < most:
        here = waiting.popleft()
        for before in _undone(room, here):
            if before not in found:
                found[before] = found[here] + 1
                waiting.append(before)
    return found


def _undone(room: Room, position: Position) -> Iterator[Position]:
    """The positions from which one move leads to `position`: the player stepped back, with or without a box."""
    player, boxes = position
    for step in room.steps:
        behind, ahead = player - step, player + step
        if behind not in room.floor or behind in boxes:
            continue
        yield Position(behind, boxes)
        if ahead in boxes:
            yield Position(behind, boxes - {ahead} | {player})
