"""SGE's memory: strategies that failed, to be criticised, and strategies that succeeded, to be inspired by."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mage.chance import SeededDice, derive
from mage.errors import RunError
from mage.play.actors import parse_block
from mage.play.memory import Past, Say, Who
from mage.play.records import EpisodeRecord, Task
from mage.play.templates import Prompts
from mage.recipe import StrategiesSection

FILE = "strategies.json"


class Tried(NamedTuple):
    """The strategies s_1 … s_T of an episode, what was said at its end, and whether it succeeded."""

    strategies: tuple[str, ...]
    outcome: str
    succeeded: bool


class Buffers:
    """Two queues of what was tried, of failures and of successes, `size` long each; the oldest go first."""

    def __init__(self, size: int) -> None:
        self.failures: deque[Tried] = deque(maxlen=size)
        self.successes: deque[Tried] = deque(maxlen=size)

    def put(self, tried: Tried) -> None:
        """Take up an episode."""
        (self.successes if tried.succeeded else self.failures).append(tried)

    def as_data(self) -> list[Any]:
        """Everything, in the order in which `put` makes it again."""
        return [list(tried) for tried in (*self.failures, *self.successes)]


@dataclass(slots=True)
class Strategies:
    """Strategy buffers over trials: a share of them is shown one sequence at the start of an episode.

    With probability p_neg a failed one with the game's own feedback, with p_pos a successful one, each drawn uniformly;
    otherwise nothing. As long as nothing has succeeded, failures are shown instead. Source: SGE, arXiv 2603.02045; its
    buffers are per task, here the tasks of a game share them. With `lasting` False they are those of a trial. A trial
    sees what was there when those under way began; what they leave is taken up in the order of their tasks, so that it
    does not depend on which of them was faster.
    """

    section: StrategiesSection
    lasting: bool = True
    name: str = "strategies"
    fresh: bool = True
    reflects: bool = False
    buffers: Buffers = field(init=False)
    pending: dict[Who, list[Tried]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.buffers = Buffers(self.section.size)

    def session(self, task: Task, member: int, say: Say) -> StrategySession:
        """One trial's side."""
        if not self.lasting:
            return StrategySession(self.section, task, member, own := Buffers(self.section.size), own.put)
        left = self.pending[task.group, member] = []  # anew: what a try left that failed half-way is forgotten
        return StrategySession(self.section, task, member, self.buffers, left.append)

    def settle(self, kept: Container[Who]) -> None:
        """Take up what the trials that are kept have left, task by task."""
        self._take(tried for who, left in sorted(self.pending.items()) if who in kept for tried in left)
        self.pending.clear()

    def save(self, folder: Path) -> None:
        """Write the buffers, if they outlive trials."""
        if self.lasting:
            (folder / FILE).write_text(json.dumps(self.buffers.as_data()) + "\n", encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Take the buffers back. Raises RunError where there are none, or they are damaged."""
        if not self.lasting:
            return
        try:
            data = json.loads((folder / FILE).read_text(encoding="utf-8"))
            tried = [Tried(tuple(map(str, strategies)), str(outcome), bool(won)) for strategies, outcome, won in data]
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"{folder / FILE}: cannot be read as buffers of strategies ({error})") from None
        self.buffers = Buffers(self.section.size)
        self._take(tried)

    def _take(self, tried: Iterable[Tried]) -> None:
        for each in tried:
            self.buffers.put(each)


@dataclass(slots=True)
class StrategySession:
    """One trial's side of the buffers."""

    section: StrategiesSection
    task: Task
    member: int
    seen: Buffers
    put: Callable[[Tried], None]
    """Takes what was tried in an episode."""

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Never: the strategies are in the answers."""
        return None

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """What one earlier episode tried, or nothing."""
        dice = SeededDice(derive(self.task.seed, "strategies", self.member, len(past)))
        failure, success = self.section.failure, self.section.success
        drawn = dice.pick((failure, success, max(0.0, 1 - failure - success)))
        seen = self.seen  # before the first success a failure stands in for it
        buffer = (seen.failures, seen.successes or seen.failures, ())[drawn]
        if not buffer:
            return ""
        tried = buffer[dice.pick([1.0] * len(buffer))]
        return prompts.tried(tried.strategies, tried.outcome, tried.succeeded)

    async def ended(self, past: Past) -> None:
        """Keep the strategies of an episode, if there are any."""
        found = [parse_block(turn.text, "strategy")[0] for turn in past.turns if turn.phase == "act" and turn.legal]
        strategies = tuple([each for each in found if each])
        if strategies:
            self.put(Tried(strategies, past.record.outcome, past.record.reward > 0))
