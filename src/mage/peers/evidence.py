"""Split-evidence question answering: ten agents, each with notes on a part of the facts, and questions of two hops.

One agent is asked; in each round it asks one of the nine others for the fact that it lacks, and revises its answer.
A question is left after three asks. Each kind of fact is in the notes of two others, one of whom finds them more
often, so that the best peer depends on which fact is missing, and no peer is good for many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mage.chance import derive
from mage.engine.base import Sampler
from mage.peers.answering import UNKNOWN, NotesPeer, Peer, Question, SamplerPeer, is_right
from mage.peers.world import check_peers

RELATIONS = {
    "the mayor of the town": ("town", "person"),
    "the partner of the town": ("town", "town"),
    "the captain of the ship": ("ship", "person"),
    "the harbour of the ship": ("ship", "town"),
    "the founder of the guild": ("guild", "person"),
    "the seat of the guild": ("guild", "town"),
    "the mentor of the person": ("person", "person"),
    "the birthplace of the person": ("person", "town"),
}
"""Kinds of facts: of what, and what the answer is."""
ENTITIES, ASKS = 12, 3
"""Names of each type; asks before a question is left."""
SURE, UNSURE = (0.85, 0.95), (0.5, 0.65)
"""Recall of the two holders of a kind, uniform in these ranges."""
ONSETS, VOWELS, ENDS = ("b", "d", "f", "k", "l", "m", "r", "s", "t", "v"), ("a", "e", "i", "o", "u"), ("n", "r", "l")


class Hop(NamedTuple):
    """A fact that a question needs."""

    relation: str
    subject: str


class Facts:
    """All facts of a world: an object for each relation and each subject that fits it."""

    def __init__(self, generator: np.random.Generator) -> None:
        names = [a + b + c + d + e for a in ONSETS for b in VOWELS for c in ONSETS for d in VOWELS for e in ENDS]
        drawn = [str(name).capitalize() for name in generator.choice(names, 4 * ENTITIES, replace=False)]
        types = ("town", "person", "ship", "guild")
        self.names = {kind: drawn[index * ENTITIES : (index + 1) * ENTITIES] for index, kind in enumerate(types)}
        self.objects = {
            Hop(relation, subject): self._other(subject, target, generator)
            for relation, (kind, target) in RELATIONS.items()
            for subject in self.names[kind]
        }

    def _other(self, subject: str, target: str, generator: np.random.Generator) -> str:
        return str(generator.choice([name for name in self.names[target] if name != subject]))

    def draw_hops(self, generator: np.random.Generator) -> tuple[Hop, Hop]:
        """A question of two hops: a relation of what another relation leads to."""
        first = list(RELATIONS)[generator.integers(len(RELATIONS))]
        source, target = RELATIONS[first]
        start = Hop(first, str(generator.choice(self.names[source])))
        onward = [relation for relation, (kind, _) in RELATIONS.items() if kind == target]
        return start, Hop(onward[generator.integers(len(onward))], self.objects[start])

    def question(self, hop: Hop, generator: np.random.Generator) -> Question:
        """How a peer is asked for a fact."""
        gold = self.objects[hop]
        wrong = self._other(gold, RELATIONS[hop.relation][1], generator)
        return Question(f"Name {hop.relation} {hop.subject}.", hop.relation, gold, wrong)

    def notes(self, relations: Sequence[str]) -> str:
        """The facts of some kinds in sentences: what a peer that is a model reads."""
        facts = (
            f"{hop.relation} {hop.subject} is {found}."
            for hop, found in self.objects.items()
            if hop.relation in relations
        )
        return "\n".join(fact[0].upper() + fact[1:] for fact in facts)


def draw_recall(peers: int, generator: np.random.Generator) -> list[dict[str, float]]:
    """Which kinds each peer holds and how surely it finds them: two holders a kind, spread as evenly as they go."""
    recall: list[dict[str, float]] = [{} for _ in range(peers)]
    order = generator.permutation(peers)
    kinds = [*generator.permutation(list(RELATIONS)), *generator.permutation(list(RELATIONS))]
    for index, kind in enumerate(kinds):
        peer = int(order[index % peers])
        while kind in recall[peer]:  # the second deal met the first
            peer = int(generator.integers(peers))
        recall[peer][str(kind)] = float(generator.uniform(*(SURE if index < len(RELATIONS) else UNSURE)))
    return recall


class Evidence:
    """A world of split evidence; a task is one question of two hops. `peers` replaces the scripted ones.

    `models` does so too: each is given a part of the evidence as its notes.
    """

    def __init__(
        self, seed: int, *, count: int = 9, peers: Sequence[Peer] = (), models: Sequence[Sampler] = ()
    ) -> None:
        """Draw facts and notes. Raises MageError for fewer than two peers."""
        count = len(peers) or len(models) or count
        check_peers(count, "evidence")
        self.facts = Facts(np.random.default_rng(derive(seed, "facts")))
        generator = np.random.default_rng(derive(seed, "notes"))
        self.recall = draw_recall(count, generator)
        self.held = str(generator.choice(list(RELATIONS)))
        """The kind of facts in the agent's own notes."""
        self.peers: tuple[Peer, ...] = (
            tuple(peers)
            or tuple(SamplerPeer(model, self.notes(peer)) for peer, model in enumerate(models))
            or tuple(NotesPeer(recall) for recall in self.recall)
        )
        self.ended = 0
        """Questions that were answered or left."""
        self._seed, self._right = seed, 0
        self._start()

    def notes(self, peer: int) -> str:
        """What a model in the place of `peer` would hold."""
        return self.facts.notes(tuple(self.recall[peer]))

    def hear(self, answer: str) -> float:
        """1 if the answer is the fact that was missing; the own answer then holds it."""
        right = is_right(answer, self.question.gold)
        self._asks += 1
        self._place += right
        self._pass_own()
        found = self._place == len(self._hops)
        if found or self._asks == ASKS:
            self._right += found
            self.ended += 1
            self._start()
        return float(right)

    def score(self) -> float:
        """Share of questions whose both hops were found."""
        return self._right / max(self.ended, 1)

    @property
    def question(self) -> Question:
        """The first fact that is missing, as a peer is asked for it."""
        generator = np.random.default_rng(derive(self._seed, "wrong", self.ended, self._place))
        return self.facts.question(self._hops[self._place], generator)

    @property
    def own(self) -> str:
        """What was found so far, and what is missing: its answer to that is that it does not know."""
        known = [f"{hop.relation} {hop.subject} is {self.facts.objects[hop]}" for hop in self._hops[: self._place]]
        lacking = self._hops[self._place]
        told = f"I know {' and '.join(known) or 'nothing'}; I lack {lacking.relation} {lacking.subject}"
        return f"{told}: <answer>{UNKNOWN}</answer>."

    def _start(self) -> None:
        """Next question, one that the agent's own notes do not answer alone; the same for every selector."""
        generator = np.random.default_rng(derive(self._seed, "question", self.ended))
        self._hops = self.facts.draw_hops(generator)
        while all(hop.relation == self.held for hop in self._hops):
            self._hops = self.facts.draw_hops(generator)
        self._asks, self._place = 0, 0
        self._pass_own()

    def _pass_own(self) -> None:
        """Past the hops that are in the agent's own notes."""
        while self._place < len(self._hops) and self._hops[self._place].relation == self.held:
            self._place += 1
