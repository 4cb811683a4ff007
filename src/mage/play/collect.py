"""Many trials at once: all concurrent, in groups that are kept whole or dropped with a reason."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mage.errors import MageError, told
from mage.play.records import Task, Trial

log = logging.getLogger(__name__)

Play = Callable[[Task, int], Awaitable[Trial]]


@dataclass(frozen=True, slots=True)
class Group:
    """All trials of one task, in the order of their members."""

    task: Task
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A group that is missing because a trial of it failed at every try."""

    task: Task
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Collected:
    """What was played, in the order of the tasks; groups that failed are named, never filled up."""

    groups: tuple[Group, ...]
    dropped: tuple[Dropped, ...]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials of all groups."""
        return tuple([trial for group in self.groups for trial in group.trials])

    @property
    def kept(self) -> frozenset[tuple[int, int]]:
        """The (group, member) of all trials that are there."""
        return frozenset((trial.task.group, trial.member) for trial in self.trials)

    @property
    def failure_share(self) -> float:
        """Share of the groups that had to be dropped."""
        count = len(self.groups) + len(self.dropped)
        return len(self.dropped) / count if count else 0.0

    def __repr__(self) -> str:  # short: asyncio.run asks for the repr of what it returns
        return f"Collected({len(self.groups)} groups of {len(self.trials)} trials, {len(self.dropped)} dropped)"


async def collect(
    tasks: Sequence[Task], group_size: int, play: Play, *, retries: int = 1, concurrency: int | None = None
) -> Collected:
    """Play `group_size` trials of each task, all at the same time, and keep them in groups.

    A trial that fails is played again whole, with its own seed, up to `retries` times; then its group is dropped with
    the reason. The first failure is logged with its traceback, the others are counted. A MageError is a mistake of the
    user and ends everything, and so does cancellation: the trials under way are cancelled and waited for.

    play: `(task, member) -> trial`, a coroutine function. concurrency: most trials under way at once (None: all).

    >>> collected = await collect(tasks, 16, partial(play_trial, game=game, ...))  # doctest: +SKIP
    """
    jobs = [(task, member) for task in tasks for member in range(group_size)]
    results: list[Trial | str] = [""] * len(jobs)
    waiting = iter(enumerate(jobs))
    failures = _Failures()

    async def lane() -> None:
        for index, (task, member) in waiting:
            results[index] = await _trial_or_reason(task, member, play, retries, failures)

    lanes = [asyncio.ensure_future(lane()) for _ in range(min(concurrency or len(jobs), len(jobs)))]
    try:
        await asyncio.gather(*lanes)
    except BaseException:
        for running in lanes:
            running.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
        raise
    failures.log_others()
    return _grouped(tasks, group_size, results)


class _Failures:
    """Logs the first failure of many whole, so that one mistake does not fill a screen, and counts the others."""

    def __init__(self) -> None:
        self._count = 0

    def log(self, task: Task, reason: str, error: Exception, *, again: bool) -> None:
        self._count += 1
        if self._count == 1:
            log.warning("group %d, %s; %s", task.group, reason, "played again" if again else "dropped", exc_info=error)

    def log_others(self) -> None:
        if self._count > 1:
            log.warning("%d more tries failed in the same round of play", self._count - 1)


async def _trial_or_reason(task: Task, member: int, play: Play, retries: int, failures: _Failures) -> Trial | str:
    for left in range(retries, -1, -1):
        try:
            return await play(task, member)
        except MageError:
            raise
        except Exception as error:  # whatever a world or a server raises: seen, counted, never a zero reward
            whom = f" against {task.opponent}" if task.opponent else ""
            reason = f"member {member}{whom}: {told(error)}"
            failures.log(task, reason, error, again=left > 0)
    return reason


def _grouped(tasks: Sequence[Task], size: int, results: Sequence[Trial | str]) -> Collected:
    groups: list[Group] = []
    dropped: list[Dropped] = []
    for index, task in enumerate(tasks):
        members = results[index * size : (index + 1) * size]
        failed = [reason for reason in members if isinstance(reason, str)]
        if failed:
            dropped.append(Dropped(task, failed[0]))
        else:
            groups.append(Group(task, tuple([trial for trial in members if isinstance(trial, Trial)])))
    return Collected(tuple(groups), tuple(dropped))
