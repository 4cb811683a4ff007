"""What the catalogue knows of a game that takes parameters: `name:param=value,param=value` makes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mage.errors import GameError
from mage.play.game import Dialect, Game
from mage.play.specs import Parameter, Value


@dataclass(frozen=True, slots=True)
class Entry:
    """A game with parameters."""

    name: str
    summary: str
    """One line for listings."""
    parameters: tuple[Parameter, ...]
    build: Callable[[str, Mapping[str, Value], Dialect], Game]
    """(spec as it was given, for messages; parameters; dialect) → the game, its name in the normal form."""
    extra: str = ""
    """The extra of MAGE that it needs, `pip install 'mage-rl[NAME]'`; empty: none."""


def needed(module: str, extra: str) -> Any:
    """A module that an extra brings. Raises GameError, with the command that installs it, where it is not there.

    >>> needed("json", "anything").loads("[1]")
    [1]
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise GameError(
            f"game {extra!r} needs the package {module.partition('.')[0]!r} ({error}): pip install 'mage-rl[{extra}]'"
        ) from None
