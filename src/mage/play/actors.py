"""How one response comes about: an actor maps a context and what is asked (act, reflect) to a response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, Protocol

from mage.chance import scramble
from mage.engine.base import Renderer, Sampler, SamplingParams
from mage.play.records import Phase

Facts = Callable[[], tuple[str, ...]]
Spoken = Callable[..., "Response"]


class Response(NamedTuple):
    """One response in exact tokens, and what it says."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    said: str | None
    """The action or remark in it; None if there was no well-formed block."""
    truncated: bool = False
    temperatures: tuple[float, ...] = ()
    """Of each token, where they differ; else empty."""


class Actor(Protocol):
    """Somebody whose turn can be asked for.

    `context` is all that was read and said so far, in token ids: a live list, to be read and not kept.
    """

    @property
    def renderer(self) -> Renderer:
        """How texts between the responses become tokens."""
        ...

    def fits(self, length: int, phase: Phase) -> bool:
        """Whether a response has room after a context of `length` tokens."""
        ...

    async def act(self, context: Sequence[int], legal: tuple[str, ...], seed: int) -> Response:
        """A response that should say one of `legal`."""
        ...

    async def reflect(self, context: Sequence[int], facts: Facts, seed: int) -> Response:
        """A response that should say a remark; `facts` is for actors without a model, which could not think of any."""
        ...

    async def say(self, question: str, most: int, seed: int) -> str:
        """The answer to a question of its own, of at most `most` tokens."""
        ...


class StrategyFirst(NamedTuple):
    """How a strategy is sampled that comes before the action, in the same response (SGE, arXiv 2603.02045)."""

    temperature: float
    """Of all tokens up to `</strategy>`; the rest of the response has the actor's."""
    max_tokens: int
    """How much longer a response may be for it."""


class PlainActor:
    """Samples each response from a model, at once and as a whole; with `strategy` a strategy comes first in it."""

    def __init__(
        self,
        sampler: Sampler,
        *,
        max_action_tokens: int,
        max_remark_tokens: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        strategy: StrategyFirst | None = None,
        remark_temperature: float | None = None,
    ) -> None:
        self.renderer: Renderer = CachedRenderer(sampler.renderer)
        self._sampler = sampler
        self._own = remark_temperature  # what the trainer must be told of remarks, since it is not the actor's
        self._say = SamplingParams(max_remark_tokens, temperature, top_p, top_k)
        self._act = replace(self._say, max_tokens=max_action_tokens, stop=("</action>",))
        self._reflect = replace(self._say, stop=("</remark>",))
        if remark_temperature is not None:
            self._reflect = replace(self._reflect, temperature=remark_temperature)
        if strategy:
            longer = max_action_tokens + strategy.max_tokens
            then = ("</strategy>", temperature) if strategy.temperature != temperature else None
            self._act = replace(self._act, max_tokens=longer, temperature=strategy.temperature, then=then)

    def fits(self, length: int, phase: Phase) -> bool:
        """Whether the longest response fits into the model's context after `length` tokens."""
        params = self._act if phase == "act" else self._reflect
        return length + params.max_tokens <= self._sampler.context_length

    async def act(self, context: Sequence[int], legal: tuple[str, ...], seed: int) -> Response:
        """Sample until `</action>` or the token limit."""
        return await self._sample(context, self._act, "action", seed)

    async def reflect(self, context: Sequence[int], facts: Facts, seed: int) -> Response:
        """Sample until `</remark>` or the token limit."""
        response = await self._sample(context, self._reflect, "remark", seed)
        if self._own is None:
            return response
        return response._replace(temperatures=(self._own,) * len(response.tokens))

    async def say(self, question: str, most: int, seed: int) -> str:
        """Sample an answer in a context of its own; empty where question and answer do not fit into one."""
        prompt = self.renderer.system("") + self.renderer.user(question)
        if len(prompt) + most > self._sampler.context_length:
            return ""
        params = replace(self._say, max_tokens=most)
        return (await self._sampler.sample(prompt, params, seed)).text.strip()

    async def _sample(self, context: Sequence[int], params: SamplingParams, tag: str, seed: int) -> Response:
        sample = await self._sampler.sample(context, params, seed)
        said, _ = parse_block(sample.text, tag)
        stopped = sample.stop == "length"
        return Response(sample.tokens, sample.logprobs, sample.text, said, stopped, sample.temperatures)


