"""Methods held against one another: the same recipe, seeds, deals and opponents; runs share the machine's cores."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mage.errors import RecipeError, RunError
from mage.methods import prompts_only
from mage.recipe import Recipe
from mage.recipe_file import change_method, override, parse_recipe, read_data
from mage.references import is_reference
from mage.run.children import Children
from mage.run.files import Row, writing
from mage.run.folder import RunFolder, locked

Note = Callable[[str], None]


def contenders(path: Path, overrides: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Recipe]:
    """One recipe for each method and seed, method by method.

    What a method defines is its own, whatever the recipe says of it: a recipe made for one method does not reach into
    another. What it leaves open comes from the recipe. `overrides` are of all. The seed is added to `eval.seed`: in
    sampled trials methods meet the same tasks seed by seed, and other ones with each seed. Raises RecipeError in words.
    """
    for kind, given in (("methods", methods), ("seeds", seeds)):
        twice = [item for number, item in enumerate(given) if item in given[:number]]
        if twice or not given:
            raise RecipeError(f"--{kind}: " + (f"{twice[0]!r} is named twice" if twice else "expected at least one"))
    for text in overrides:
        if text.partition("=")[0].strip() in ("method", "seed"):
            raise RecipeError(f"{text}: methods and seeds of a comparison are those of --methods and --seeds")
    recipes = []
    for method in methods:
        for seed in seeds:
            data = read_data(path)
            if method != data.get("method", "mage"):  # else the recipe's own settings of it stay
                change_method(data, method)
            for text in overrides:
                override(data, text)
            data["seed"] = seed
            recipe = parse_recipe(data, f"{path} with method {method}")
            section = recipe.eval.model_copy(update={"seed": recipe.eval.seed + seed})
            recipes.append(recipe.model_copy(update={"eval": section}))
    for recipe in recipes:
        if recipe.recall.path:
            raise RecipeError(
                f"recall.path = {recipe.recall.path!r}: the runs of a comparison would share its memories and depend "
                "on their order; leave it out"
            )
    return recipes


def compare(
    recipes: Sequence[Recipe], folder: Path, *, parallel: int | None = None, note: Note = lambda _: None
) -> list[Row | RunError]:
    """Train (where there is something to train) and evaluate each recipe in a process and run folder of its own.

    Runs that are complete in `folder` are not repeated and those that were stopped go on. `parallel`: runs at a time;
    default: as many as the cores have room for, given the threads of each. Returns the evaluations in order, with what
    went wrong in place of those that failed. A method that trains nothing and is evaluated exactly gives the same for
    all seeds: it has one run. Raises RunError where another process compares in the same folder; an interrupt ends the
    processes under way.
    """
    threads = max(recipe.engine.threads for recipe in recipes) or (os.cpu_count() or 1)
    room = max(1, (os.cpu_count() or 1) // threads)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    children = Children()
    jobs = _jobs(recipes)
    with locked(folder), ThreadPoolExecutor(min(parallel or room, len(jobs))) as pool:
        try:
            found: dict[tuple[str, int], Row | RunError] = {}
            for job, results in zip(jobs, pool.map(lambda job: _runs(job, folder, children, note), jobs), strict=True):
                found |= {(recipe.method, recipe.seed): result for recipe, result in zip(job, results, strict=True)}
            return [found[recipe.method, recipe.seed] for recipe in recipes]
        except BaseException:
            children.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_name(recipe: Recipe) -> str:
    """Name of a run's folder in a comparison: method and seed; a reference in letters, with a digest of it."""
    plain = "".join(letter if letter.isalnum() else "_" for letter in recipe.method)
    digest = f"_{hashlib.sha256(recipe.method.encode()).hexdigest()[:8]}" if is_reference(recipe.method) else ""
    return f"{plain}{digest}-seed{recipe.seed}"


def _jobs(recipes: Sequence[Recipe]) -> list[list[Recipe]]:
    """What is run one after another: all seeds of a method that trains nothing, each run of the others alone."""
    jobs: dict[tuple[str, int | None], list[Recipe]] = {}
    for recipe in recipes:
        jobs.setdefault((recipe.method, None if prompts_only(recipe.method) else recipe.seed), []).append(recipe)
    return list(jobs.values())


def _runs(recipes: Sequence[Recipe], folder: Path, children: Children, note: Note) -> list[Row | RunError]:
    """The runs of a job in order."""
    results: list[Row | RunError] = []
    for recipe in recipes:
        first = results[0] if results else None
        if isinstance(first, dict) and first["kind"] == "exact":
            results.append({**first, "seed": recipe.seed})
        else:
            results.append(_run(recipe, folder, children, note))
    if len(recipes) > 1 and isinstance(results[0], dict) and results[0]["kind"] == "exact":
        note(f"{recipes[0].method}: nothing is trained and the evaluation is exact: one run stands for all seeds")
    return results


def _run(recipe: Recipe, parent: Path, children: Children, note: Note) -> Row | RunError:
    """One run to its end and its evaluation; a failure is returned, so that others go on."""
    path = parent / run_name(recipe)
    try:
        folder = RunFolder.open(path, recipe) if RunFolder.is_run(path) else RunFolder.create(recipe, path)
        found = folder.evals().get("default")
        trained = not prompts_only(recipe.method)
        if found is None or found["iteration"] != (recipe.loop.iterations if trained else 0):
            if trained:
                note(f"{path.name}: training")
                children.run(["train", "--resume", str(path), "--json"], parent, path.name)
            children.run(["eval", str(path), "--json"], parent, f"{path.name}-eval")
        result = folder.evals()["default"]
        metrics, timings = folder.metrics(), folder.timings()
    except RunError as error:
        if not children.stopped:
            note(f"{path.name}: {error}")
        return error
    note(f"{path.name}: payoff by episode {_shown(result['pooled']['payoff'])}")
    spent = {
        "training_tokens": sum(row["tokens_sampled"] + row["tokens_read"] for row in metrics),
        "training_seconds": sum(row["seconds"] for row in timings),
    }
    return {"method": recipe.method, "seed": recipe.seed, "run": path.name, **result, **spent}


def _shown(payoff: Sequence[float | None]) -> str:
    return " / ".join("–" if value is None else f"{value:.3f}" for value in payoff)
