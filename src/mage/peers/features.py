"""The nine features by which a peer is judged before it is asked: all of what the asking agent itself has seen.

The paper names four groups (response diversity, peer distinctiveness, the peer's historical success, the round); how
they are split into nine is our choice. Each is in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mage.peers.ngrams import Floats, centrality, containment, jaccard, ngrams

FEATURES = (
    "response_diversity",
    "distinctiveness",
    "agreement",
    "relevance",
    "success",
    "recent_success",
    "similar_success",
    "round",
    "times_chosen",
)
BOUND_TO_QUESTION = ("relevance", "similar_success")
"""Those that tell peers apart by the question of this round."""
SelectorPhase = Literal["trial", "exploit"]
RECENT = 5
"""Answers of a peer that `recent_success` looks back on."""
SAID = 3
"""Answers of a peer that `relevance` looks back on."""
SHARPNESS = 2
"""Power of the likeness of two questions: the frame words that all questions share should not make them alike."""
PRIOR_WEIGHT = 0.2
"""How many answers the opinion before the first one counts for; it is ½."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One answer that the agent got."""

    question: str
    answer: str
    agreed: bool
    """Whether it said what the agent's own answer said."""
    reward: float


@dataclass(frozen=True, slots=True)
class Round:
    """What the agent knows when it chooses whom to ask."""

    number: int
    """From 0."""
    rounds: int
    question: str
    own: str
    """Its own answer so far."""


@dataclass(slots=True)
class History:
    """All answers that the agent got, in order, for each peer."""

    peers: int
    asked: list[list[Asked]] = field(init=False)

    def __post_init__(self) -> None:
        self.asked = [[] for _ in range(self.peers)]

    def last_answers(self) -> list[str | None]:
        """What each peer said when it was last asked."""
        return [entries[-1].answer if entries else None for entries in self.asked]


def features(now: Round, history: History) -> Floats:
    """The features of all peers in this round, (peers, 9), columns as in `FEATURES`.

    - response_diversity: 1 − Jaccard similarity of the agent's own answer and the peer's last; 1 if never asked.
    - distinctiveness: 1 − centrality of the peer's last answer among the last answers of all; 1 if never asked.
    - agreement: share of its answers that agreed with the agent's own at the time.
    - relevance: share of the question's n-grams that are in the peer's last 3 answers.
    - success: mean reward of its answers (n of them), (Σr + ½·0.2)/(n + 0.2).
    - recent_success: the same over its last 5 answers.
    - similar_success: the same, each answer weighed by jaccard(its question, this question)².
    - round: number / rounds.
    - times_chosen: its share of all rounds so far.
    """
    central = centrality(history.last_answers())
    own, question = ngrams(now.own), ngrams(now.question)
    rows = []
    for peer, entries in enumerate(history.asked):
        answers = [entry.answer for entry in entries]
        said = ngrams(answers[-1]) if answers else frozenset()
        rewards = [entry.reward for entry in entries]
        likeness = [jaccard(ngrams(entry.question), question) ** SHARPNESS for entry in entries]
        rows.append(
            (
                1.0 - jaccard(own, said),
                1.0 - central[peer],
                sum(entry.agreed for entry in entries) / max(len(entries), 1),
                containment(question, frozenset().union(*map(ngrams, answers[-SAID:]))),
                standing(rewards, [1.0] * len(rewards)),
                standing(rewards[-RECENT:], [1.0] * len(rewards[-RECENT:])),
                standing(rewards, likeness),
                now.number / now.rounds,
                len(entries) / max(now.number, 1),
            )
        )
    return np.array(rows)


def standing(rewards: Sequence[float], weights: Sequence[float]) -> float:
    """(Σ w·r + ½·0.2) / (Σ w + 0.2): a weighted mean with a fifth of an observation of ½ mixed in.

    >>> standing([], []), standing([1.0], [1.0])
    (0.5, 0.916...)
    """
    total = sum(weight * reward for weight, reward in zip(weights, rewards, strict=True))
    return (total + 0.5 * PRIOR_WEIGHT) / (sum(weights) + PRIOR_WEIGHT)
