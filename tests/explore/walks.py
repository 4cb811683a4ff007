"""Trials of one context by what was seen and said."""

from __future__ import annotations

from collections.abc import Sequence

from mage.play.records import EpisodeRecord, StopReason, Task, Trial, Turn


def walk(*episodes: Sequence[tuple[str, str]]) -> Trial:
    """Each episode by (view, action) at its turns, all come to an "end".

    An action with ? was not legal; ("", remark) is a reflection.
    """
    turns = [
        Turn(
            "act" if view else "reflect", number, 0, 0, 0, (), f"shown with a tip: {view}", said, said.strip("?"),
            view or "reflect", "?" not in said,
        )
        for number, episode in enumerate(episodes)
        for view, said in episode
    ]  # fmt: skip
    records = tuple(EpisodeRecord(0.0, "lost", "end", False, len(episode)) for episode in episodes)
    return Trial(Task(0, 0, "x", len(episodes), "redeal", 0), 0, ((),), tuple(turns), records, StopReason.COMPLETED)
