"""Words that the card games share: own card, betting, the card that a showdown shows, chips won."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mage.play.game import State
from mage.play.games.wording import SEATS, Wording, chips, no_rules, signed

CARDS = ("J", "Q", "K")
HIDDEN = "hidden"
"""Stands for a card that was not shown."""


def card_wording(betting: Callable[[State], Sequence[str]], shown_card: Callable[[State, int], str]) -> Wording:
    """The compact dialect of a card game: seat, own card, betting; at the end chips, the other card, betting.

    Args:
        betting: words of what is public: actions and cards on the table.
        shown_card: the other seat's card if `seat` saw it at a showdown, else `HIDDEN`.
    """

    def show(state: State, seat: int) -> str:
        own = (CARDS[card] for card in state.history[:2][seat : seat + 1])  # none before it is dealt
        return " ".join([SEATS[seat], *own, *betting(state)])

    def outcome(state: State, seat: int) -> str:
        return " ".join([signed(state.returns[seat]), shown_card(state, seat), *betting(state)])

    def forfeit(state: State, seat: int, loser: int, payoff: float) -> str:
        return " ".join([signed(payoff), "forfeit", *betting(state)])

    return Wording(no_rules, show, outcome, forfeit)


def card_sentences(
    rules: Callable[[int], str], told: Callable[[State, int], str], shown_card: Callable[[State, int], str]
) -> Wording:
    """The natural dialect of a card game; `told` says what has been done so far, `shown_card` as in `card_wording`."""

    def show(state: State, seat: int) -> str:
        cards = state.history[:2]
        card = f"Your card is {CARDS[cards[seat]]}." if len(cards) > seat else "Your card has not been dealt yet."
        return f"{card} You act {SEATS[seat]}. {told(state, seat)}"

    def outcome(state: State, seat: int) -> str:
        card = shown_card(state, seat)
        seen = "The opponent's card was not shown" if card == HIDDEN else f"The opponent showed {card}"
        return f"{told(state, seat)} {seen}. You {chips(state.returns[seat])}."

    def forfeit(state: State, seat: int, loser: int, payoff: float) -> str:
        who = "You" if loser == seat else "Your opponent"
        return f"{told(state, seat)} {who} forfeited the hand. You {chips(payoff)}."

    return Wording(rules, show, outcome, forfeit)
