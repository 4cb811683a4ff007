"""The games: `make_game("kuhn_poker")` gives one, `game_names()` says which there are.

A game of the user's own is named by reference, `module:attribute`: a `Description` of a game of OpenSpiel, or a class
or function that makes a `TreeGame` for a dialect.
"""

from __future__ import annotations

from collections.abc import Callable

from mage.errors import GameError, unknown
from mage.play.game import Dialect, Game, TreeGame
from mage.play.games.connect_four import CONNECT_FOUR
from mage.play.games.kuhn import KUHN
from mage.play.games.leduc import LEDUC
from mage.play.games.openspiel import OpenSpielGame
from mage.play.games.tic_tac_toe import TIC_TAC_TOE
from mage.play.games.wording import Description
from mage.play.soundness import check_start
from mage.references import foreign, is_reference, load

_DESCRIPTIONS = (KUHN, LEDUC, TIC_TAC_TOE, CONNECT_FOUR)

__all__ = ["describe_game", "game_names", "make_game"]


def game_names() -> tuple[str, ...]:
    """Names of all games.

    >>> game_names()
    ('kuhn_poker', 'leduc_poker', 'tic_tac_toe', 'connect_four')
    """
    return tuple(description.name for description in _DESCRIPTIONS)


def describe_game(name: str) -> str:
    """One line about a game of `game_names`. Raises GameError for an unknown name."""
    return _description(name).summary


def make_game(name: str, dialect: Dialect = "compact") -> TreeGame:
    """A game by its name or reference, showing itself in `dialect`.

    Raises GameError for an unknown name or dialect, or a reference to something else.

    >>> game = make_game("kuhn_poker")
    >>> game.show(game.root().child(2).child(0), 0)
    'first K'
    """
    found = _referred(name) if is_reference(name) else _description(name)
    if not isinstance(found, Description):
        with foreign(f"game {name!r}, made for dialect {dialect!r}", GameError):
            return _made(name, found(dialect))
    if dialect not in found.wordings:
        raise GameError(unknown("dialect", dialect, found.wordings))
    return OpenSpielGame(found, dialect)


def _description(name: str) -> Description:
    for description in _DESCRIPTIONS:
        if description.name == name:
            return description
    raise GameError(unknown("game", name, game_names()))


def _referred(reference: str) -> Description | Callable[[Dialect], object]:
    found: Description | Callable[[Dialect], object] = load(
        "game",
        reference,
        wanted=f"a {Description.__module__}.Description, or a class or function that makes a game for a dialect",
        fits=lambda thing: isinstance(thing, Description) or callable(thing),
        error=GameError,
    )
    return found


def _made(reference: str, game: object) -> TreeGame:
    if not isinstance(game, TreeGame):
        members = (*Game.__annotations__, *(member for member in dir(TreeGame) if not member.startswith("_")))
        lacks = ", ".join(member for member in members if not hasattr(game, member))
        raise GameError(f"game {reference!r} made a {type(game).__name__}, which is no TreeGame: it lacks {lacks}")
    check_start(game)
    return game
