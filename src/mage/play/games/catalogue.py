"""What the catalogue knows of a game that takes parameters: `name:param=value,param=value` makes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mage.play.game import Dialect, TreeGame
from mage.play.specs import Parameter, Value


@dataclass(frozen=True, slots=True)
class Entry:
    """A game with parameters."""

    name: str
    summary: str
    """One line for listings."""
    parameters: tuple[Parameter, ...]
    build: Callable[[str, Mapping[str, Value], Dialect], TreeGame]
    """(spec as it was given, for messages; parameters; dialect) → the game, its name in the normal form."""
