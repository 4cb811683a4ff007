"""Tic-tac-toe in words: cells are named by column (a to c, from the left) and row (1 to 3, from the top)."""

from __future__ import annotations

from mage.play.game import State
from mage.play.games.board import MARKS, board_facts, board_sentences, board_wording
from mage.play.games.wording import SEATS, Description

ACTIONS = tuple(column + row for row in "123" for column in "abc")


def _rows(state: State, empty: tuple[str, ...] = ACTIONS) -> list[list[str]]:
    """The board row by row. The compact dialect calls an empty cell by its name: what can be said stands there."""
    cells = list(empty)
    for turn, action in enumerate(state.history):
        cells[action] = MARKS[turn % 2]
    return [cells[0:3], cells[3:6], cells[6:9]]


def _draw(state: State) -> str:
    rows = _rows(state, (".",) * 9)
    lines = [f"{number} {' '.join(row)}" for number, row in enumerate(rows, start=1)]
    return "\n".join(["  a b c", *lines])


def _rules(seat: int) -> str:
    return f"""\
You play tic-tac-toe against one opponent. You are {MARKS[seat]} and move {SEATS[seat]}; x moves first, then the \
players take turns.
On a turn a player marks one empty cell of the 3 by 3 board. A cell is named by its column (a, b, c from the left) and \
its row (1, 2, 3 from the top): a1 is the top left corner, b2 the center. Empty cells are drawn as a dot.
Whoever first has three marks in a line (a row, a column or a diagonal) wins and scores 1, the other player scores -1. \
A full board without a line is a draw and scores 0.
Your goal is to win; a draw is better than a loss."""


TIC_TAC_TOE = Description(
    name="tic_tac_toe",
    summary="three in a row on a board of 3 by 3",
    native="tic_tac_toe",
    actions=ACTIONS,
    vocabulary=(*SEATS, *MARKS, *ACTIONS, "won", "lost", "drawn", "forfeit", "took"),
    wordings={
        "compact": board_wording(_rows, ACTIONS),
        "natural": board_sentences(_rules, _draw, ACTIONS, "took"),
    },
    facts=board_facts(ACTIONS),
    units="points per game",
)
