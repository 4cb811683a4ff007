"""The equilibrium opponent: the average policy of CFR+, sampled as the mixture it is, solved once and kept on disk.

Source: CFR+ (Tammelin 2014) as OpenSpiel's C++ `CFRPlusSolver` has it. The average policy converges to a Nash
equilibrium of a two-player zero-sum game; its arg-max does not, so it is never used.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import pyspiel

from mage.cache import cache_folder
from mage.chance import Dice
from mage.play.game import State
from mage.play.games.openspiel import Node, OpenSpielGame
from mage.play.opponents.policy import Mixture, sample

_FORMAT = 1
_LOG = logging.getLogger(__name__)

Table = dict[str, tuple[tuple[int, float], ...]]
"""Mixture by OpenSpiel's information-state string."""


class Equilibrium:
    """Plays a tabular policy: a `PolicyOpponent`.

    Args:
        name: normalised spec.
        table: mixture of every information state of the game.
    """

    def __init__(self, name: str, table: Table) -> None:
        self.name = name
        self._table = table
        self._seen: dict[str, Mixture] = {}  # by the text shown: it is one information state, and cheaper to get

    def policy(self, state: State) -> Mixture:
        """The mixture at the information state of the seat to move."""
        assert isinstance(state, Node)
        text = state.show(state.player)
        mixture = self._seen.get(text)
        if mixture is None:
            mixture = self._seen[text] = self._table[state.native().information_state_string()]
        return mixture

    async def act(self, state: State, dice: Dice) -> int:
        """An action drawn from the mixture."""
        return sample(self.policy(state), dice)


def average_policy(game: OpenSpielGame, iterations: int, folder: Path | None = None) -> Table:
    """The CFR+ average policy of `game` after `iterations`, from the cache in `folder` (default `cache_folder()`).

    A cache file that cannot be used is solved anew; one that cannot be written is logged and done without.
    """
    folder = cache_folder() if folder is None else folder
    path = folder / f"cfr_plus-{game.name}-{iterations}.json"
    header = {"format": _FORMAT, "game": str(game.native), "solver": "cfr_plus", "iterations": iterations}
    table = _read(path, header)
    if table is None:
        table = solve(game, iterations)
        _write(path, {**header, "policy": table, "digest": _digest(table)})
    return table


def solve(game: OpenSpielGame, iterations: int) -> Table:
    """The CFR+ average policy after `iterations`; actions of probability 0 are left out."""
    solver = pyspiel.CFRPlusSolver(game.native)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    table = solver.tabular_average_policy().policy_table()
    return {state: tuple((int(a), float(p)) for a, p in mixture if p > 0) for state, mixture in table.items()}


def exploitability(game: OpenSpielGame, table: Table) -> float:
    """How much a best response wins per game against `table`, averaged over the seats."""
    return float(pyspiel.exploitability(game.native, {state: list(mixture) for state, mixture in table.items()}))


def _read(path: Path, header: dict[str, Any]) -> Table | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        table = {str(state): tuple((int(a), float(p)) for a, p in mixture) for state, mixture in data["policy"].items()}
        whole = data["digest"] == _digest(table) and all(data[key] == value for key, value in header.items())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError, LookupError):
        whole = False
    if not whole:
        _LOG.warning("%s is damaged or holds another policy; it is solved anew", path)
        return None
    return table


def _digest(table: Table) -> str:
    return hashlib.blake2b(json.dumps(table).encode(), digest_size=16).hexdigest()


def _write(path: Path, data: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(data, file, indent=1)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        _LOG.warning("%s cannot be written (%s); the policy is solved again next time", path, error.strerror)
