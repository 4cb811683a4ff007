"""What an agent of BabyAI sees, in sentences: from the 7×7 view that minigrid encodes, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

OBJECTS = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
STATES = ("open", "closed", "locked")
DIRECTIONS = ("east", "south", "west", "north")
NAMES = ("turn left", "turn right", "move forward", "pick up", "drop", "toggle")
"""The actions, in the order of minigrid."""
JOINT = ", "
"""Between the actions of an answer."""
NOT_SHOWN = ("unseen", "empty", "wall", "agent")


class Seen(NamedTuple):
    """A cell of the view: how far ahead of the agent, how far to its right (negative: left), and what is there."""

    ahead: int
    right: int
    kind: str
    called: str
    """With article, and for a door its state: `a closed red door`."""


def rules(turns: int | None, moves: int) -> str:
    """What the world is, what the actions do and what is scored."""
    limit = "The steps you have are told" if turns is None else f"You have {turns} step{'s' * (turns != 1)}"
    answer = f"An answer is one to {moves} actions, separated by commas." if moves > 1 else "An answer is one action."
    return (
        "You are in a world of rooms on a grid, with walls, doors, keys, balls and boxes, and you have a mission. You "
        "see what lies up to 6 steps ahead and 3 to either side, but nothing behind you, behind a wall or behind a "
        "door that is not open.\n"
        "The actions are:\n"
        "- turn left, turn right: turn by 90 degrees where you stand;\n"
        "- move forward: one step ahead, if nothing but an open door is there;\n"
        "- pick up: take the key, ball or box 1 step ahead, if you carry nothing;\n"
        "- drop: put what you carry 1 step ahead, if nothing is there;\n"
        "- toggle: open or close the door 1 step ahead, a locked one only if you carry a key of its colour; or open "
        "the box 1 step ahead, which is gone then, and what was in it lies there.\n"
        "To go to something is to have it 1 step ahead of you. Left, right, in front and behind in a mission are meant "
        "as at the start.\n"
        f"{answer} Each action is a step. {limit}; you score 1 - 0.9 * (steps taken / steps allowed) when the mission "
        "is done, else 0."
    )


def describe(observation: dict[str, Any], left: int) -> str:
    """The mission, what is seen and carried, and the steps `left`, of an observation of minigrid."""
    image = observation["image"]
    cells = tuple(_cells(image))
    here = Seen(0, 0, *_object(image[len(image) // 2][len(image[0]) - 1]))
    carried = here.called if here.kind not in NOT_SHOWN else "nothing"
    things = [f"{cell.called} {place(cell.ahead, cell.right)}" for cell in cells if cell.kind not in NOT_SHOWN]
    walls = list(wall_lines({(cell.ahead, cell.right) for cell in cells if cell.kind == "wall"}))
    return "\n".join(
        [
            f"Mission: {observation['mission']}.",
            f"You face {DIRECTIONS[observation['direction']]} and carry {carried}.",
            f"You see {'; '.join(things) or 'no objects'}.",
            f"Walls: {'; '.join(walls) or 'none in view'}.",
            f"Steps left: {left}.",
        ]
    )


def ended(score: float, *, failed: bool, gave_up: bool) -> str:
    """How an episode ended."""
    if gave_up:
        return "You gave up. You score 0."
    if failed:
        return "You did what the mission does not allow. You score 0."
    return f"The mission is done. You score {score:.3f}." if score else "No steps are left. You score 0."


def place(ahead: int, right: int) -> str:
    """Where a cell is, seen from the agent.

    >>> place(2, -1), place(0, 3), place(1, 0)
    ('2 steps ahead and 1 to the left', '3 steps to the right', '1 step ahead')
    """
    if not ahead:
        return f"{_steps(abs(right))} {_side(right)}"
    return f"{_steps(ahead)} ahead" + (f" and {abs(right)} {_side(right)}" if right else "")


def wall_lines(walls: set[tuple[int, int]]) -> Iterator[str]:
    """All wall cells, told as straight pieces: rows across the view, then columns, then single cells.

    >>> list(wall_lines({(2, -1), (2, 0), (2, 1), (1, 1), (0, 3)}))
    ['2 steps ahead from 1 to the left to 1 to the right', '1 to the right from 1 to 2 steps ahead', \
'3 steps to the right']
    """
    told: set[tuple[int, int]] = set()
    for row in sorted({ahead for ahead, _ in walls}, reverse=True):
        for first, last in _runs([right for ahead, right in walls if ahead == row]):
            told |= {(row, right) for right in range(first, last + 1)}
            yield f"{f'{_steps(row)} ahead' if row else 'beside you'} from {_aside(first)} to {_aside(last)}"
    for column in sorted({right for _, right in walls}):
        for first, last in _runs([ahead for ahead, right in walls if right == column]):
            told |= {(ahead, column) for ahead in range(first, last + 1)}
            yield f"{_aside(column)} from {first or 'beside you'} to {_steps(last)} ahead"
    for ahead, right in sorted(walls - told):
        yield place(ahead, right)


def _cells(image: Sequence[Sequence[Sequence[int]]]) -> Iterator[Seen]:
    """The cells of a view but the agent's own, nearest first: columns from the left, each from far to near."""
    width, depth = len(image), len(image[0])
    found = [
        Seen(depth - 1 - j, i - width // 2, *_object(image[i][j]))
        for i in range(width)
        for j in range(depth)
        if (i, j) != (width // 2, depth - 1)
    ]
    return iter(sorted(found, key=lambda cell: (cell.ahead + abs(cell.right), cell.ahead, cell.right)))


def _object(code: Sequence[int]) -> tuple[str, str]:
    """Kind and name of what a cell of the view encodes: (object, colour, state)."""
    kind, colour, state = OBJECTS[code[0]], COLOURS[code[1]], STATES[code[2]]
    if kind != "door":
        return kind, f"a {colour} {kind}"
    return kind, f"a{'n' * (state == 'open')} {state} {colour} {kind}"


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of two neighbours or more."""
    there = {*places}
    for first in sorted(there):
        if first - 1 not in there and first + 1 in there:
            last = first
            while last + 1 in there:
                last += 1
            yield first, last


def _steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def _side(right: int) -> str:
    return "to the right" if right > 0 else "to the left"


def _aside(right: int) -> str:
    return f"{abs(right)} {_side(right)}" if right else "straight ahead"
