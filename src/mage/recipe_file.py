"""Recipes from TOML files and dictionaries: read, overridden from the command line, checked, refused in words."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mage.errors import RecipeError
from mage.explain import explain
from mage.methods import method_defaults
from mage.recipe import Recipe

OF_ADVANTAGES = ("std", "gae_lambda", "step_weight", "trial_weight")
"""Keys of `credit` that mean something to some advantages only."""


def read_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a TOML recipe and apply `section.key=value` overrides. Raises RecipeError in words.

    An override of the method brings what that method defines, whatever the recipe says of it for its own method; of
    several the last one counts.
    """
    data = read_data(path)
    asked: dict[str, Any] = {}
    for text in overrides:
        if text.partition("=")[0].strip() == "method":
            override(asked, text)
    name = asked.get("method")  # of several the last one
    if isinstance(name, str) and name != data.get("method", "mage"):
        change_method(data, name)
    for text in overrides:
        override(data, text)
    return parse_recipe(data, str(path))


def change_method(data: dict[str, Any], name: str) -> None:
    """Make a recipe's data those of another method: what it defines is its own, the rest stays.

    How an advantage divides and weighs goes with the advantage: what the recipe says of that is dropped. Raises
    RecipeError where there is no such method.
    """
    credit = data.get("credit")
    if isinstance(credit, dict):
        data["credit"] = {key: value for key, value in credit.items() if key not in OF_ADVANTAGES}
    for section, values in method_defaults(name).items():
        given = data.get(section, {})
        if isinstance(given, dict):  # the schema says what is wrong with it otherwise
            data[section] = {**given, **values}
    data["method"] = name


def read_data(path: Path) -> dict[str, Any]:
    """What a TOML recipe says, unchecked. Raises RecipeError for a file that is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # editors may put a mark before it
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:  # numbers of too many digits and deep nesting beside wrong syntax
        raise RecipeError(f"{path}: not a TOML file ({error})") from None


def parse_recipe(data: dict[str, Any], source: str, *, resolved: bool = False) -> Recipe:
    """Check a recipe given as nested dictionaries; `source` names it in errors. Raises RecipeError in words.

    What the recipe leaves open comes from its method, then from the schema. A `resolved` one leaves nothing open, and
    its method, which may be code that is not here, is not looked up.
    """
    try:
        return Recipe.model_validate(data if resolved else _with_method(data))
    except ValidationError as error:
        raise RecipeError(f"{source}: {explain(error, Recipe)}") from None


def flatten(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as dotted keys.

    >>> flatten({"seed": 0, "loop": {"groups": 4}})
    {'seed': 0, 'loop.groups': 4}
    """
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _with_method(data: dict[str, Any]) -> dict[str, Any]:
    name = data.get("method", "mage")
    if not isinstance(name, str):
        return data  # the schema says what is wrong with it
    filled = dict(data)
    for section, defaults in method_defaults(name).items():
        given = data.get(section, {})
        if isinstance(given, dict):
            filled[section] = {**defaults, **given}
    return filled


def override(data: dict[str, Any], text: str) -> None:
    """Set `section.key=value` in nested dictionaries. Raises RecipeError where `text` is of another form."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise RecipeError(f"override {text!r}: expected key=value, such as loop.iterations=100")
    *sections, last = key.strip().split(".")
    for section in sections:
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            raise RecipeError(f"override {text!r}: {section} is not a section")
    try:
        data[last] = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        data[last] = value
