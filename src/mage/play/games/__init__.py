"""The games: `make_game("kuhn_poker")` gives one, `game_names()` says which there are."""

from __future__ import annotations

from mage.errors import GameError, unknown
from mage.play.game import Dialect, TreeGame
from mage.play.games.connect_four import CONNECT_FOUR
from mage.play.games.kuhn import KUHN
from mage.play.games.leduc import LEDUC
from mage.play.games.openspiel import OpenSpielGame
from mage.play.games.tic_tac_toe import TIC_TAC_TOE
from mage.play.games.wording import Description

_DESCRIPTIONS = (KUHN, LEDUC, TIC_TAC_TOE, CONNECT_FOUR)

__all__ = ["describe_game", "game_names", "make_game"]


def game_names() -> tuple[str, ...]:
    """Names of all games.

    >>> game_names()
    ('kuhn_poker', 'leduc_poker', 'tic_tac_toe', 'connect_four')
    """
    return tuple(description.name for description in _DESCRIPTIONS)


def describe_game(name: str) -> str:
    """One line about a game. Raises GameError for an unknown name."""
    return _description(name).summary


def make_game(name: str, dialect: Dialect = "compact") -> TreeGame:
    """A game by its name, showing itself in `dialect`. Raises GameError for an unknown name or dialect.

    >>> game = make_game("kuhn_poker")
    >>> game.show(game.root().child(2).child(0), 0)
    'first K'
    """
    description = _description(name)
    if dialect not in description.wordings:
        raise GameError(unknown("dialect", dialect, description.wordings))
    return OpenSpielGame(description, dialect)


def _description(name: str) -> Description:
    for description in _DESCRIPTIONS:
        if description.name == name:
            return description
    raise GameError(unknown("game", name, game_names()))
