"""The record of a run's recipe: what was asked for, its hash, and what it was begun with."""

from __future__ import annotations

import hashlib
import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

import mage
from mage.errors import GameError, RunError
from mage.recipe import Recipe
from mage.recipe_file import flatten, parse_recipe
from mage.run.files import Row, read_json, write_text

RECIPE = "recipe.json"


def placed(recipe: Recipe) -> Recipe:
    """The recipe with its game in the one spelling it has, and absolute paths to the model and memory it starts from.

    So a run goes on from any folder, and is the same however its game was written.
    """
    recipe = _spelled(recipe)
    if recipe.recall.path:
        recall = recipe.recall.model_copy(update={"path": str(Path(recipe.recall.path).absolute())})
        recipe = recipe.model_copy(update={"recall": recall})
    model = recipe.engine.model
    if not model:
        return recipe
    engine = recipe.engine.model_copy(update={"model": str(Path(model).absolute())})
    return recipe.model_copy(update={"engine": engine})


def _spelled(recipe: Recipe) -> Recipe:
    if recipe.game.name.isidentifier():  # without parameters there is one spelling
        return recipe
    from mage.play.games import normalise_game

    try:
        name = normalise_game(recipe.game.name)
    except GameError:  # whoever plays it will say what is wrong
        return recipe
    return recipe.model_copy(update={"game": recipe.game.model_copy(update={"name": name})})


def write_recipe_record(folder: Path, recipe: Recipe) -> None:
    """Write `recipe.json`. Raises RunError if it cannot be written."""
    data = recipe.model_dump(mode="json")
    record = {**_made_with(recipe), "sha256": recipe_hash(data), "recipe": data}
    write_text(folder / RECIPE, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def read_recipe_record(folder: Path) -> Recipe:
    """The recipe of a run. Raises RunError where there is none, or not as it was written."""
    return parse_recipe(_read(folder)["recipe"], str(folder / RECIPE), resolved=True)


def changed(folder: Path, recipe: Recipe) -> str:
    """In what versions or threads differ now from those the run began with; empty if in nothing."""
    record, now = _read(folder), _made_with(recipe)
    return "; ".join(
        f"{name} {record[name]} then, {now[name]} now" for name in now if record.get(name, now[name]) != now[name]
    )


def recipe_hash(data: dict[str, Any]) -> str:
    """SHA-256 of a resolved recipe, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def difference(there: Recipe, here: Recipe) -> str:
    """In which keys two recipes differ, and how."""
    old, new = flatten(there.model_dump(mode="json")), flatten(here.model_dump(mode="json"))
    differing = [f"{key} = {old[key]!r} there, {new[key]!r} here" for key in old if old[key] != new[key]]
    return "; ".join(differing)


def _read(folder: Path) -> Row:
    file = folder / RECIPE
    if not file.is_file():
        what = "is no run folder (it has no recipe.json)" if folder.exists() else "does not exist"
        raise RunError(f"{folder} {what}")
    record = read_json(file)
    if not isinstance(record.get("recipe"), dict) or "sha256" not in record:
        raise RunError(f"{file}: not the recipe of a run (keys 'recipe' and 'sha256' are missing)")
    if recipe_hash(record["recipe"]) != record["sha256"]:
        raise RunError(f"{file} was changed after the run began (its hash differs): start a new run instead")
    return record


def _made_with(recipe: Recipe) -> Row:
    """What the last bits of a run's numbers depend on besides its recipe."""
    threads = recipe.engine.threads or os.cpu_count() or 1
    return {"mage": mage.__version__, "torch": metadata.version("torch"), "threads": threads}