class RandomActor:
    """Plays uniformly at random among the legal actions, without a model.

    With `reports` its remarks are true facts of the episode drawn at random; otherwise they are empty. With a renderer
    and `encode` (text to token ids) its trials are written in tokens as a model's would be (log-probs are then zeros);
    otherwise contexts stay empty.

    >>> import asyncio
    >>> asyncio.run(RandomActor().act([], ("pass",), seed=7)).text
    '<action>pass</action>'
    """

    def __init__(
        self,
        *,
        reports: bool = False,
        renderer: Renderer | None = None,
        encode: Callable[[str], tuple[int, ...]] | None = None,
    ) -> None:
        self.renderer: Renderer = CachedRenderer(renderer) if renderer else SilentRenderer()
        self._reports = reports
        self._say = lru_cache(maxsize=4096)(spoken(encode))

    def fits(self, length: int, phase: Phase) -> bool:
        """Always: there is no model whose context could be full."""
        return True

    async def act(self, context: Sequence[int], legal: tuple[str, ...], seed: int) -> Response:
        """One of `legal`, each with the same probability."""
        return self._say("action", legal[scramble(seed) % len(legal)])

    async def reflect(self, context: Sequence[int], facts: Facts, seed: int) -> Response:
        """A true fact, or nothing."""
        told = facts() if self._reports else ()
        return self._say("remark", told[scramble(seed) % len(told)] if told else "")

    async def say(self, question: str, most: int, seed: int) -> str:
        """Nothing."""
        return ""


class CachedRenderer:
    """A renderer that remembers texts it has turned into tokens: prompts repeat over the members of a group."""

    def __init__(self, renderer: Renderer, size: int = 8192) -> None:
        self.system = lru_cache(maxsize=64)(renderer.system)
        self.user = lru_cache(maxsize=size)(renderer.user)
        self.encode = renderer.encode
        self.close = renderer.close


class SilentRenderer:
    """A renderer for actors that read no tokens."""

    __slots__ = ()

    def encode(self, text: str) -> tuple[int, ...]:
        """Nothing."""
        return ()

    def system(self, text: str) -> tuple[int, ...]:
        """Nothing."""
        return ()

    def user(self, text: str) -> tuple[int, ...]:
        """Nothing."""
        return ()

    def close(self, sampled: tuple[int, ...]) -> tuple[int, ...]:
        """Nothing."""
        return ()


@lru_cache(maxsize=8192)
def parse_block(text: str, tag: str) -> tuple[str | None, str]:
    """Content of the last well-formed `<tag>…</tag>` of `text`, trimmed, or None; and the rest as thought.

    >>> parse_block("it folds <action>pass</action> no: <action> bet </action>", "action")
    ('bet', 'it folds <action>pass</action> no:')
    """
    opening, closing = f"<{tag}>", f"</{tag}>"
    start = text.rfind(opening, 0, max(text.rfind(closing), 0))
    if start < 0:
        return None, text.strip()
    stop = text.index(closing, start)
    said = text[start + len(opening) : stop].strip()
    return said, f"{text[:start].rstrip()} {text[stop + len(closing) :].lstrip()}".strip()


def match_action(said: str | None, legal: Sequence[str]) -> str | None:
    """The legal action that `said` names, whatever its case and spacing; None if it names none.

    >>> match_action("Move  UP", ("move up", "move down"))
    'move up'
    """
    if said is None or said in legal:
        return said
    wanted = said.casefold().split()
    named = [name for name in legal if name.casefold().split() == wanted]
    return named[0] if len(named) == 1 else None


def spoken(encode: Callable[[str], tuple[int, ...]] | None) -> Spoken:
    """Makes the response that says a word in tags, after a strategy if there is one: (tag, word, strategy)."""

    def say(tag: str, word: str, strategy: str = "") -> Response:
        text = f"<{tag}>{word}</{tag}>"
        if strategy:
            text = f"<strategy>{strategy}</strategy>{text}"
        tokens = encode(text) if encode else ()
        return Response(tokens, (0.0,) * len(tokens), text, word)

    return say
