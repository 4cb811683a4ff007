"""Reflexion: after a failure a plan for the next try, from the log of the episode and the plans before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mage.play.memory import Past, Say
from mage.play.records import EpisodeRecord, Task
from mage.play.templates import Prompts

PLANS = 3
"""How many plans are kept in view."""


@dataclass(frozen=True, slots=True)
class Reflexion:
    """The next episode sees the last three plans; one is asked for after an episode that was not won.

    Source: Shinn et al. 2023, arXiv 2303.11366, as the papers on meta-reinforcement learning use it: verbal, without an
    update of weights. It sees the episode that was played, which is still in the context when it is asked.
    """

    name: str = "reflexion"
    fresh: bool = True
    reflects: bool = True
    lasting: bool = False

    def session(self, task: Task, member: int, say: Say) -> Reflexion:
        """Itself: the plans are the trial's remarks."""
        return self

    def settle(self) -> None:
        """Nothing."""

    def save(self, folder: Path) -> None:
        """Nothing."""

    def load(self, folder: Path) -> None:
        """Nothing."""

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Asks for a plan after an episode that was not won."""
        return None if record.result == "won" else prompts.plan(number, episodes, record.result, record.outcome)

    async def ended(self, past: Past) -> None:
        """Nothing."""

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """The last plans, oldest first."""
        plans = [each.remark for each in past if each.remark]
        return prompts.recalled("plans", plans[-PLANS:]) if plans else ""
