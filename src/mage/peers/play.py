"""One run: in each round the agent chooses a peer, hears it and learns; a trial phase, then exploitation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mage.chance import derive
from mage.engine.base import Sampler
from mage.errors import MageError, unknown
from mage.peers.answering import Peer, SamplerPeer, said_answer
from mage.peers.delegation import Delegation
from mage.peers.evidence import Evidence
from mage.peers.features import Asked, History, Round, features
from mage.peers.ngrams import Floats
from mage.peers.regret import regrets
from mage.peers.selectors import ALPHA, RIDGE, Selector, make_selector
from mage.peers.world import Referee, World

SETTINGS = {
    "delegation": "two peers of unlike skills, four kinds of questions",
    "parametric": "four peers, each the best at one of four kinds of questions",
    "evidence": "ten agents, each with a part of the facts; questions of two hops",
}
TRIAL_SHARE = 0.6
"""Share of the rounds that are the trial phase, where nothing else is said. Our choice."""


@dataclass(frozen=True)
class PeerRun:
    """What happened in one run."""

    setting: str
    selector: str
    seed: int
    trial_rounds: int
    chosen: tuple[int, ...]
    rewards: tuple[float, ...]
    expected: Floats
    """(rounds, peers)"""
    score: float
    """Share of tasks whose final answer was right."""

    @property
    def regret(self) -> Floats:
        """(rounds,), max_a r(a) − r(a_t)."""
        return regrets(self.expected, self.chosen)

    @property
    def cumulative(self) -> Floats:
        """(rounds,), Σ of the regret up to each round."""
        return np.cumsum(self.regret)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        regret = self.regret
        return {
            "setting": self.setting,
            "selector": self.selector,
            "seed": self.seed,
            "rounds": len(self.chosen),
            "trial_rounds": self.trial_rounds,
            "regret": float(regret.sum()),
            "regret_trial": float(regret[: self.trial_rounds].sum()),
            "regret_exploit": float(regret[self.trial_rounds :].sum()),
            "score": self.score,
            "chosen": list(self.chosen),
            "rewards": list(self.rewards),
            "cumulative": [float(value) for value in self.cumulative],
        }


def make_world(setting: str, seed: int, peers: Sequence[Peer] = (), models: Sequence[Sampler] = ()) -> World:
    """A setting by name; `peers`, or a peer for each of `models`, replace its scripted ones.

    Raises MageError for an unknown name.
    """
    match setting:
        case "delegation" | "parametric":
            count = 2 if setting == "delegation" else 4
            return Delegation(seed, count=count, peers=peers or [SamplerPeer(model) for model in models])
        case "evidence":
            return Evidence(seed, peers=peers, models=models)
    raise MageError(unknown("setting", setting, SETTINGS))


async def run_peers(
    setting: str,
    selector: str,
    seed: int,
    *,
    rounds: int = 50,
    trial_rounds: int | None = None,
    alpha: float = ALPHA,
    ridge: float = RIDGE,
    sampler: Sampler | None = None,
    peers: Sequence[Peer] = (),
    models: Sequence[Sampler] = (),
) -> PeerRun:
    """Play one run. Peers, their luck in a round and the order of questions depend on `setting` and `seed` only.

    So selectors are paired. In `evidence` the question of a round is the fact that is missing then, which depends on
    the answers so far, and with it what the peers are worth in that round; elsewhere rounds are the same for all.

    Args:
        setting: A key of `SETTINGS`.
        selector: One of `SELECTORS`.
        seed: Of everything.
        rounds: Asks in all.
        trial_rounds: How many of them are the trial phase; default: 60%.
        alpha: Weight of LinUCB's bonus.
        ridge: λ of LinUCB.
        sampler: Makes `in_context` a model's choice.
        peers: In place of the scripted ones.
        models: Likewise, each as a peer; in `evidence` each reads its part of the facts.

    Raises MageError for names that do not exist and numbers that do not fit.
    """
    trial_rounds = trial_length(rounds, trial_rounds)
    world = make_world(setting, derive(seed, setting, "world"), peers, models)
    referee = Referee(world, derive(seed, setting, "referee"))
    chooser = make_selector(
        selector, len(world.peers), derive(seed, "selector"), referee, alpha=alpha, ridge=ridge, sampler=sampler
    )
    chosen, rewards, expected = await play_rounds(world, chooser, referee, rounds, trial_rounds, derive(seed, setting))
    return PeerRun(setting, selector, seed, trial_rounds, chosen, rewards, expected, world.score())


def trial_length(rounds: int, trial_rounds: int | None) -> int:
    """Rounds of the trial phase. Raises MageError where they are not among `rounds`, or there are none at all."""
    if rounds < 1:
        raise MageError(f"rounds = {rounds}: expected at least 1")
    if trial_rounds is None:
        return round(TRIAL_SHARE * rounds)
    if not 0 <= trial_rounds <= rounds:
        raise MageError(f"trial_rounds = {trial_rounds}: expected 0 to rounds = {rounds}")
    return trial_rounds


async def play_rounds(
    world: World, selector: Selector, referee: Referee, rounds: int, trial_rounds: int, seed: int
) -> tuple[tuple[int, ...], tuple[float, ...], Floats]:
    """The rounds of a run: who was asked, the rewards, and what each peer was worth in each round (rounds, peers)."""
    history = History(len(world.peers))
    chosen, rewards, expected = list[int](), list[float](), list[Floats]()
    for number in range(rounds):
        question, own = world.question, world.own
        expected.append(await referee.expected(number))
        now = Round(number, rounds, question.text, own)
        seen = features(now, history)
        peer = await selector.choose(now, seen, "trial" if number < trial_rounds else "exploit")
        answer = await world.peers[peer].answer(question, derive(seed, "answer", number, peer))
        reward = world.hear(answer)
        selector.learn(peer, seen[peer], reward)
        agreed = said_answer(answer) == said_answer(own)
        history.asked[peer].append(Asked(question.text, answer, agreed, reward))
        chosen.append(peer)
        rewards.append(reward)
    return tuple(chosen), tuple(rewards), np.array(expected)
