"""The spelling of opponents and games: `name:param=value,param=value`, with typed parameters and one normal form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mage.errors import GameError, unknown

Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an opponent or a game: its type is that of its default, or `choices`; numbers have bounds.

    A `hidden` one is left out of the normal form where it has its default. None as default: an optional integer.
    """

    name: str
    default: Value
    summary: str
    low: float = 0
    high: float = math.inf
    choices: tuple[str, ...] = ()
    hidden: bool = False

    def accepts(self) -> str:
        """In words, what may be given.

        >>> Parameter("simulations", 100, "simulations per move", low=1).accepts()
        'an integer of at least 1'
        """
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = "a number" if isinstance(self.default, float) else "an integer"
        return f"{kind} of at least {self.low}" if self.high == math.inf else f"{kind} in {self.low}..{self.high}"

    def line(self) -> str:
        """For listings: name=default, what it is and what may be given.

        >>> Parameter("simulations", 100, "simulations per move", low=1).line()
        'simulations=100: simulations per move; an integer of at least 1'
        """
        default = "" if self.default is None else self.default
        return f"{self.name}={default}: {self.summary}; {self.accepts()}"

    def read(self, text: str) -> Value:
        """The value that `text` means. Raises ValueError if it is of another type or out of range."""
        if self.choices:
            if text not in self.choices:
                raise ValueError(text)
            return text
        number = float(text) if isinstance(self.default, float) else int(text)
        if not (self.low <= number <= self.high and math.isfinite(number)):
            raise ValueError(text)
        return number


def split(spec: str, kind: str = "opponent") -> tuple[str, dict[str, str]]:
    """Name and raw parameters of a spec. Raises GameError, which says of what `kind` it is, where the form is broken.

    >>> split("mcts:simulations=100,seed=3")
    ('mcts', {'simulations': '100', 'seed': '3'})
    """
    name, _, rest = spec.partition(":")
    raw: dict[str, str] = {}
    for part in rest.split(",") if rest.strip() else ():
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not (key and equals and text):
            raise GameError(f"{kind} {spec!r}: expected name:param=value,param=value, found {part!r}")
        if key in raw:
            raise GameError(f"{kind} {spec!r}: {key} is given twice")
        raw[key] = text
    return name.strip(), raw


def read_values(
    spec: str, raw: Mapping[str, str], parameters: tuple[Parameter, ...], kind: str = "opponent"
) -> dict[str, Value]:
    """The value of each of `parameters`, defaults filled in. Raises GameError naming the parameter and what fits."""
    by_name = {parameter.name: parameter for parameter in parameters}
    values = {parameter.name: parameter.default for parameter in parameters}
    for key, text in raw.items():
        if not by_name:
            raise GameError(f"{kind} {spec!r}: takes no parameters, found {key!r}")
        if key not in by_name:
            raise GameError(f"{kind} {spec!r}: {unknown('parameter', key, by_name)}")
        try:
            values[key] = by_name[key].read(text)
        except ValueError:
            raise GameError(f"{kind} {spec!r}: {key} = {text!r} is not {by_name[key].accepts()}") from None
    return values


def spell(name: str, values: Mapping[str, Value], parameters: tuple[Parameter, ...]) -> str:
    """The normal form: parameters in their declared order, hidden ones only where they differ from the default."""
    shown = [
        f"{parameter.name}={values[parameter.name]}"
        for parameter in parameters
        if not (parameter.hidden and values[parameter.name] == parameter.default)
    ]
    return f"{name}:{','.join(shown)}" if shown else name
