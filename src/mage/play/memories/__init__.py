"""The memories by name. Those that live and end with a trial are in `mage.play.memory`."""

from __future__ import annotations

from collections.abc import Callable

from mage.errors import GameError, unknown
from mage.play.memories.amem import AMem
from mage.play.memories.memento import Memento
from mage.play.memories.reflexion import Reflexion
from mage.play.memories.shelf import Shelf
from mage.play.memory import MEMORIES, Memory
from mage.recipe import RecallSection
from mage.references import is_reference, load

SHELVED: dict[str, Callable[[Shelf], Memory]] = {"a-mem": AMem, "memento": Memento}


def _own(reference: str, recall: RecallSection) -> Memory:
    wanted = "a mage.play.memory.Memory, or a function that makes one from the recipe's recall section"
    found = load("trial.memory", reference, wanted=wanted, fits=lambda thing: _fits(thing) or callable(thing))
    memory: Memory = found if _fits(found) else found(recall)
    if not _fits(memory):
        raise GameError(f"trial.memory {reference!r} made a {type(memory).__name__}; expected {wanted}")
    return memory


def _fits(thing: object) -> bool:
    return isinstance(thing, Memory) and not isinstance(thing, type)


def memory_names() -> tuple[str, ...]:
    """The names that `trial.memory` accepts."""
    return (*(memory.name for memory in MEMORIES), "reflexion", *SHELVED)


def make_memory(name: str, recall: RecallSection | None = None) -> Memory:
    """The memory of a `trial.memory` key, a name or the reference of one's own.

    `recall` says how those with a store find and keep things. Raises GameError for a name that does not exist, RunError
    for a store that cannot be opened.

    >>> memory = make_memory("reflection")
    >>> memory.fresh, memory.reflects
    (True, True)
    """
    for memory in MEMORIES:
        if memory.name == name:
            return memory
    if name == "reflexion":
        return Reflexion()
    if is_reference(name):
        return _own(name, recall or RecallSection())
    if name in SHELVED:
        return SHELVED[name](Shelf.of(recall or RecallSection()))
    raise GameError(unknown("memory", name, memory_names()))
