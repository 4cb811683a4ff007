"""Who chooses whom to ask: LinUCB (MACE), a model, and the simple selectors by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mage.chance import derive
from mage.engine.base import Sampler, SamplingParams
from mage.errors import MageError, unknown
from mage.peers.answering import ask
from mage.peers.features import BOUND_TO_QUESTION, FEATURES, Round, SelectorPhase
from mage.peers.linucb import LinUCB
from mage.peers.ngrams import Floats
from mage.peers.simple import (
    GreedySelector,
    LockedInSelector,
    OracleSelector,
    RandomSelector,
    RingSelector,
    UCB1Selector,
)
from mage.peers.world import Referee
from mage.play.actors import match_action, parse_block

ALPHA, RIDGE = 4.0, 0.4
"""Our choice, tuned on seeds from 1000 on."""
SCALES = np.array([1.0 if name in BOUND_TO_QUESTION else 0.1 for name in FEATURES])
"""What LinUCB multiplies features with. Under one λ a small range is a prior for a small weight: with a regression of
its own for each peer and few asks of each, weights of nine equal features are not found in 50 rounds."""


class Selector(Protocol):
    """Chooses a peer in each round and learns from the reward. Lives for one run."""

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """Index of a peer. `features` (peers, 9), columns as in `FEATURES`."""
        ...

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """What the chosen peer, with `features` (9,) at the time, brought."""
        ...


class LinUCBSelector:
    """MACE: the upper bound in the trial phase, the prediction alone in exploitation."""

    def __init__(self, peers: int, seed: int, *, alpha: float = ALPHA, ridge: float = RIDGE) -> None:
        self.bandit = LinUCB(peers, len(FEATURES), alpha=alpha, ridge=ridge, seed=seed)

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """The best bound or prediction."""
        return self.bandit.choose(features * SCALES, explore=phase == "trial")

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """In both phases: rewards are seen in both."""
        self.bandit.learn(peer, features * SCALES, reward)


class PromptedSelector:
    """In-context exploration by a model: it reads what happened with each peer and names one."""

    def __init__(self, sampler: Sampler, peers: int, seed: int, *, temperature: float = 1.0) -> None:
        self._sampler, self._seed = sampler, seed
        self._names = tuple(f"peer {number + 1}" for number in range(peers))
        self._rewards: list[list[float]] = [[] for _ in range(peers)]
        self._params = SamplingParams(128, temperature, stop=("</peer>",))
        self._generator = np.random.default_rng(derive(seed, "unreadable"))

    async def choose(self, now: Round, features: Floats, phase: SelectorPhase) -> int:
        """The peer that the model names; one at random where it names none."""
        seed = derive(self._seed, "prompted", now.number)
        text = await ask(self._sampler, "", self.prompt(now, phase), self._params, seed)
        named = match_action(parse_block(text, "peer")[0], self._names)
        return int(self._generator.integers(len(self._names))) if named is None else self._names.index(named)

    def learn(self, peer: int, features: Floats, reward: float) -> None:
        """Remember for the next prompt."""
        self._rewards[peer].append(reward)

    def prompt(self, now: Round, phase: SelectorPhase) -> str:
        """All that the model is told."""
        told = [
            f"{name}: asked {len(rewards)} times, right {sum(rewards):g} times"
            for name, rewards in zip(self._names, self._rewards, strict=True)
        ]
        aim = "Try peers out" if phase == "trial" else "Ask whom you trust most"
        return "\n".join(
            (
                f"Round {now.number + 1} of {now.rounds}. You may ask one peer. {aim}; different peers know different "
                "things.",
                *told,
                f"Question: {now.question}",
                f"Your own answer so far: {now.own}",
                "Whom do you ask? Answer as <peer>peer 1</peer>.",
            )
        )


SELECTORS = ("linucb", "greedy", "ucb1", "in_context", "random", "fixed", "oracle")


def make_selector(
    name: str,
    peers: int,
    seed: int,
    referee: Referee,
    *,
    alpha: float = ALPHA,
    ridge: float = RIDGE,
    sampler: Sampler | None = None,
) -> Selector:
    """A selector by name; `sampler` makes `in_context` a model's choice. Raises MageError for an unknown name."""
    match name:
        case "linucb":
            return LinUCBSelector(peers, seed, alpha=alpha, ridge=ridge)
        case "greedy":
            return GreedySelector(seed)
        case "ucb1":
            return UCB1Selector(peers, seed)
        case "in_context":
            return PromptedSelector(sampler, peers, seed) if sampler else LockedInSelector(peers, seed)
        case "random":
            return RandomSelector(peers, seed)
        case "fixed":
            return RingSelector(peers, seed)
        case "oracle":
            return OracleSelector(referee, seed)
    raise MageError(unknown("selector", name, SELECTORS))


def check_selectors(names: Sequence[str]) -> None:
    """Raises MageError for the first name that does not exist, or that is there twice."""
    for index, name in enumerate(names):
        if name not in SELECTORS:
            raise MageError(unknown("selector", name, SELECTORS))
        if name in names[:index]:
            raise MageError(f"--selectors has {name!r} twice; expected different ones of {', '.join(SELECTORS)}")
