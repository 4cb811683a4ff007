"""What is carried from one episode to the next, and the exchange that swaps it among trials to see if it matters."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from mage.chance import derive
from mage.errors import GameError, unknown
from mage.play.records import EpisodeRecord, Task, Trial
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


Participant = tuple[int, int, int, int]


class RemarkExchange:
    """Swaps remarks among the trials of an evaluation: each next episode sees the remark of another trial.

    All `trials` must be under way together (no bound on concurrency below their number): they meet at every episode
    border. There the remarks are passed on along a random cycle over the trials (seeded, independent of who came
    first), so nobody gets its own. A trial that ends leaves; the last one left gets the empty remark.

    Wrap the function that plays a trial, so that leaving is seen even if it fails; a trial that is played again after
    the others went on gets remarks from what was written at that border.

    >>> async def play(task, member): ...  # calls play_trial(..., given_remark=exchange)
    >>> exchange = RemarkExchange(trials=384, seed=0)
    >>> shuffled = exchange.around(play)  # hand this to collect
    """

    def __init__(self, trials: int, seed: int) -> None:
        if trials < 2:
            raise GameError(f"shuffled remarks need at least 2 trials, not {trials}: there is nobody to swap with")
        self._trials = trials
        self._seed = seed
        self._left: set[Participant] = set()
        self._waiting: dict[Participant, asyncio.Future[str]] = {}
        self._written: list[dict[Participant, str]] = []  # of each border so far; the last one is open while some wait

    async def __call__(self, task: Task, member: int, episode: int, remark: str) -> str:
        """Hand in `remark` at the border after `episode` and wait for the one to carry on."""
        me = _participant(task, member)
        if episode < len(self._written) and not (self._waiting and episode == len(self._written) - 1):
            return self._of_another(me, episode)
        if not self._waiting:
            self._written.append({})
        self._written[-1][me] = remark
        passed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[me] = passed
        self._pass_on_if_all_came()
        return await passed

    def around(self, play: Callable[[Task, int], Awaitable[Trial]]) -> Callable[[Task, int], Awaitable[Trial]]:
        """`play`, with the exchange told when a trial begins and when it ends in whatever way."""

        async def playing(task: Task, member: int) -> Trial:
            me = _participant(task, member)
            self._left.discard(me)
            try:
                return await play(task, member)
            finally:
                self._left.add(me)
                self._waiting.pop(me, None)
                self._pass_on_if_all_came()

        return playing

    def _pass_on_if_all_came(self) -> None:
        if not self._waiting or len(self._waiting) + len(self._left) < self._trials:
            return
        order = sorted(self._waiting)
        random.Random(derive(self._seed, "remarks", len(self._written))).shuffle(order)
        written = self._written[-1]
        waiting, self._waiting = self._waiting, {}
        for giver, taker in zip(order, order[1:] + order[:1], strict=True):
            if not waiting[taker].done():  # a cancelled trial no longer waits
                waiting[taker].set_result(written[giver] if giver != taker else "")

    def _of_another(self, me: Participant, episode: int) -> str:
        others = [remark for giver, remark in sorted(self._written[episode].items()) if giver != me]
        return others[derive(self._seed, episode, *me) % len(others)] if others else ""


def _participant(task: Task, member: int) -> Participant:
    return (task.group, task.seed, task.seat, member)
