"""Memento: cases of what was tried where and what came of it; the most alike are shown, or those worth most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mage.play.memories.shelf import Corner, Shelf
from mage.play.memory import Past, Say
from mage.play.records import EpisodeRecord
from mage.play.templates import Prompts
from mage.recall.case_value import CaseValue, Pairs
from mage.recall.embed import Vectors
from mage.recall.store import Entry

SAMPLES = 2000
"""The latest showings that the value of cases is learned from."""


@dataclass(slots=True)
class Cases:
    """Case-based memory, one trial's side: case = (first state, what was played, reward).

    Source: Memento, arXiv 2508.16153: the K cases whose state is most like the one at hand (or, with a `judge`, the K
    worth most there), those with a positive reward first, then the others.
    """

    corner: Corner
    say: Say
    judge: CaseJudge | None = None
    state: str = field(default="", init=False)
    shown: list[Entry] = field(default_factory=list, init=False)

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Never: a case is what happened."""
        return None

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """The cases for the state that the episode begins with."""
        self.state = view
        near = self.corner.near(view, None if self.judge is None else self.corner.shelf.recall.limit)
        cases = [found.entry for found in near]
        if self.judge is not None:
            cases = self.judge.best(view, cases)
        self.shown = cases
        good = [entry.text for entry in cases if entry.score > 0]
        bad = [entry.text for entry in cases if entry.score <= 0]
        return prompts.recalled("cases", [*good, *bad]) if cases else ""

    async def ended(self, past: Past) -> None:
        """Keep the episode as a case, if the agent had a turn in it; for a judge, with the cases that were shown."""
        said = [turn.said for turn in past.turns if turn.phase == "act" and turn.legal]
        if said:
            text = f"{self.state} > {' > '.join(said)} : {past.record.outcome}"
            more: dict[str, object] = {"state": self.state}
            if self.judge is not None:
                more["shown"] = [_told(case) for case in self.shown]
            self.corner.put(Entry(text, past.record.reward, more), self.state, anew=self.judge is not None)


@dataclass(slots=True)
class CaseJudge:
    """Memento's parametric memory: says which cases are worth showing, as learned from the shelf's own cases.

    Each case holds what was shown in its episode and how that ended; so the value is a function of the store, and needs
    no keeping of its own. It is learned anew when the store has changed.
    """

    shelf: Shelf
    _value: CaseValue | None = field(default=None, init=False)
    _version: int = field(default=-1, init=False)

    def best(self, state: str, cases: Sequence[Entry]) -> list[Entry]:
        """The `recall.count` of the cases, most alike first, that are worth most; the first while nothing is known."""
        value = self._learned() if cases else None
        if value is not None:
            worth = value(self._pairs([(state, *_told(case)) for case in cases]))
            cases = [cases[place] for place in np.argsort(-worth, kind="stable")]
        return list(cases[: self.shelf.recall.count])

    def _learned(self) -> CaseValue | None:
        """Q as of now; None while all episodes with cases in sight ended alike."""
        store = self.shelf.store
        if self._version != store.version:
            self._version, self._value = store.version, None
            episodes = [each for each in self.shelf.all() if each.more.get("shown")]
            shown = [(_state(each), *case) for each in episodes for case in each.more["shown"]][-SAMPLES:]
            won = [float(each.score > 0) for each in episodes for _ in each.more["shown"]][-SAMPLES:]
            if len(set(won)) == 2:
                self._value = CaseValue(self._pairs(shown), np.array(won))
        return self._value

    def _pairs(self, rows: Sequence[tuple[str, str, str, bool]]) -> Pairs:
        """Rows of (state, the case's state, its text, whether it was good)."""
        states, case_states, cases, good = zip(*rows, strict=True)
        return Pairs(self._keys(states), self._keys(case_states), self._keys(cases), np.array(good, np.float64))

    def _keys(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.shelf.key(text) for text in texts])


def _state(case: Entry) -> str:
    return str(case.more.get("state", ""))


def _told(case: Entry) -> tuple[str, str, bool]:
    """What is kept of a case that was shown."""
    return _state(case), case.text, case.score > 0
