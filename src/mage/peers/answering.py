"""Peers: whoever answers a question, scripted or a model behind any sampler."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mage.chance import derive
from mage.engine.base import Sampler, SamplingParams
from mage.errors import EngineError
from mage.play.actors import parse_block


@dataclass(frozen=True, slots=True)
class Question:
    """What a peer is asked. Models read `text` only; the rest is for scripted peers and for who judges."""

    text: str
    kind: str
    gold: str
    wrong: str
    """A plausible wrong answer."""
    ease: float = 1.0
    """Scripted peers' skill is multiplied by this."""


UNKNOWN = "unknown"
"""What is answered by who does not know."""


class Peer(Protocol):
    """Somebody who can be asked."""

    async def answer(self, question: Question, seed: int) -> str:
        """What it says, in words; the answer proper in an `<answer>` block."""
        ...

    async def expected(self, question: Question, seed: int) -> float:
        """Chance that it answers rightly. For the oracle and for regret: no selector that plays fair sees it."""
        ...


def said_answer(text: str) -> str:
    """The answer proper in a text: its last `<answer>` block, else all of it, without case and outer punctuation.

    >>> said_answer("I get <answer> 12. </answer>")
    '12'
    """
    said, _ = parse_block(text, "answer")
    return " ".join((text if said is None else said).casefold().split()).strip(" .,!?:;\"'")


def is_right(text: str, gold: str) -> bool:
    """Whether a text answers `gold`."""
    return said_answer(text) == said_answer(gold)


@dataclass(frozen=True)
class SkilledPeer:
    """Answers rightly with a chance of its skill in the kind of question, else with the plausible wrong answer."""

    skills: Mapping[str, float]

    async def answer(self, question: Question, seed: int) -> str:
        """The same words whether right or wrong."""
        right = np.random.default_rng(derive(seed, "skill")).random() < await self.expected(question, seed)
        return f"To {question.kind} gives <answer>{question.gold if right else question.wrong}</answer>"

    async def expected(self, question: Question, seed: int) -> float:
        """Its skill, less where the question is hard."""
        return self.skills[question.kind] * question.ease


@dataclass(frozen=True)
class NotesPeer:
    """Holds notes on some kinds of questions and finds the right one with some chance; on others it may guess."""

    recall: Mapping[str, float]
    """The kinds it holds notes on, and its chance to find what is asked."""
    guesses: float = 0.3
    """Chance that it makes something up, instead of saying what its notes are about."""

    async def answer(self, question: Question, seed: int) -> str:
        """What the notes say; else a wrong guess, or what its notes are about."""
        generator = np.random.default_rng(derive(seed, "notes"))
        about = " and ".join(self.recall)
        if generator.random() < await self.expected(question, seed):
            return f"My notes on {about} say: <answer>{question.gold}</answer>"
        if generator.random() < self.guesses:
            return f"I believe it is <answer>{question.wrong}</answer>"
        return f"I do not find it. My notes are on {about}. <answer>{UNKNOWN}</answer>"

    async def expected(self, question: Question, seed: int) -> float:
        """Its recall where it holds notes, else 0: the guesses are wrong."""
        return self.recall.get(question.kind, 0.0)


async def ask(sampler: Sampler, system: str, text: str, params: SamplingParams, seed: int) -> str:
    """One sampled response to a system message and a text. Raises EngineError where they do not fit the context."""
    prompt = sampler.renderer.system(system) + sampler.renderer.user(text)
    if len(prompt) + params.max_tokens > sampler.context_length:
        raise EngineError(
            f"a prompt of {len(prompt)} tokens and an answer of {params.max_tokens} do not fit the model's context of "
            f"{sampler.context_length}: {text!r}"
        )
    return (await sampler.sample(prompt, params, seed)).text


SYSTEM = "Answer in one sentence and put the answer alone in a block: <answer>...</answer>."
NOTES = " Answer only from these notes; if they do not say, tell what they are about and answer '{unknown}'.\n{notes}"


@dataclass(frozen=True)
class SamplerPeer:
    """A model that is asked; its expected reward is estimated, as the share of right ones among `draws` answers."""

    sampler: Sampler
    notes: str = ""
    """What only this peer knows (`evidence`); empty: it answers from what the model knows."""
    draws: int = 4
    params: SamplingParams = field(default=SamplingParams(128, stop=("</answer>",)))

    async def answer(self, question: Question, seed: int) -> str:
        """One sampled response."""
        system = SYSTEM + (NOTES.format(unknown=UNKNOWN, notes=self.notes) if self.notes else "")
        return await ask(self.sampler, system, question.text, self.params, seed)

    async def expected(self, question: Question, seed: int) -> float:
        """Share of right answers among fresh draws."""
        texts = await asyncio.gather(*(self.answer(question, derive(seed, draw)) for draw in range(self.draws)))
        return sum(is_right(text, question.gold) for text in texts) / self.draws
