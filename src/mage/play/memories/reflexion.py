"""Reflexion: after a failure a plan for the next try, from the log of the episode and the plans before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mage.play.memory import Past, TrialMemory
from mage.play.records import EpisodeRecord
from mage.play.templates import Prompts

PLANS = 3
"""How many plans are kept in view."""


@dataclass(frozen=True, slots=True)
class Reflexion(TrialMemory):
    """The next episode sees the last three plans; one is asked for after an episode that was not won.

    Source: Shinn et al. 2023, arXiv 2303.11366, as the papers on meta-reinforcement learning use it: verbal, without an
    update of weights. It sees the episode that was played, which is still in the context when it is asked.
    Plans are the trial's remarks.
    """

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Asks for a plan after an episode that was not won."""
        return None if record.result == "won" else prompts.plan(number, episodes, record.result, record.outcome)

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """The last plans, oldest first."""
        plans = [each.remark for each in past if each.remark]
        return prompts.recalled("plans", plans[-PLANS:]) if plans else ""
