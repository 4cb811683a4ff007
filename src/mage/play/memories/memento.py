"""Memento: cases of what was tried where and what came of it; the most alike are shown, or those worth most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mage.play.memories.shelf import Corner, Shelf
from mage.play.memory import Past, Say
from mage.play.records import EpisodeRecord
from mage.play.templates import Prompts
from mage.recall.case_value import CaseValue, Pairs
from mage.recall.embed import Vectors
from mage.recall.store import Entry

ROW = ("state", "text", "good")
"""What is kept of a case that was in sight."""
SHOWN = 256
"""The latest cases in sight that a case keeps of the episodes that went as it says."""
SAMPLES = 4000
"""The latest of them, over all cases, that their value is learned from."""


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
        if self.judge is None:
            cases = [found.entry for found in self.corner.near(view)]
        else:
            cases = self.judge.best(view, self.corner)
        self.shown = cases
        good = [entry.text for entry in cases if entry.score > 0]
        bad = [entry.text for entry in cases if entry.score <= 0]
        return prompts.recalled("cases", [*good, *bad]) if cases else ""

    async def ended(self, past: Past) -> None:
        """Keep the episode as a case, if the agent had a turn in it; for a judge, with the cases that were shown."""
        said = [turn.said for turn in past.turns if turn.phase == "act" and turn.legal]
        if said:
            text = f"{self.state} > {' > '.join(said)} : {past.record.outcome}"
            shown = [] if self.judge is None else [list(_told(case)) for case in self.shown]
            more = {"state": self.state, **({"shown": shown} if shown else {})}
            join = None if self.judge is None else _joined
            self.corner.put(Entry(text, past.record.reward, more), self.state, join=join)


class Known(NamedTuple):
    """The cases of a shelf at one time."""

    version: int
    cases: list[Entry]
    value: CaseValue | None
    """Q; None while all episodes with cases in sight ended alike."""


@dataclass(slots=True)
class CaseJudge:
    """Memento's parametric memory: says which cases are worth showing, as learned from the shelf's own cases.

    Each case holds what was in sight in the episodes that went as it says; so the value is a function of the store, and
    needs no keeping of its own. It is learned anew when the store has changed.
    """

    shelf: Shelf
    _known: Known = field(default=Known(-1, [], None), init=False)

    def best(self, state: str, corner: Corner) -> list[Entry]:
        """The `recall.count` cases worth most in a state; while nothing is known of that, those most alike."""
        count, known = self.shelf.recall.count, self._now()
        if known.value is None:
            return [found.entry for found in corner.near(state)]
        own = {left.entry.text: left.entry for left in corner.left.values()}
        cases = [*own.values(), *(case for case in reversed(known.cases) if case.text not in own)]  # the newest first
        worth = known.value(self._pairs([(state, *_told(case)) for case in cases]))
        return [cases[place] for place in np.argsort(-worth, kind="stable")[:count]]

    def _now(self) -> Known:
        version = self.shelf.store.version
        if self._known.version != version:
            cases = self.shelf.all()
            rows = [(case, row) for case in cases for row in case.more.get("shown", ()) if len(row) == len(ROW)][
                -SAMPLES:
            ]
            won = [float(case.score > 0) for case, _ in rows]
            value = None
            if len(set(won)) == 2:
                value = CaseValue(self._pairs([(_state(case), *row) for case, row in rows]), np.array(won))
            self._known = Known(version, cases, value)
        return self._known

    def _pairs(self, rows: Sequence[tuple[str, str, str, bool]]) -> Pairs:
        """Rows of (state, the case's state, its text, whether it was good)."""
        states, case_states, cases, good = zip(*rows, strict=True)
        return Pairs(self._keys(states), self._keys(case_states), self._keys(cases), np.array(good, np.float64))

    def _keys(self, texts: Sequence[str]) -> Vectors:
        return np.stack(self.shelf.keys_of(texts))


def _joined(old: Entry, new: Entry) -> Entry:
    """What went the same way again: what was in sight each time."""
    shown = [*old.more.get("shown", ()), *new.more.get("shown", ())][-SHOWN:]
    return replace(new, more={**new.more, "shown": shown})


def _state(case: Entry) -> str:
    return str(case.more.get("state", ""))


def _told(case: Entry) -> tuple[str, str, bool]:
    """What is kept of a case that was in sight: `ROW`."""
    return _state(case), case.text, case.score > 0
