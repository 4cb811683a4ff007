"""Who chooses whom to ask: LinUCB (MACE) and what it is held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from mage.chance import derive
from mage.engine.base import Sampler, SamplingParams
from mage.errors import MageError, unknown
from mage.peers.features import FEATURES, Round
from mage.peers.linucb import LinUCB, pick_best
from mage.peers.ngrams import Floats
from mage.peers.world import Referee
from mage.play.actors import match_action, parse_block

SelectorPhase = Literal["trial", "exploit"]
ALPHA, RIDGE = 4.0, 0.4
"""Our choice, tuned on seeds from 1000 on."""
BOUND_TO_QUESTION = ("relevance", "similar_success")
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
        renderer = self._sampler.renderer
        prompt = renderer.system("") + renderer.user(self.prompt(now, phase))
        sample = await self._sampler.sample(prompt, self._params, derive(self._seed, "prompted", now.number))
        named = match_action(parse_block(sample.text, "peer")[0], self._names)
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


SELECTORS = ("linucb", "in_context", "random", "fixed", "oracle")


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
