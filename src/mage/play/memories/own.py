"""A memory of the user's own: what it raises outside of trials is told in one line."""

from __future__ import annotations

from collections.abc import Container
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from mage.errors import GameError
from mage.play.memory import Memory, Say, Session, Who
from mage.play.records import Task
from mage.references import foreign


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """The memory that a reference names. What a session raises fails its trial, as any error in a trial does."""

    memory: Memory
    reference: str

    @property
    def name(self) -> str:
        """Its own."""
        return self.memory.name

    @property
    def fresh(self) -> bool:
        """Its own."""
        return self.memory.fresh

    @property
    def reflects(self) -> bool:
        """Its own."""
        return self.memory.reflects

    @property
    def lasting(self) -> bool:
        """Its own."""
        return self.memory.lasting

    def session(self, task: Task, member: int, say: Say) -> Session:
        """Its own."""
        return self.memory.session(task, member, say)

    def settle(self, kept: Container[Who]) -> None:
        """Its own. Raises GameError where it fails."""
        with self._told("settle"):
            self.memory.settle(kept)

    def save(self, folder: Path) -> None:
        """Its own. Raises GameError where it fails."""
        with self._told("save"):
            self.memory.save(folder)

    def load(self, folder: Path) -> None:
        """Its own. Raises GameError where it fails."""
        with self._told("load"):
            self.memory.load(folder)

    def _told(self, step: str) -> AbstractContextManager[None]:
        return foreign(f"trial.memory {self.reference!r}: {step} failed", GameError)
