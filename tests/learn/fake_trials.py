"""Fake trials: a script of episodes turned into records with tokens, log-probs and masks that can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mage.play.records import EpisodeRecord, StopReason, Task, Trial, Turn


@dataclass(frozen=True)
class Act:
    """A turn of play."""

    anchor: str = "s"
    legal: bool = True
    tokens: int = 2


@dataclass(frozen=True)
class Note:
    """A reflection."""

    legal: bool = True
    tokens: int = 3


@dataclass(frozen=True)
class Ep:
    """An episode: its reward (None: under way when the trial stopped), turns of play, reflection after it."""

    reward: float | None
    acts: Sequence[Act] = (Act(),)
    note: Note | None = None


def play(
    episodes: Sequence[Ep],
    group: int = 0,
    member: int = 0,
    opponent: str = "x",
    seat: int = 0,
    planned: int = 3,
    one_context: bool = False,
) -> Trial:
    """A trial with a context per episode and per reflection, or one for all; a response follows two read tokens."""
    turns: list[Turn] = []
    contexts: list[tuple[int, ...]] = []

    def respond(phase: str, number: int, length: int, anchor: str, legal: bool, fresh: bool) -> None:
        if not contexts or (fresh and not one_context):
            contexts.append(())
        start = len(contexts[-1]) + 2
        stop = start + length
        contexts[-1] += (1, 1, *(100 * (len(turns) + 1) + i for i in range(length)))
        turns.append(
            Turn(
                phase=phase,  # type: ignore[arg-type]
                episode=number,
                context=len(contexts) - 1,
                start=start,
                stop=stop,
                logprobs=tuple(-0.25 * (i + 1) for i in range(length)),
                observation="",
                text="",
                said="",
                anchor=anchor,
                legal=legal,
            )
        )

    for number, episode in enumerate(episodes):
        for at, act in enumerate(episode.acts):
            respond("act", number, act.tokens, act.anchor, act.legal, at == 0)
        if episode.note:
            respond("reflect", number, episode.note.tokens, f"note {member}", episode.note.legal, True)
        if contexts:
            contexts[-1] += (2, 2)  # read after the last response: must not be trained on
    records = tuple(EpisodeRecord(e.reward, "won", "", False, len(e.acts)) for e in episodes if e.reward is not None)
    task = Task(group, seat, opponent, planned, "redeal", 0)
    stop = StopReason.COMPLETED if len(records) == planned else StopReason.FIRST_SUCCESS
    return Trial(task, member, tuple(contexts), tuple(turns), records, stop)


def plain(rewards: Sequence[float], acts: int = 1, **where: int | str) -> Trial:
    """A trial with equal episodes of `acts` turns and a reflection between them."""
    last = len(rewards) - 1
    episodes = [
        Ep(r, [Act(f"s{i}") for i in range(acts)], None if n == last else Note()) for n, r in enumerate(rewards)
    ]
    return play(episodes, **where)  # type: ignore[arg-type]
