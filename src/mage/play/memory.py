"""What is carried from one episode to the next, and the hook that swaps it to see if it matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from mage.errors import GameError, unknown
from mage.play.records import EpisodeRecord, Task
from mage.play.templates import Prompts


class Past(NamedTuple):
    """One earlier episode as memory has it: how it ended and the remark carried from it (empty if none was asked)."""

    record: EpisodeRecord
    remark: str


class Memory(Protocol):
    """What the next episode sees of those before it. Stateless over trials, or with a store of its own behind it."""

    @property
    def name(self) -> str:
        """Its name; the natural dialect explains it by the template `memory_NAME`."""
        ...

    @property
    def fresh(self) -> bool:
        """Whether every episode opens a new context (otherwise one context grows)."""
        ...

    @property
    def reflects(self) -> bool:
        """Whether a remark is asked for after each episode but the last."""
        ...

    async def recall(self, past: Sequence[Past], prompts: Prompts) -> str:
        """The text at the head of the next episode's first message (may be empty)."""
        ...


@dataclass(frozen=True, slots=True)
class TrialMemory:
    """The memories that live and end with a trial: history, reflection, both, none."""

    name: str
    fresh: bool
    reflects: bool

    async def recall(self, past: Sequence[Past], prompts: Prompts) -> str:
        """Remarks where only they survive; the last outcome where nothing else would tell it; otherwise nothing."""
        if not past or self.fresh != self.reflects:
            return ""
        if self.fresh:
            return prompts.remarks([remark for _, remark in past])
        record = past[-1].record
        return prompts.over(len(past), record.result, record.outcome)


MEMORIES = (
    TrialMemory("history", fresh=False, reflects=False),
    TrialMemory("reflection", fresh=True, reflects=True),
    TrialMemory("history+reflection", fresh=False, reflects=True),
    TrialMemory("none", fresh=True, reflects=False),
)


def make_memory(name: str) -> Memory:
    """The memory of a `trial.memory` key (`recipe.MemoryMode`). Raises GameError for a name that does not exist.

    >>> memory = make_memory("reflection")
    >>> memory.fresh, memory.reflects
    (True, True)
    """
    for memory in MEMORIES:
        if memory.name == name:
            return memory
    raise GameError(unknown("memory", name, [memory.name for memory in MEMORIES]))


class GivenRemark(Protocol):
    """A hook that decides which remark the next episode sees, given the one written after `episode` (from 0)."""

    async def __call__(self, task: Task, member: int, episode: int, remark: str) -> str:
        """The remark to carry on."""
        ...
