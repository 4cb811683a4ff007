"""The memories by name. Those that live and end with a trial are in `mage.play.memory`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mage.errors import GameError, unknown
from mage.play.memories.amem import Notes
from mage.play.memories.memento import CaseJudge, Cases
from mage.play.memories.own import OwnMemory
from mage.play.memories.reflexion import Reflexion
from mage.play.memories.shelf import Corner, Shelf, ShelfMemory
from mage.play.memories.strategies import Strategies
from mage.play.memories.tips import Tips
from mage.play.memory import MEMORIES, Memory, Say, Session
from mage.recipe import RecallSection, StrategiesSection
from mage.references import foreign, is_reference, load

OF_TRIALS = (*MEMORIES, Reflexion("reflexion", fresh=True, reflects=True))
SHELVED: dict[str, Callable[[Corner, Say], Session]] = {"a-mem": Notes, "memento": Cases, "tips": Tips}


def _own(reference: str, recall: RecallSection) -> Memory:
    wanted = "a mage.play.memory.Memory, or a function that makes one from the recipe's recall section"
    found = load("trial.memory", reference, wanted=wanted, fits=lambda thing: _fits(thing) or callable(thing))
    with foreign(f"trial.memory {reference!r}", GameError):
        memory: Memory = found if _fits(found) else found(recall)
    if not _fits(memory):
        raise GameError(f"trial.memory {reference!r} made a {type(memory).__name__}; expected {wanted}")
    return OwnMemory(memory, reference)


def _fits(thing: object) -> bool:
    return isinstance(thing, Memory) and not isinstance(thing, type)


def memory_names() -> tuple[str, ...]:
    """The names that `trial.memory` accepts."""
    return (*(memory.name for memory in OF_TRIALS), *SHELVED, "strategies")


def make_memory(name: str, recall: RecallSection | None = None, strategies: StrategiesSection | None = None) -> Memory:
    """The memory of a `trial.memory` key, a name or the reference of one's own.

    `recall` says how those with a store find and keep things, `strategies` how strategies are. Raises GameError for a
    name that does not exist. A memory with a store begins empty: see `mage.play.memories.store_file`.

    >>> memory = make_memory("reflection")
    >>> memory.fresh, memory.reflects
    (True, True)
    """
    for memory in OF_TRIALS:
        if memory.name == name:
            return memory
    recall = recall or RecallSection()
    if is_reference(name):
        return _own(name, recall)
    if name in SHELVED:
        shelf, opened = Shelf.of(name, recall), SHELVED[name]
        if name == "memento" and recall.rank == "value":
            opened = partial(Cases, judge=CaseJudge(shelf))
        return ShelfMemory(name, shelf, opened)
    if name == "strategies":
        return Strategies(strategies or StrategiesSection(), lasting=recall.scope == "game")
    raise GameError(unknown("memory", name, memory_names()))
