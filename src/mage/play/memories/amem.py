"""A-MEM: notes that a model describes, links and revises as new ones come."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mage.play.memories.shelf import Corner, transcript
from mage.play.memory import Past, Say
from mage.play.records import EpisodeRecord
from mage.play.templates import Prompts, fill
from mage.recall.store import Entry

TOKENS = 256
"""Longest answer to a question about notes."""
NUMBER = re.compile("[0-9]{1,9}")


@dataclass(slots=True)
class Notes:
    """Agentic memory, one trial's side: note = (content, keywords, context, tags, links).

    Source: A-MEM, arXiv 2502.12110. Content is the episode as the agent saw it; the model writes keywords, context and
    tags. A new note is shown with those most like it, and the model says which to link and what to rewrite of them.
    Recalled are the notes most like the state at hand, and those they link to. Of the paper's time nothing is shown:
    notes stand in the order of their likeness.
    """

    corner: Corner
    say: Say
    unwritten: Past | None = field(default=None, init=False)
    """The last episode, where a note of it would be of use to the next one only."""

    def ask(self, number: int, episodes: int, record: EpisodeRecord, prompts: Prompts) -> str | None:
        """Never: notes are written outside of the trial."""
        return None

    async def head(self, past: Sequence[Past], view: str, prompts: Prompts) -> str:
        """The notes most like the state that the episode begins with, and those they link to."""
        if self.unwritten:
            await self._write(self.unwritten)
        near = [found.entry for found in self.corner.near(view)]
        known = {entry.id for entry in near}
        linked = [number for entry in near for number in entry.links if number not in known]
        notes = [*near, *self.corner.get(list(dict.fromkeys(linked)))]
        return prompts.recalled("notes", [_told(note) for note in notes]) if notes else ""

    async def ended(self, past: Past) -> None:
        """Write the episode down: at once where later trials see it, else when the next episode begins."""
        self.unwritten = past
        if self.corner.lasting:
            await self._write(past)

    async def _write(self, past: Past) -> None:
        """Make a note of an episode, linked to those most like it."""
        self.unwritten = None
        if not past.turns:
            return
        content = transcript(past)
        described = parse_object(await self.say(fill("note_describe", content=content), TOKENS))
        more: dict[str, Any] = {
            "keywords": _strings(described.get("keywords")),
            "context": _string(described.get("context") or ""),
            "tags": _strings(described.get("tags")),
        }
        links: list[int] = []
        near = [found.entry for found in self.corner.near(_key(content, more))]
        if near:
            shown = "\n".join(f"{number}. {_told(note)}" for number, note in enumerate(near, start=1))
            decided = parse_object(await self.say(fill("note_link", content=content, notes=shown), TOKENS))
            links = [near[number - 1].id for number in _numbers(decided.get("links"), len(near))]
            self._revise(near, decided.get("rewrite"))
        self.corner.put(Entry(content, past.record.reward, more, links=tuple(links)), _key(content, more))

    def _revise(self, near: Sequence[Entry], wanted: Any) -> None:
        """Give the notes that the model named, by their number, another context or other tags."""
        for number, change in wanted.items() if isinstance(wanted, dict) else ():
            for place in _numbers([number], len(near)):
                note = near[place - 1]
                if isinstance(change, dict):
                    new = {"context": _string(change.get("context") or note.more["context"])}
                    tags = {"tags": _strings(change.get("tags")) or note.more["tags"]}
                    more = {**note.more, **new, **tags}
                    self.corner.rewrite(replace(note, more=more), _key(note.text, more))


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
    return [_string(item) for item in value][:10] if isinstance(value, list) else []


def _string(value: Any) -> str:
    """Its text, with a `?` for each half of a pair of surrogates, which JSON can spell and no tokenizer reads."""
    return str(value).encode(errors="replace").decode()


def _numbers(value: Any, most: int) -> list[int]:
    """The whole numbers from 1 to `most` in a list, once each."""
    listed = value if isinstance(value, list) else []
    numbers = [int(str(item)) for item in listed if NUMBER.fullmatch(str(item).strip())]
    return [number for number in dict.fromkeys(numbers) if 1 <= number <= most]
