"""EMPO²'s memory: tips from earlier episodes, recalled at every turn by likeness and score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mage.play.memories.shelf import Corner
from mage.play.memory import Past, Say
from mage.play.records import EpisodeRecord, Turn
from mage.play.templates import Prompts, Tip
from mage.recall.store import Entry


@dataclass(slots=True)
class Tips:
    """Scored tips, one trial's side: after every episode the agent writes one; at every turn it may be shown some.

    A tip is kept under the embedding of the episode's whole chat, with its last action and its return. Of those whose
    key has a cosine of at least `recall.least` with the chat so far, the `recall.count` with the best return are shown,
    of equal ones the most alike. A tip that is written again is as new: those not confirmed for long are dropped first.
    Source: EMPO², arXiv 2602.23008 (cosine 0.5, ten tips, the last 1000 kept).
    """

    corner: Corner
    say: Say

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Asks for a tip after every episode."""
        return prompts.tip(number, episodes, record.result, record.outcome)

    def farewell(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Asks for a tip after the last one too."""
        return self.ask(number, episodes, record, prompts)

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """Nothing: tips come turn by turn."""
        return ""

    async def tips(self, turns: Sequence[Turn], view: str) -> Sequence[Tip]:
        """The best tips for the chat so far."""
        return [_tip(entry) for entry in self.corner.best(chat(turns, view))]

    async def ended(self, past: Past) -> None:
        """Keep the tip of an episode, if one was written."""
        played = [turn for turn in past.turns if turn.phase == "act"]
        if past.remark and played:
            tip = Tip(past.remark, played[-1].said, past.record.reward)
            more = {"tip": tip.text, "action": tip.action}
            self.corner.put(Entry(str(tip), tip.score, more), chat(played, past.record.outcome), join=_newer)


def _newer(old: Entry, new: Entry) -> Entry:
    return new


def chat(turns: Sequence[Turn], last: str) -> str:
    """What was seen and said, as far as it has come, without any tips: the key under which tips are kept and sought."""
    return "\n".join([*(f"{turn.anchor}\n> {turn.said}" for turn in turns if turn.phase == "act"), last])


def _tip(entry: Entry) -> Tip:
    return Tip(str(entry.more["tip"]), str(entry.more["action"]), entry.score)
