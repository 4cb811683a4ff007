"""The levels of BabyAI as minigrid registers them, and worlds made of them."""

from __future__ import annotations

import contextlib
import difflib
import io
import re
from collections.abc import Mapping
from typing import Any

from mage.errors import GameError
from mage.play.games.catalogue import needed

EXTRA = "babyai"
ID = re.compile(r"BabyAI-(?P<level>\w+)-v\d+")


def library(module: str) -> Any:
    """A module of minigrid or gymnasium. Raises GameError, with the command that installs them, where they are not."""
    with contextlib.redirect_stdout(io.StringIO()):  # pygame, which minigrid imports, greets whoever imports it
        return needed(module, EXTRA)


def levels() -> Mapping[str, Any]:
    """What minigrid has registered of each level of BabyAI, by its id without prefix and version."""
    library("minigrid")  # registers them
    registry = library("gymnasium.envs.registration").registry
    return {match["level"]: spec for key, spec in sorted(registry.items()) if (match := ID.fullmatch(key))}


class Level:
    """A level by name: makes worlds, each of its own. Raises GameError where there is no such level."""

    def __init__(self, game: str, name: str, turns: int | None) -> None:
        known = levels()
        if name not in known:
            near = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
            raise GameError(
                f"game {game!r}: level = {name!r} is none of the {len(known)} levels of BabyAI; "
                + (f"near: {', '.join(near)}" if near else f"known: {', '.join(known)}")
            )
        if library("minigrid.envs.babyai.core.verifier").use_done_actions:
            raise GameError(
                "BABYAI_DONE_ACTIONS is set in the environment: it changes what the levels of BabyAI ask for, and no "
                "recipe says so; unset it"
            )
        self._kwargs = dict(known[name].kwargs)
        self._creator = library("gymnasium.envs.registration").load_env_creator(known[name].entry_point)
        self._turns = turns

    def world(self, seed: int) -> Any:
        """A world of minigrid, drawn from its own generator with `seed`."""
        with contextlib.redirect_stdout(io.StringIO()):  # every level that minigrid draws and rejects is printed
            world = self._creator(**self._kwargs)
            world.reset(seed=seed)
        if self._turns is not None:
            world.max_steps = self._turns
        return world
