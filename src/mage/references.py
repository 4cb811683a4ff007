"""Objects by reference: `module:attribute`, how a recipe names a game, an opponent or a method of the user's own.

A reference is imported as Python imports modules, and so the module's code runs: run only recipes that you trust.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mage.errors import MageError, told

_FORM = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def is_reference(name: str) -> bool:
    """Whether `name` has the form of a reference.

    >>> is_reference("my_games.dice:GAME"), is_reference("kuhn_poker"), is_reference("mcts:simulations=100")
    (True, False, False)
    """
    return _FORM.fullmatch(name) is not None


@contextmanager
def foreign(what: str, error: type[MageError] = MageError) -> Iterator[None]:
    """Turn whatever a user's own code raises, `sys.exit` included, into an `error` that names `what` and the place."""
    try:
        yield
    except MageError:
        raise
    except (Exception, SystemExit) as raised:
        raise error(f"{what}: {told(raised)}") from raised


def load(
    kind: str, reference: str, *, wanted: str, fits: Callable[[object], bool], error: type[MageError] = MageError
) -> Any:
    """The object that `reference` names.

    Args:
        kind: of what it is, for messages ("game").
        reference: `module:attribute`.
        wanted: in words, what `fits` accepts.
        fits: whether the object is what is wanted.
        error: what is raised where there is no such module or attribute, where importing it fails, or where it does
            not fit.

    >>> load("number", "math:pi", wanted="a float", fits=lambda found: isinstance(found, float))
    3.141592653589793
    """
    name, _, attribute = reference.partition(":")
    with foreign(f"{kind} {reference!r}: importing {name!r} failed", error):
        try:
            found = getattr(importlib.import_module(name), attribute, None)
        except ModuleNotFoundError as missing:
            if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
                raise  # the module is there and lacks another one
            raise error(
                f"{kind} {reference!r}: there is no module {missing.name!r}; install it, or put its folder on Python's "
                "path (PYTHONPATH=. for the folder you are in)"
            ) from None
    if found is None or not fits(found):
        problem = f"has no {attribute!r}" if found is None else f"has a {type(found).__name__} there"
        raise error(f"{kind} {reference!r}: module {name!r} {problem}; expected {wanted}")
    return found
