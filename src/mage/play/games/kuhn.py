"""Kuhn poker in words: three cards, one chip of ante, one bet."""

from __future__ import annotations

from mage.play.game import TERMINAL, State
from mage.play.games.cards import CARDS, HIDDEN, card_sentences, card_wording
from mage.play.games.wording import SEATS, Description, distinct

PASS, BET = 0, 1
ACTIONS = ("pass", "bet")
_TOLD = {"check": "passed (a check)", "bet": "bet", "fold": "passed (a fold)", "call": "bet (a call)"}


def verbs(betting: tuple[int, ...]) -> tuple[str, ...]:
    """What each action of a betting sequence really was.

    >>> verbs((PASS, BET, PASS)), verbs((BET, BET))
    (('check', 'bet', 'fold'), ('bet', 'call'))
    """
    return tuple(
        ("call" if action else "fold") if BET in betting[:i] else ("bet" if action else "check")
        for i, action in enumerate(betting)
    )


def shown_card(state: State, seat: int) -> str:
    """The other seat's card if `seat` saw it at a showdown, else `HIDDEN`."""
    cards, betting = state.history[:2], state.history[2:]
    showdown = state.player == TERMINAL and verbs(betting)[-1] != "fold"
    return CARDS[cards[1 - seat]] if showdown else HIDDEN


def _betting(state: State) -> list[str]:
    return [ACTIONS[action] for action in state.history[2:]]


def _facts(state: State, seat: int) -> tuple[str, ...]:
    card = shown_card(state, seat)
    return distinct([f"{verb} {card}" for verb in verbs(state.history[2:])[1 - seat :: 2]])


def _told(state: State, seat: int) -> str:
    who = ("You", "Your opponent")
    said = [f"{who[(i + seat) % 2]} {_TOLD[verb]}." for i, verb in enumerate(verbs(state.history[2:]))]
    return " ".join(said) or "Nobody has acted yet."


def _rules(seat: int) -> str:
    return f"""\
You play Kuhn poker against one opponent, and you act {SEATS[seat]}.
The deck has three cards: J, Q and K; K is the highest and J the lowest. Both players pay an ante of 1 chip and are \
dealt one card each, which only they see. The third card stays unseen.
The player who acts first chooses between "pass" and "bet"; a bet adds 1 chip.
- Before any bet, "pass" is a check. If both players check, the cards are shown and the higher one wins 1 chip from \
the other player.
- After a bet, the other player answers: "pass" is a fold and gives the bettor 1 chip, with no card shown; "bet" is a \
call: the cards are shown and the higher one wins 2 chips.
- If the first player checks and the second bets, the first player acts once more, to fold or to call.
Your goal is to win as many chips as you can."""


KUHN = Description(
    name="kuhn_poker",
    summary="three cards, one bet: the smallest game of bluffing",
    native="kuhn_poker",
    actions=ACTIONS,
    vocabulary=(*SEATS, *CARDS, *ACTIONS, "+1", "-1", "+2", "-2", HIDDEN, "forfeit", "check", "fold", "call"),
    wordings={
        "compact": card_wording(_betting, shown_card),
        "natural": card_sentences(_rules, _told, shown_card),
    },
    facts=_facts,
    units="chips per hand",
)
