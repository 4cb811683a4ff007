"""Leduc poker in words: two rounds of betting around one public card.

OpenSpiel's `suit_isomorphism` is on: the two suits never matter, and without them the tree is five times smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

from mage.play.game import TERMINAL, State
from mage.play.games.cards import CARDS, HIDDEN, card_sentences, card_wording
from mage.play.games.wording import SEATS, Description, distinct, signed

FOLD, CALL, RAISE = 0, 1, 2
ACTIONS = ("fold", "call", "raise")
_TOLD = {
    "check": 'checked ("call")',
    "bet": 'bet ("raise")',
    "fold": "folded",
    "call": "called",
    "raise": "raised",
}


@dataclass(frozen=True, slots=True)
class Move:
    """One betting action: round 1 or 2, who acted, which action it was and what it meant (check, bet, ...)."""

    round: int
    seat: int
    action: int
    verb: str


def read(history: tuple[int, ...]) -> tuple[tuple[Move, ...], int | None]:
    """Betting moves of a history and the public card (index into `CARDS`), if it has been dealt."""
    moves: list[Move] = []
    public: int | None = None
    number, turn, raises, closed = 1, 0, 0, False
    for item in history[2:]:
        if closed and number == 1:
            public, number, turn, raises, closed = item, 2, 0, 0, False
            continue
        meaning = ACTIONS if raises else ("fold", "check", "bet")
        moves.append(Move(number, turn % 2, item, meaning[item]))
        closed = item == CALL and (raises > 0 or turn > 0)
        raises += item == RAISE
        turn += 1
    return tuple(moves), public


def shown_card(state: State, seat: int) -> str:
    """The other seat's card if `seat` saw it at a showdown, else `HIDDEN`."""
    showdown = state.player == TERMINAL and state.history[-1] != FOLD
    return CARDS[state.history[1 - seat]] if showdown else HIDDEN


def _betting(state: State) -> list[str]:
    moves, public = read(state.history)
    words = [ACTIONS[move.action] for move in moves if move.round == 1]
    if public is not None:
        words += [CARDS[public], *(ACTIONS[move.action] for move in moves if move.round == 2)]
    return words


def _facts(state: State, seat: int) -> tuple[str, ...]:
    card = shown_card(state, seat)
    moves, _ = read(state.history)
    return distinct([f"{move.verb} {card} r{move.round}" for move in moves if move.seat != seat])


def _told(state: State, seat: int) -> str:
    moves, public = read(state.history)

    def tell(number: int) -> str:
        said = [
            f"{'You' if move.seat == seat else 'Your opponent'} {_TOLD[move.verb]}."
            for move in moves
            if move.round == number
        ]
        return f"Round {number}: {' '.join(said) or 'Nobody has acted yet.'}"

    return tell(1) if public is None else f"{tell(1)} The public card is {CARDS[public]}. {tell(2)}"


def _rules(seat: int) -> str:
    return f"""\
You play Leduc poker against one opponent, and you act {SEATS[seat]} in each round.
The deck has six cards: two each of J, Q and K; K is the highest and J the lowest. Both players pay an ante of 1 chip \
and are dealt one card each, which only they see. There are two rounds of betting; after the first, one public card \
is dealt that counts for both.
- "call" matches what the other player has put in; if there is nothing to match, it is a check.
- "raise" matches it and adds a bet of 2 chips in the first round or 4 chips in the second (the first raise of a round \
is the bet). At most two raises are allowed in a round.
- "fold", possible only after a raise, gives up the hand: the other player wins what you have put in, and no card is \
shown.
A round ends when both players check or a raise is called. After the second round the cards are shown: a card that \
pairs the public card wins; without a pair the higher card wins; equal cards split the pot. The winner gains what the \
loser has put in: 1 to 13 chips.
Your goal is to win as many chips as you can."""


_STAKES = (1, 3, 5, 7, 9, 11, 13)  # ante 1, up to two raises of 2 and up to two of 4

LEDUC = Description(
    name="leduc_poker",
    summary="six cards, two rounds of betting, one public card",
    native="leduc_poker(suit_isomorphism=True)",
    actions=ACTIONS,
    vocabulary=(
        *SEATS,
        *CARDS,
        *ACTIONS,
        *(signed(sign * stake) for stake in _STAKES for sign in (1, -1)),
        *("0", HIDDEN, "forfeit", "check", "bet", "r1", "r2"),
    ),
    wordings={
        "compact": card_wording(_betting, shown_card),
        "natural": card_sentences(_rules, _told, shown_card),
    },
    facts=_facts,
    units="chips per hand",
)
