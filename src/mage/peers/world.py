"""A setting in which an agent asks peers: what it is asked, what it thinks itself, what an answer was worth."""

from __future__ import annotations

import asyncio
from typing import Protocol

import numpy as np

from mage.chance import derive
from mage.errors import MageError
from mage.peers.answering import Peer, Question
from mage.peers.ngrams import Floats


class World(Protocol):
    """One seed of a setting. `question` and `own` hold until `hear` ends the round."""

    @property
    def peers(self) -> tuple[Peer, ...]:
        """Who can be asked."""
        ...

    @property
    def question(self) -> Question:
        """What the agent would ask a peer now."""
        ...

    @property
    def own(self) -> str:
        """The agent's own answer so far."""
        ...

    def hear(self, answer: str) -> float:
        """Take in a peer's answer, revise the own one and go on; returns the reward, 0 or 1."""
        ...

    def score(self) -> float:
        """Share of the tasks that have ended so far whose final answer was right; 0 before the first has."""
        ...


class Referee:
    """Knows what every peer's answer is worth on average: what regret is measured against."""

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._seed = world, seed
        self._known: tuple[int, Floats] | None = None

    async def expected(self, number: int) -> Floats:
        """(peers,) expected rewards in round `number`; asked twice, they are the same."""
        if self._known is None or self._known[0] != number:
            question = self._world.question
            seeds = [derive(self._seed, "expected", number, peer) for peer in range(len(self._world.peers))]
            pairs = zip(self._world.peers, seeds, strict=True)
            found = await asyncio.gather(*(peer.expected(question, seed) for peer, seed in pairs))
            self._known = number, np.array(found)
        return self._known[1]


def check_peers(peers: int, setting: str) -> None:
    """Raises MageError where there is nobody to choose from."""
    if peers < 2:
        raise MageError(f"{setting}: {peers} peer(s) leave nothing to choose; expected at least 2")
