"""Memento: cases of what was tried where and what came of it; the most alike are shown, good ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mage.play.memories.shelf import Corner
from mage.play.memory import Past, Say
from mage.play.records import EpisodeRecord
from mage.play.templates import Prompts
from mage.recall.store import Entry


@dataclass(slots=True)
class Cases:
    """Case-based memory (non-parametric), one trial's side: case = (first state, what was played, reward).

    Source: Memento, arXiv 2508.16153: the K cases whose state is most like the one at hand, those with a positive
    reward first, then the others. Its parametric variant, which learns which cases to show, is not here.
    """

    corner: Corner
    say: Say
    state: str = field(default="", init=False)

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Never: a case is what happened."""
        return None

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """The cases most like the state that the episode begins with."""
        self.state = view
        cases = [found.entry for found in self.corner.near(view)]
        good = [entry.text for entry in cases if entry.score > 0]
        bad = [entry.text for entry in cases if entry.score <= 0]
        return prompts.recalled("cases", [*good, *bad]) if cases else ""

    async def ended(self, past: Past) -> None:
        """Keep the episode as a case, if the agent had a turn in it."""
        said = [turn.said for turn in past.turns if turn.phase == "act" and turn.legal]
        if said:
            text = f"{self.state} > {' > '.join(said)} : {past.record.outcome}"
            self.corner.put(Entry(text, past.record.reward), self.state)
