"""The kinds of values that a recipe's keys take, with their bounds."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

ReturnKind = Literal["episode", "cumulative", "differential", "differential_code", "final"]
AdvantageKind = Literal["reinforce", "reinforce++", "rloo", "grpo", "gigpo", "gae"]
BaselineKey = Literal["group", "opponent", "seat", "episode", "anchor"]
MemoryMode = Literal[
    "history", "reflection", "history+reflection", "none", "reflexion", "a-mem", "memento", "strategies", "tips"
]


def _reference(name: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", name):
        raise ValueError("should be a reference module:attribute")
    return name


Reference = Annotated[str, AfterValidator(_reference)]
"""Something of the user's own, as `module:attribute`."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Factor = Annotated[float, Field(gt=0, le=1e6)]
"""A scale."""
Weight = Annotated[float, Field(ge=0, le=1e6)]
"""A coefficient or a penalty. Bounds are generous: beyond them sums overflow, whatever the game."""
Clip = Annotated[float, Field(gt=0, le=1e3)]
Rate = Annotated[float, Field(ge=0, le=10)]
Temperature = Annotated[float, Field(ge=0.01, le=100)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of a recipe: unknown keys and values of another type are refused, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, strict=True, allow_inf_nan=False)
