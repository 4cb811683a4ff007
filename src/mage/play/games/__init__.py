"""The games: `make_game("kuhn_poker")` gives one, `game_names()` says which there are.

Some take parameters: `combination_lock:depth=8,symbols=6`.
A game of the user's own is named by reference, `module:attribute`: a `Description` of a game of OpenSpiel, or a class
or function that makes a `Game` for a dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from mage.errors import GameError, unknown
from mage.play.game import Dialect, Game, TreeGame
from mage.play.games.babyai import BABYAI
from mage.play.games.catalogue import Entry
from mage.play.games.connect_four import CONNECT_FOUR
from mage.play.games.kuhn import KUHN
from mage.play.games.leduc import LEDUC
from mage.play.games.lock import COMBINATION_LOCK
from mage.play.games.minesweeper import MINESWEEPER
from mage.play.games.openspiel import OpenSpielGame
from mage.play.games.sokoban import SOKOBAN
from mage.play.games.tic_tac_toe import TIC_TAC_TOE
from mage.play.games.wording import Description
from mage.play.soundness import check_start
from mage.play.specs import read_values, split
from mage.references import foreign, is_reference, load

_KNOWN: tuple[Description | Entry, ...] = (
    KUHN,
    LEDUC,
    TIC_TAC_TOE,
    CONNECT_FOUR,
    COMBINATION_LOCK,
    MINESWEEPER,
    SOKOBAN,
)

__all__ = ["describe_game", "game_extra", "game_names", "game_parameters", "make_game", "normalise_game"]


_EXTRAS: tuple[Entry, ...] = (BABYAI,)
"""Games that need an extra."""


def game_names(*, extras: bool = True) -> tuple[str, ...]:
    """Names of all games, or of those that come with MAGE alone.

    >>> game_names(extras=False)
    ('kuhn_poker', 'leduc_poker', 'tic_tac_toe', 'connect_four', 'combination_lock', 'minesweeper', 'sokoban')
    """
    return tuple(known.name for known in (*_KNOWN, *(_EXTRAS if extras else ())))


def describe_game(name: str) -> str:
    """One line about a game of `game_names`. Raises GameError for an unknown name."""
    return _known(name)[0].summary


def game_extra(name: str) -> str:
    """The extra that a game of `game_names` needs; empty: none. Raises GameError for an unknown name."""
    known = _known(name)[0]
    return known.extra if isinstance(known, Entry) else ""


def game_parameters(name: str) -> tuple[str, ...]:
    """One line per parameter of a game of `game_names`. Raises GameError for an unknown name.

    >>> game_parameters("combination_lock")[0]
    'depth=6: dials; an integer in 1..20'
    """
    known = _known(name)[0]
    return tuple(parameter.line() for parameter in known.parameters) if isinstance(known, Entry) else ()


def normalise_game(name: str) -> str:
    """The one spelling of a game: equal games have equal normal forms. A reference stays as it is.

    Raises GameError as `make_game` does for a name.

    >>> normalise_game("combination_lock: symbols=4 , depth=6")
    'combination_lock:symbols=4'
    """
    return name if _is_referred(name) else make_game(name, "natural").name  # which all have


def make_game(name: str, dialect: Dialect = "compact") -> Game:
    """A game by its name (`name` or `name:param=value,param=value`) or reference, showing itself in `dialect`.

    Raises GameError for an unknown name, parameter or dialect, or a reference to something else.

    >>> game = make_game("kuhn_poker")
    >>> game.show(game.root().child(2).child(0), 0)
    'first K'
    """
    if dialect not in get_args(Dialect):
        raise GameError(unknown("dialect", dialect, get_args(Dialect)))
    if _is_referred(name):
        referred = _referred(name)
        if isinstance(referred, Description):
            return _described(referred, dialect)
        with foreign(f"game {name!r}, made for dialect {dialect!r}", GameError):
            return _made(name, referred(dialect))
    known, raw = _known(name)
    if isinstance(known, Description):
        read_values(name, raw, (), "game")
        return _described(known, dialect)
    return known.build(name, read_values(name, raw, known.parameters, "game"), dialect)


def _described(description: Description, dialect: Dialect) -> Game:
    if dialect not in description.wordings:
        raise GameError(unknown("dialect", dialect, description.wordings))
    return OpenSpielGame(description, dialect)


def _is_referred(name: str) -> bool:
    """Whether `name` is a reference; a word of ours before the colon comes with parameters."""
    return is_reference(name) and name.partition(":")[0] not in game_names()


def _known(spec: str) -> tuple[Description | Entry, dict[str, str]]:
    """A game of ours by its name, and the parameters that are given. Raises GameError."""
    name, raw = split(spec, "game")
    for known in (*_KNOWN, *_EXTRAS):
        if known.name == name:
            return known, raw
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


def _made(reference: str, game: object) -> Game:
    if not isinstance(game, Game):
        members = (*Game.__annotations__, *(member for member in dir(Game) if not member.startswith("_")))
        lacks = ", ".join(member for member in members if not hasattr(game, member))
        raise GameError(f"game {reference!r} made a {type(game).__name__}, which is no Game: it lacks {lacks}")
    if isinstance(game, TreeGame):
        check_start(game)
    return game
