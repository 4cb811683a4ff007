"""Recipes by path or by the name of a shipped one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mage.errors import RecipeError, unknown
from mage.recipe import Recipe
from mage.recipe_file import read_recipe


def shipped_recipes() -> dict[str, Path]:
    """Recipes that come with the package, by name."""
    package = Path(__file__).resolve().parents[1]
    installed, checkout = package / "recipes", package.parents[1] / "recipes"
    return {path.stem: path for path in sorted((installed if installed.is_dir() else checkout).glob("*.toml"))}


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe by path or shipped name. Raises RecipeError in words."""
    return read_recipe(recipe_path(name), overrides)


def recipe_path(name: str) -> Path:
    """The file of a recipe by path or shipped name. Raises RecipeError where there is none."""
    path, shipped = Path(name), shipped_recipes()
    if not path.exists() or (name in shipped and path.is_dir()):  # a run's folder may have the name of its recipe
        if name not in shipped:
            raise RecipeError(f"no such file, and {unknown('recipe', name, shipped)}")
        path = shipped[name]
    return path


def summary(path: Path) -> str:
    """The first line of the comment at the head of a recipe."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ") if first.startswith("#") else ""
