"""The player that a base built here learns from: no skill at a game, but it reads what it is told and reports truly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache

from mage.chance import scramble
from mage.engine.base import Renderer
from mage.play.actors import CachedRenderer, Facts, Response, spoken
from mage.play.game import Game, Primer
from mage.play.records import Phase

HEED = 0.98
"""How often it does as it reads: a base that always did would leave nothing to learn from."""
TURN = " >"
"""What ends a message in the tiny model's dialogue."""


class Novice:
    """Plays uniformly at random among the actions that what it has read leaves open; without advice, among all.

    It reads its context in tokens, as a model does, and nothing else. A remark is a true fact drawn at random. With
    `strategic` it says a strategy before each action that leads to it. Games say what advice means (`Primer`); to other
    games' advice it is deaf, and its strategies there are the names of actions.

    decode: token ids to text.
    """

    def __init__(
        self, game: Game, renderer: Renderer, decode: Callable[[Sequence[int]], str], *, strategic: bool
    ) -> None:
        self.renderer: Renderer = CachedRenderer(renderer)
        self._primer = game if isinstance(game, Primer) else None
        self._decode, self._strategic = decode, strategic
        self._known: tuple[str, ...] = ()
        self._say = lru_cache(maxsize=4096)(spoken(renderer.encode))

    def knowing(self, facts: Sequence[str]) -> Novice:
        """The same player, who knows some facts besides what it reads."""
        other = copy(self)
        other._known = tuple(facts)
        return other

    def fits(self, length: int, phase: Phase) -> bool:
        """Always: what it writes is short, and cut where a model's context would end."""
        return True

    async def act(self, context: Sequence[int], legal: tuple[str, ...], seed: int) -> Response:
        """An action that is open, after a strategy if it is to have one."""
        primer, draw = self._primer, scramble(seed)
        text = self._decode(context) if primer else ""
        view = text.removesuffix(TURN).rsplit(TURN, 1)[-1]
        heeds = primer is not None and draw % 1000 < 1000 * HEED
        options = primer.heeded(view, legal, [text, *self._known]) if primer and heeds else legal
        action = options[scramble(draw) % len(options)]
        if not self._strategic:
            return self._say("action", action)
        return self._say("action", action, primer.intention(view, action) if primer else action)

    async def reflect(self, context: Sequence[int], facts: Facts, seed: int) -> Response:
        """A true fact, or nothing."""
        told = facts()
        return self._say("remark", told[scramble(seed) % len(told)] if told else "")

    async def say(self, question: str, most: int, seed: int) -> str:
        """Nothing."""
        return ""
