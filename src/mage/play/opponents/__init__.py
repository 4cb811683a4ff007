"""The opponents: `make_opponent("mcts:simulations=100", game)` gives one, `opponents()` says which there are.

An opponent of the user's own is named by reference, `module:attribute`, parameters as usual after another colon
("my_bots:TILTED:rate=0.2"): a `catalogue.Entry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import iscoroutinefunction

from mage.errors import GameError, unknown
from mage.play.game import Game, Opponent, TreeGame
from mage.play.games import make_game
from mage.play.opponents.catalogue import Entry, catalogue
from mage.play.specs import Value, read_values, spell, split
from mage.references import foreign, is_reference, load

__all__ = ["OpponentInfo", "make_opponent", "nobody_to_meet", "normalise", "opponent_names", "opponents"]


@dataclass(frozen=True, slots=True)
class OpponentInfo:
    """What a listing says of an opponent."""

    name: str
    summary: str
    needs: str
    """Which games it fits, in words."""
    parameters: tuple[str, ...]
    """One line per parameter: name=default and what it accepts."""


def opponents(game_name: str | None = None) -> tuple[OpponentInfo, ...]:
    """All opponents, or those that fit a game. Raises GameError for an unknown game.

    >>> [info.name for info in opponents("tic_tac_toe")]
    ['random', 'preferred', 'mcts', 'minimax']
    """
    entries = list(catalogue().values()) if game_name is None else _fitting(make_game(game_name))
    return tuple(
        OpponentInfo(entry.name, entry.summary, entry.needs, tuple(parameter.line() for parameter in entry.parameters))
        for entry in entries
    )


def opponent_names(game_name: str | None = None) -> tuple[str, ...]:
    """Names of all opponents, or of those that fit a game. Raises GameError for an unknown game.

    >>> opponent_names("leduc_poker")
    ('random', 'cfr')
    """
    return tuple(info.name for info in opponents(game_name))


def normalise(spec: str) -> str:
    """The one spelling of an opponent: equal opponents have equal normal forms. Raises GameError as `make_opponent`.

    >>> normalise("mcts"), normalise("mcts: uct=2 , simulations=100")
    ('mcts:simulations=100', 'mcts:simulations=100')
    """
    return _read(spec)[2]


def make_opponent(spec: str, game: Game) -> Opponent:
    """The opponent that `spec` names ("name" or "name:param=value,param=value") for `game`; its name is normalised.

    Raises GameError for an unknown name, an unknown or ill-formed parameter, an opponent that does not fit the game,
    saying what exists, or one whose own code fails.

    >>> make_opponent("preferred:order=corners_first", make_game("tic_tac_toe")).name
    'preferred:order=corners_first'
    """
    entry, values, name = _read(spec)
    if game.seats == 1:
        raise GameError(f"opponent {spec!r}: {nobody_to_meet(game)}")
    if not isinstance(game, TreeGame):
        raise GameError(f"opponent {spec!r}: {game.name} has no tree, on which opponents play")
    with foreign(f"opponent {spec!r}", GameError):
        if not entry.fits(game):
            known = ", ".join(fitting.name for fitting in _fitting(game))
            raise GameError(
                f"opponent {spec!r} needs {entry.needs}, not {game.name}; for {game.name} there are: {known}"
            )
        made = entry.build(name, game, values)
    if not (hasattr(made, "name") and iscoroutinefunction(getattr(made, "act", None))):
        raise GameError(
            f"opponent {spec!r}: its entry built a {type(made).__name__}, which is no opponent; expected an object "
            "with a name and a method `async def act(self, state, dice)`"
        )
    return made


def _read(spec: str) -> tuple[Entry, dict[str, Value], str]:
    reference, parameters = _reference(spec)
    if reference:
        name, raw = reference, split(reference.partition(":")[2] + parameters)[1]
        entry: Entry | None = load(
            "opponent",
            reference,
            wanted=f"a {Entry.__module__}.Entry",
            fits=lambda thing: isinstance(thing, Entry),
            error=GameError,
        )
    else:
        name, raw = split(spec)
        entry = catalogue().get(name)
    if entry is None:
        raise GameError(unknown("opponent", name, catalogue()))
    values = read_values(spec, raw, entry.parameters)
    return entry, values, spell(name, values, entry.parameters)


def _reference(spec: str) -> tuple[str, str]:
    """`module:attribute` and `:parameters` of an opponent of the user's own; empty for one of the catalogue.

    >>> _reference("my_bots:TILTED:rate=0.2"), _reference("mcts:simulations=100")
    (('my_bots:TILTED', ':rate=0.2'), ('', ''))
    """
    module, _, rest = spec.partition(":")
    attribute, colon, parameters = rest.partition(":")
    reference = f"{module.strip()}:{attribute.strip()}"
    if module.strip() in catalogue() or not is_reference(reference):
        return "", ""
    return reference, colon + parameters


def nobody_to_meet(game: Game) -> str:
    """Why an opponent cannot be had in a game of one seat."""
    return f"{game.name} has one seat: there is nobody to meet"


def _fitting(game: Game) -> list[Entry]:
    if not isinstance(game, TreeGame) or game.seats == 1:
        return []
    return [entry for entry in catalogue().values() if entry.fits(game)]
