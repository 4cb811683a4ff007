"""What is carried from one episode to the next, and the hook that swaps it to see if it matters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from mage.play.records import EpisodeRecord, Task, Turn
from mage.play.templates import Prompts, Tip

Say = Callable[[str, int], Awaitable[str]]
"""Asks the agent's model a question of its own, outside of the trial's contexts: (question, most tokens) → answer."""

Who = tuple[int, int]
"""A trial among those under way: (group of its task, member)."""


class Past(NamedTuple):
    """One earlier episode as memory has it: how it ended and the remark carried from it (empty if none was asked)."""

    record: EpisodeRecord
    remark: str
    turns: tuple[Turn, ...] = ()
    """What was shown and said in it."""


class Session(Protocol):
    """One trial's side of a memory."""

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """The text at the head of the next episode's first message (may be empty); `view` is what it shows first."""
        ...

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """What asks for a remark after episode `number` (from 1) that ended as `record` says; None asks for none."""
        ...

    async def ended(self, past: Past) -> None:
        """An episode is over, its remark written; called for the last one too."""
        ...


@runtime_checkable
class Adviser(Session, Protocol):
    """A session that helps at every turn and learns from every episode (EMPO²'s tips): two methods it has besides."""

    async def tips(self, turns: Sequence[Turn], view: str) -> Sequence[Tip]:
        """What to tell beside `view`, with `turns` of the episode behind; none: nothing is told."""
        ...

    def farewell(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """What asks for a remark after the trial's last episode; None asks for none."""
        ...


@runtime_checkable
class Memory(Protocol):
    """What the next episode sees of those before it. Stateless over trials, or with a store of its own behind it."""

    @property
    def name(self) -> str:
        """Its name; the natural dialect explains it by the template `memory_NAME`, where there is one."""
        ...

    @property
    def fresh(self) -> bool:
        """Whether every episode opens a new context (otherwise one context grows)."""
        ...

    @property
    def reflects(self) -> bool:
        """Whether remarks are asked for between episodes."""
        ...

    @property
    def lasting(self) -> bool:
        """Whether what one trial leaves is seen by later ones."""
        ...

    def session(self, task: Task, member: int, say: Say) -> Session:
        """The side of one trial. What it leaves for later trials is there after `settle`."""
        ...

    def settle(self, kept: Container[Who]) -> None:
        """Take up what the trials since the last call have left, in the order of their tasks, if they are `kept`."""
        ...

    def save(self, folder: Path) -> None:
        """Write what it holds into a checkpoint's folder; nothing if nothing outlives a trial."""
        ...

    def load(self, folder: Path) -> None:
        """Take back what `save` wrote."""
        ...


@dataclass(frozen=True, slots=True)
class TrialMemory:
    """The memories that live and end with a trial: history, reflection, both, none."""

    name: str
    fresh: bool
    reflects: bool
    lasting: bool = False

    def session(self, task: Task, member: int, say: Say) -> Session:
        """Itself: it keeps nothing."""
        return self

    def settle(self, kept: Container[Who]) -> None:
        """Nothing."""

    def save(self, folder: Path) -> None:
        """Nothing."""

    def load(self, folder: Path) -> None:
        """Nothing."""

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Asks after every episode, if it reflects at all."""
        return prompts.reflect(number, episodes, record.result, record.outcome) if self.reflects else None

    async def ended(self, past: Past) -> None:
        """Nothing."""

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """Remarks where only they survive; the last outcome where nothing else would tell it; otherwise nothing."""
        if not past or self.fresh != self.reflects:
            return ""
        if self.fresh:
            return prompts.remarks([each.remark for each in past])
        record = past[-1].record
        return prompts.over(len(past), record.result, record.outcome)


MEMORIES = (
    TrialMemory("history", fresh=False, reflects=False),
    TrialMemory("reflection", fresh=True, reflects=True),
    TrialMemory("history+reflection", fresh=False, reflects=True),
    TrialMemory("none", fresh=True, reflects=False),
)


class GivenRemark(Protocol):
    """A hook that decides which remark the next episode sees, given the one written after `episode` (from 0)."""

    async def __call__(self, task: Task, member: int, episode: int, remark: str) -> str:
        """The remark to carry on."""
        ...
