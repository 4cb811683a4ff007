"""How a trial under way is written down: exact tokens, and which of them were sampled."""

from __future__ import annotations

from mage.chance import GOLDEN, MASK, derive, scramble
from mage.play.actors import Actor, Response
from mage.play.records import EpisodeRecord, Phase, Result, StopReason, Task, Trial, Turn

_TURN = 0xD1342543DE82EF95
"""The step between the seeds of turns: not that of SplitMix64, or the streams of two turns would meet."""


class Scribe:
    """Writes a trial down in exact tokens: what was read, what was sampled, and which is which."""

    def __init__(self, task: Task, member: int, actor: Actor) -> None:
        self.task = task
        self.member = member
        self.actor = actor
        self.renderer = actor.renderer
        self.contexts: list[list[int]] = []
        self.tokens: list[int] = []  # the context that is open, the last of `contexts`
        self.turns: list[Turn] = []
        self.records: list[EpisodeRecord] = []
        self.full = False
        self._said = 0
        self._unclosed: tuple[int, ...] | None = None  # a response that no message has followed yet
        self._seed = scramble((task.seed + (member + 1) * GOLDEN) & MASK)

    def open(self, text: str) -> None:
        """Begin a new context."""
        self.tokens = list(self.renderer.system(text))
        self.contexts.append(self.tokens)
        self._unclosed = None

    def seed(self) -> int:
        """The seed of the next response: its own for every turn of every member."""
        return ((self._seed + len(self.turns) * _TURN) & MASK) >> 1

    async def say(self, question: str, most: int) -> str:
        """The model's answer to a question of its own: no part of the trial, and not learned from."""
        self._said += 1
        return await self.actor.say(question, most, derive(self.task.seed, "say", self.member, self._said) >> 1)

    def hear(self, text: str, phase: Phase) -> bool:
        """Add a message to the open context, unless no response would fit after it: then the trial is `full`."""
        piece = self.renderer.user(text)
        if self._unclosed is not None:
            piece = self.renderer.close(self._unclosed) + piece
        if not self.actor.fits(len(self.tokens) + len(piece), phase):
            self.full = True
            return False
        self.tokens += piece
        return True

    def note(self, phase: Phase, text: str, response: Response, anchor: str, legal: bool, said: str | None) -> None:
        """Add a response, which `text` asked for, to the open context."""
        start = len(self.tokens)
        self.tokens += response.tokens
        self._unclosed = response.tokens
        self.turns.append(
            Turn(
                phase,
                len(self.records) - (phase == "reflect"),
                len(self.contexts) - 1,
                start,
                len(self.tokens),
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
        contexts = tuple([tuple(tokens) for tokens in self.contexts])
        return Trial(self.task, self.member, contexts, tuple(self.turns), tuple(self.records), stop)
