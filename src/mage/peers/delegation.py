"""The delegation bandit: each round a small question of some kind, handed to one of a few peers of unlike skills.

Two peers and four kinds are the paper's delegation task; four peers are its parametric diversity, scripted: each peer
is the best at one kind and weaker at all others, and hard questions are hard for all. The kind is told in words only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mage.chance import derive
from mage.peers.answering import Peer, Question, SkilledPeer, is_right
from mage.peers.world import check_peers

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SYLLABLES = ("ba", "lo", "mi", "ter", "san", "ku", "vel", "rin")
HARD, HARD_SHARE = 0.75, 0.3
"""What hard questions leave of a skill, and how many are hard."""
EXPERT, LAYMAN, OWN = (0.8, 0.95), (0.15, 0.45), 0.4
"""Skills are uniform in these ranges; the agent's own is the same for all kinds."""


def _add(generator: np.random.Generator, hard: bool) -> tuple[str, str]:
    first, second = generator.integers(10, 1000 if hard else 100, 2)
    return f"Add the numbers {first} and {second} to one sum.", str(first + second)


def _multiply(generator: np.random.Generator, hard: bool) -> tuple[str, str]:
    first, second = generator.integers(3, 100 if hard else 20, 2)
    return f"Multiply {first} by {second}: which product results?", str(first * second)


def _reverse(generator: np.random.Generator, hard: bool) -> tuple[str, str]:
    word = "".join(generator.choice(SYLLABLES, 4 if hard else 2))
    return f"Spell the word {word} backwards, letter by letter.", word[::-1]


def _count_days(generator: np.random.Generator, hard: bool) -> tuple[str, str]:
    today, days = generator.integers(7), generator.integers(2, 60 if hard else 7)
    return f"If today is {DAYS[today]}, which weekday comes {days} days later?", DAYS[(today + days) % 7]


KINDS: dict[str, Callable[[np.random.Generator, bool], tuple[str, str]]] = {
    "add": _add,
    "multiply": _multiply,
    "reverse": _reverse,
    "count days": _count_days,
}


def draw_question(generator: np.random.Generator) -> Question:
    """A question of a kind drawn uniformly; its wrong answer is the right one of another such question."""
    kind = list(KINDS)[generator.integers(len(KINDS))]
    hard = bool(generator.random() < HARD_SHARE)
    text, gold = KINDS[kind](generator, hard)
    wrong = gold
    while wrong == gold:
        wrong = KINDS[kind](generator, hard)[1]
    return Question(text, kind, gold, wrong, HARD if hard else 1.0)


def draw_skills(peers: int, generator: np.random.Generator) -> list[dict[str, float]]:
    """Skills of each peer by kind: one expert a kind, the kinds dealt out as evenly as they go, in random order."""
    order, kinds = generator.permutation(peers), generator.permutation(list(KINDS))
    experts = {str(kind): int(order[index % peers]) for index, kind in enumerate(kinds)}
    return [
        {kind: float(generator.uniform(*(EXPERT if experts[kind] == peer else LAYMAN))) for kind in KINDS}
        for peer in range(peers)
    ]


class Delegation:
    """A world of the delegation bandit; every round is a task of its own. `peers` replaces the scripted ones."""

    def __init__(self, seed: int, *, count: int = 2, peers: Sequence[Peer] = ()) -> None:
        """Draw the peers. Raises MageError for fewer than two."""
        check_peers(len(peers) or count, "delegation")
        skills = draw_skills(count, np.random.default_rng(derive(seed, "skills")))
        self.peers: tuple[Peer, ...] = tuple(peers) or tuple(SkilledPeer(skill) for skill in skills)
        self._generator = np.random.default_rng(derive(seed, "questions"))
        self._right, self._ended = 0, 0
        self._next()

    def hear(self, answer: str) -> float:
        """The agent says what the peer said; 1 if that is right."""
        right = is_right(answer, self.question.gold)
        self._right += right
        self._ended += 1
        self._next()
        return float(right)

    def score(self) -> float:
        """Share of questions answered rightly."""
        return self._right / max(self._ended, 1)

    def _next(self) -> None:
        self.question = draw_question(self._generator)
        right = self._generator.random() < OWN * self.question.ease
        guess = self.question.gold if right else self.question.wrong
        self.own = f"{self.question.text} I would say <answer>{guess}</answer>"
