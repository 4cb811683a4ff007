"""What is written down of a trial: the unit of experience, in exact tokens.

Turns and episodes are named tuples, which are made five times as fast as frozen dataclasses: there is one per response.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

Phase = Literal["act", "reflect"]
Restart = Literal["replay", "redeal"]
Result = Literal["won", "lost", "drawn"]


class StopReason(StrEnum):
    """Why a trial ended."""

    COMPLETED = "completed"
    """All episodes were played."""
    FIRST_SUCCESS = "first_success"
    """An episode was won and the recipe stops there."""
    CONTEXT_FULL = "context_full"
    """The next prompt would not fit in the model's context."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a group shares: game, seat, opponent, deals. Members of a group differ only in what they sample."""

    group: int
    seat: int
    opponent: str
    episodes: int
    restart: Restart
    seed: int
    """Decides every deal and every draw of the opponent; the model's own draws depend on the member besides."""


class Turn(NamedTuple):
    """One response of the model: tokens `contexts[context][start:stop]` of its trial were sampled, others read."""

    phase: Phase
    episode: int
    context: int
    start: int
    stop: int
    logprobs: tuple[float, ...]
    """Log-probability of each sampled token as the sampler gave it, length stop - start."""
    observation: str
    """The text shown just before the response (what is new since the turn before)."""
    text: str
    """The response as text."""
    said: str
    """The action or remark parsed from it; empty if there was no well-formed block."""
    anchor: str
    """Key of the state acted in, the same for group members in the same situation (GiGPO's anchor state)."""
    legal: bool
    """Whether the action was legal (act) or the remark well formed (reflect)."""
    truncated: bool = False
    """Whether the response ran into its token limit."""
    temperatures: tuple[float, ...] = ()
    """Of each sampled token, where they differ within the response; else empty."""


class EpisodeRecord(NamedTuple):
    """How one episode ended for the agent."""

    reward: float
    """Return of the agent's seat in the game's own units."""
    result: Result
    outcome: str
    """What the agent was told."""
    forfeited: bool
    turns: int
    """Responses of the agent in it, re-prompts included, reflections not."""


@dataclass(frozen=True, slots=True)
class Trial:
    """N episodes of one task by one agent, whole."""

    task: Task
    member: int
    contexts: tuple[tuple[int, ...], ...]
    """Token ids of each context window, as read and written."""
    turns: tuple[Turn, ...]
    episodes: tuple[EpisodeRecord, ...]
    stop: StopReason
    unaided: Trial | None = None
    """The same trial with every tip left out of what was read, where there were any: the same turns in other contexts,
    built beside the first, never by cutting tokens."""
