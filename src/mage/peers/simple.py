"""Simple selectors that LinUCB is held against: each leaves something out that LinUCB has."""

from __future__ import annotations

import numpy as np

from mage.chance import derive
from mage.peers.features import BOUND_TO_QUESTION, FEATURES, Round, SelectorPhase
from mage.peers.linucb import pick_best
from mage.peers.ngrams import Floats
from mage.peers.world import Referee

COLUMNS = [FEATURES.index(name) for name in BOUND_TO_QUESTION]


class GreedySelector:
    """The features without a bandit: the peer with the largest sum of those that speak of this question.

    Nothing is learned and nobody is asked to explore, though who was never asked stands at the ½ of `similar_success`.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(derive(seed, "greedy"))

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """The largest relevance + similar_success."""
        return pick_best(features[:, COLUMNS].sum(axis=1), self._generator)

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """Nothing: the features themselves tell what happened."""


class UCB1Selector:
    """A bandit without features: mean_a + √(2 ln t / n_a), the mean alone in exploitation (Auer et al. 2002)."""

    def __init__(self, peers: int, seed: int) -> None:
        self._asked, self._sum = np.zeros(peers), np.zeros(peers)
        self._generator = np.random.default_rng(derive(seed, "ucb1"))

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """The largest bound or mean; first everybody once, in random order."""
        if not self._asked.all():
            return pick_best(-self._asked, self._generator)
        bonus = np.sqrt(2 * np.log(self._asked.sum()) / self._asked) if phase == "trial" else 0.0
        return pick_best(self._sum / self._asked + bonus, self._generator)

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """Count."""
        self._asked[peer] += 1
        self._sum[peer] += reward


class LockedInSelector:
    """In-context exploration as the paper saw it in LLM agents, scripted: asks around until a peer does well, then
    stays with it. (The best observed mean, where one that was never asked counts as 0.)
    """

    def __init__(self, peers: int, seed: int) -> None:
        self._asked, self._sum = np.zeros(peers), np.zeros(peers)
        self._generator = np.random.default_rng(derive(seed, "in_context"))

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """The best mean so far; before the first success, whom it has asked least."""
        if not self._sum.any():
            return pick_best(-self._asked, self._generator)
        return pick_best(self._sum / np.maximum(self._asked, 1), self._generator)

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """Count."""
        self._asked[peer] += 1
        self._sum[peer] += reward


class RandomSelector:
    """Anybody, each with the same chance."""

    def __init__(self, peers: int, seed: int) -> None:
        self._peers = peers
        self._generator = np.random.default_rng(derive(seed, "random"))

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """Uniform."""
        return int(self._generator.integers(self._peers))

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """Nothing."""


class RingSelector:
    """Fixed topology: agents sit in a ring and ask their two neighbours in turn (the one there is of two peers)."""

    def __init__(self, peers: int, seed: int) -> None:
        self._neighbours = (0, peers - 1) if peers > 2 else (0,)

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """Left, right, left, …"""
        return self._neighbours[now.number % len(self._neighbours)]

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """Nothing."""


class OracleSelector:
    """Knows the expected rewards: its regret is 0."""

    def __init__(self, referee: Referee, seed: int) -> None:
        self._referee = referee
        self._generator = np.random.default_rng(derive(seed, "oracle"))

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """The best in expectation."""
        return pick_best(await self._referee.expected(now.number), self._generator)

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """Nothing."""
