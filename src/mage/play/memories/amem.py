"""A-MEM: notes that a model describes, links and revises as new ones come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mage.play.memories.shelf import Corner, transcript
from mage.play.memory import Past, Say
from mage.play.records import EpisodeRecord
from mage.play.templates import Prompts, fill
from mage.recall.store import Entry

TOKENS = 256
"""Longest answer to a question about notes."""


@dataclass(slots=True)
class Notes:
    """Agentic memory, one trial's side: note = (content, keywords, context, tags, links, time).

    Source: A-MEM, arXiv 2502.12110. Content is the episode as the agent saw it; the model writes keywords, context and
    tags. A new note is shown with those most like it, and the model says which to link and what to rewrite of them.
    Recalled are the notes most like the state at hand, and those they link to.
    """

    corner: Corner
    say: Say

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Never: notes are written outside of the trial."""
        return None

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """The notes most like the state that the episode begins with, and those they link to."""
        near = [found.entry for found in self.corner.near(view)]
        known = {entry.id for entry in near}
        linked = [number for entry in near for number in entry.more["links"] if number not in known]
        notes = [*near, *self.corner.get(list(dict.fromkeys(linked)))]
        return prompts.recalled("notes", [_told(note) for note in notes]) if notes else ""

    async def ended(self, past: Past) -> None:
        """Write the episode down as a note, linked to those most like it."""
        content = transcript(past)
        if not past.turns:
            return
        described = parse_object(await self.say(fill("note_describe", content=content), TOKENS))
        more: dict[str, Any] = {
            "keywords": _strings(described.get("keywords")),
            "context": str(described.get("context") or ""),
            "tags": _strings(described.get("tags")),
            "links": [],
        }
        near = [found.entry for found in self.corner.near(_key(content, more))]
        if near:
            shown = "\n".join(f"{number}. {_told(note)}" for number, note in enumerate(near, start=1))
            decided = parse_object(await self.say(fill("note_link", content=content, notes=shown), TOKENS))
            more["links"] = [near[number - 1].id for number in _numbers(decided.get("links"), len(near))]
            self._revise(near, decided.get("rewrite"))
        self.corner.put(Entry(content, past.record.reward, more), _key(content, more))

    def _revise(self, near: Sequence[Entry], wanted: Any) -> None:
        """Give the notes that the model named, by their number, another context or other tags."""
        for number, change in wanted.items() if isinstance(wanted, dict) else ():
            for place in _numbers([number], len(near)):
                note = near[place - 1]
                if isinstance(change, dict):
                    new = {"context": str(change.get("context") or note.more["context"])}
                    tags = {"tags": _strings(change.get("tags")) or note.more["tags"]}
                    self.corner.rewrite(replace(note, more={**note.more, **new, **tags}))


def parse_object(text: str) -> dict[str, Any]:
    """The first JSON object in an answer; empty where there is none: models err, and a note can do without.

    >>> parse_object('Sure: {"tags": ["bluff"]}.')
    {'tags': ['bluff']}
    """
    decoder = json.JSONDecoder()
    for start in (place for place, letter in enumerate(text) if letter == "{"):
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def _told(note: Entry) -> str:
    context, tags = note.more["context"], ", ".join(note.more["tags"])
    return " ".join([note.text, *([f"({context})"] if context else []), *([f"[{tags}]"] if tags else [])])


def _key(content: str, more: dict[str, Any]) -> str:
    return " ".join([content, more["context"], *more["keywords"], *more["tags"]])


def _strings(value: Any) -> list[str]:
    return [str(item) for item in value][:10] if isinstance(value, list) else []


def _numbers(value: Any, most: int) -> list[int]:
    """The whole numbers from 1 to `most` in a list, once each."""
    listed = value if isinstance(value, list) else []
    numbers = [int(item) for item in listed if str(item).strip().isdigit()]
    return [number for number in dict.fromkeys(numbers) if 1 <= number <= most]
