"""How a trial under way is written down: exact tokens, and which of them were sampled."""

from __future__ import annotations

from mage.chance import GOLDEN, MASK, derive, scramble
from mage.engine.base import Renderer
from mage.play.actors import Actor, Response
from mage.play.records import EpisodeRecord, Phase, Result, StopReason, Task, Trial, Turn

_TURN = 0xD1342543DE82EF95
"""The step between the seeds of turns: not that of SplitMix64, or the streams of two turns would meet."""


class Pages:
    """The contexts of a trial in token ids; the last one is open."""

    __slots__ = ("contexts", "renderer", "tokens", "unclosed")

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.contexts: list[list[int]] = []
        self.tokens: list[int] = []  # the context that is open, the last of `contexts`
        self.unclosed: tuple[int, ...] | None = None  # a response that no message has followed yet

    def open(self, text: str) -> None:
        """Begin a new context."""
        self.tokens = list(self.renderer.system(text))
        self.contexts.append(self.tokens)
        self.unclosed = None

    def piece(self, text: str) -> tuple[int, ...]:
        """The tokens of a message in the open context."""
        piece = self.renderer.user(text)
        return piece if self.unclosed is None else self.renderer.close(self.unclosed) + piece

    def respond(self, tokens: tuple[int, ...]) -> int:
        """Add a response; returns where it starts."""
        start = len(self.tokens)
        self.tokens += tokens
        self.unclosed = tokens
        return start

    def all(self) -> tuple[tuple[int, ...], ...]:
        """All contexts."""
        return tuple([tuple(tokens) for tokens in self.contexts])


class Scribe:
    """Writes a trial down in exact tokens: what was read, what was sampled, and which is which."""

    def __init__(self, task: Task, member: int, actor: Actor) -> None:
        self.task = task
        self.member = member
        self.actor = actor
        self.pages = Pages(actor.renderer)
        self.unaided: Pages | None = None
        self.turns: list[Turn] = []
        self.records: list[EpisodeRecord] = []
        self.full = False
        self._starts: list[int] = []  # of the turns in `unaided`
        self._said = 0
        self._seed = scramble((task.seed + (member + 1) * GOLDEN) & MASK)

    def write_unaided(self) -> None:
        """Write the trial, which begins, a second time without what helps (tips), in pages of their own."""
        self.unaided = Pages(self.pages.renderer)

    @property
    def tokens(self) -> list[int]:
        """The context that is open."""
        return self.pages.tokens

    def open(self, text: str, unaided: str | None = None) -> None:
        """Begin a new context; `unaided` is its opening without what helps, where that differs."""
        self.pages.open(text)
        if self.unaided is not None:
            self.unaided.open(text if unaided is None else unaided)

    def seed(self) -> int:
        """The seed of the next response: its own for every turn of every member."""
        return ((self._seed + len(self.turns) * _TURN) & MASK) >> 1

    async def say(self, question: str, most: int) -> str:
        """The model's answer to a question of its own: no part of the trial, and not learned from."""
        self._said += 1
        return await self.actor.say(question, most, derive(self.task.seed, "say", self.member, self._said) >> 1)

    def hear(self, text: str, phase: Phase, unaided: str | None = None) -> bool:
        """Add a message to the open context, unless no response would fit after it: then the trial is `full`.

        unaided: the message without what helps; default: nothing in it does.
        """
        pages = self.pages
        piece = pages.piece(text)
        if not self.actor.fits(len(pages.tokens) + len(piece), phase):
            self.full = True
            return False
        pages.tokens += piece
        if self.unaided is not None:
            self.unaided.tokens += self.unaided.piece(text if unaided is None else unaided)
        return True

    def note(self, phase: Phase, text: str, response: Response, anchor: str, legal: bool, said: str | None) -> None:
        """Add a response, which `text` asked for, to the open context."""
        start = self.pages.respond(response.tokens)
        if self.unaided is not None:
            self._starts.append(self.unaided.respond(response.tokens))
        self.turns.append(
            Turn(
                phase,
                len(self.records) - (phase == "reflect"),
                len(self.pages.contexts) - 1,
                start,
                start + len(response.tokens),
                response.logprobs,
                text,
                response.text,
                said or "",
                anchor,
                legal,
                response.truncated,
                response.temperatures,
            )
        )

    def close_episode(self, reward: float, result: Result, outcome: str, forfeited: bool, turns: int) -> EpisodeRecord:
        """Write down how an episode ended."""
        record = EpisodeRecord(reward, result, outcome, forfeited, turns)
        self.records.append(record)
        return record

    def trial(self, stop: StopReason) -> Trial:
        """The trial as a whole."""
        turns, episodes = tuple(self.turns), tuple(self.records)
        unaided = None
        if self.unaided is not None:
            moved = zip(turns, self._starts, strict=True)
            others = tuple([turn._replace(start=at, stop=at + turn.stop - turn.start) for turn, at in moved])
            unaided = Trial(self.task, self.member, self.unaided.all(), others, episodes, stop)
        return Trial(self.task, self.member, self.pages.all(), turns, episodes, stop, unaided)
