"""Words that the board games share: results, last moves, what the other player took."""

from __future__ import annotations

from collections.abc import Callable

from mage.play.game import TERMINAL, State
from mage.play.games.wording import SEATS, Wording, distinct, no_rules, result

MARKS = ("x", "o")
_OUTCOMES = {"won": "You won the game.", "lost": "You lost the game.", "drawn": "The game is a draw."}


def board_wording(rows: Callable[[State], list[list[str]]], actions: tuple[str, ...]) -> Wording:
    """The compact dialect of a board game: seat, then every cell row by row; at the end the result and last move."""

    def show(state: State, seat: int) -> str:
        return " ".join([SEATS[seat], *(cell for row in rows(state) for cell in row)])

    def outcome(state: State, seat: int) -> str:
        return f"{result(state.returns[seat])} {actions[state.history[-1]]}"

    def forfeit(state: State, seat: int, loser: int, payoff: float) -> str:
        return f"{result(payoff)} forfeit"

    return Wording(no_rules, show, outcome, forfeit)


def board_sentences(
    rules: Callable[[int], str], draw: Callable[[State], str], actions: tuple[str, ...], verb: str
) -> Wording:
    """The natural dialect of a board game: the board drawn in lines, moves in sentences."""

    def last(state: State, seat: int) -> str:
        if not state.history:
            return "The board is empty."
        who = "You" if (len(state.history) - 1) % 2 == seat else "Your opponent"
        return f"{who} {verb} {actions[state.history[-1]]}."

    def show(state: State, seat: int) -> str:
        return f"You play {MARKS[seat]}.\n{draw(state)}"

    def outcome(state: State, seat: int) -> str:
        return f"{last(state, seat)} {_OUTCOMES[result(state.returns[seat])]}\n{draw(state)}"

    def forfeit(state: State, seat: int, loser: int, payoff: float) -> str:
        return f"{'You' if loser == seat else 'Your opponent'} forfeited. {_OUTCOMES[result(payoff)]}"

    return Wording(rules, show, outcome, forfeit)


def board_facts(actions: tuple[str, ...]) -> Callable[[State, int], tuple[str, ...]]:
    """Facts of a board game: what the other seat took, in order, and the result if it was played out."""

    def facts(state: State, seat: int) -> tuple[str, ...]:
        took = [f"took {actions[action]}" for action in state.history[1 - seat :: 2]]
        ended = [result(state.returns[seat])] if state.player == TERMINAL else []
        return distinct(took + ended)

    return facts
