"""Connect four in words: columns are named c1 to c7 from the left."""

from __future__ import annotations

from mage.play.game import State
from mage.play.games.board import MARKS, board_facts, board_sentences, board_wording
from mage.play.games.wording import SEATS, Description

COLUMNS, ROWS = 7, 6
ACTIONS = tuple(f"c{column + 1}" for column in range(COLUMNS))


def _rows(state: State) -> list[list[str]]:
    """Rows from the top."""
    rows = [["."] * COLUMNS for _ in range(ROWS)]
    height = [0] * COLUMNS
    for turn, column in enumerate(state.history):
        height[column] += 1
        rows[ROWS - height[column]][column] = MARKS[turn % 2]
    return rows


def _draw(state: State) -> str:
    lines = [" ".join(f" {cell}" for cell in row) for row in _rows(state)]
    return "\n".join([" ".join(ACTIONS), *lines])


def _rules(seat: int) -> str:
    return f"""\
You play connect four against one opponent. You are {MARKS[seat]} and move {SEATS[seat]}; x moves first, then the \
players take turns.
The board stands upright: 7 columns, named c1 to c7 from the left, of 6 cells each. On a turn a player drops a piece \
into a column that is not full; it falls to the lowest empty cell. Empty cells are drawn as a dot.
Whoever first has four pieces in a line (in a row, in a column or on a diagonal) wins and scores 1, the other player \
scores -1. A full board without a line is a draw and scores 0.
Your goal is to win; a draw is better than a loss."""


CONNECT_FOUR = Description(
    name="connect_four",
    summary="four in a line, pieces fall, 7 columns of 6",
    native="connect_four",
    actions=ACTIONS,
    vocabulary=(*SEATS, ".", *MARKS, *ACTIONS, "won", "lost", "drawn", "forfeit", "took"),
    wordings={
        "compact": board_wording(_rows, ACTIONS),
        "natural": board_sentences(_rules, _draw, ACTIONS, "dropped into"),
    },
    facts=board_facts(ACTIONS),
    units="points per game",
)
