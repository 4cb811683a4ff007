"""Methods held against one another: the same recipe, seeds, deals and opponents; runs share the machine's cores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from threading import Event
from typing import Any

from mage.analysis.stats import interval, paired, probability_of_improvement
from mage.errors import RecipeError, RunError
from mage.methods import prompts_only
from mage.recipe import Recipe
from mage.recipe_file import change_method, override, parse_recipe, read_data
from mage.run.files import Row, writing
from mage.run.folder import RunFolder

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Compared:
    """What one method came to over its seeds, and how far it is from the first method of the comparison."""

    method: str
    payoff: tuple[tuple[float | None, ...], ...]
    """[S, N] payoff of each seed by episode."""
    mean: tuple[float | None, ...]
    """[N] mean over seeds; None for an episode that a run did not come to."""
    interval: tuple[float, float] | None
    """95% interval of the last episode's mean (Student, over seeds); None for one seed."""
    difference: float | None
    """Last episode, this method minus the first, paired by seed; None for the first itself."""
    difference_interval: tuple[float, float] | None
    improvement: float | None
    """Probability that a run of this method beats a run of the first."""
    tokens: int
    """Sampled and read in training, mean over seeds."""
    seconds: float
    """Of training, mean over seeds. Runs side by side slow one another down."""

    def as_dict(self) -> Row:
        """Plain JSON data."""
        return asdict(self)


def contenders(path: Path, overrides: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Recipe]:
    """One recipe for each method and seed, method by method.

    What a method defines is its own, whatever the recipe says of it: a recipe made for one method does not reach into
    another. What it leaves open comes from the recipe. `overrides` are of all. Raises RecipeError in words.
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
            change_method(data, method)
            for text in overrides:
                override(data, text)
            data["seed"] = seed
            recipes.append(parse_recipe(data, f"{path} with method {method}"))
    return recipes


def compare(
    recipes: Sequence[Recipe], folder: Path, *, parallel: int | None = None, note: Note = lambda _: None
) -> list[Row]:
    """Train (where there is something to train) and evaluate each recipe in a process and run folder of its own.

    Runs that are complete in `folder` are not repeated and those that were stopped go on. `parallel`: runs at a time;
    default: as many as the cores have room for, given the threads of each. Returns the evaluations, in order. Raises
    RunError, naming the log, for a run that fails; the others come to their end.
    """
    threads = max(recipe.engine.threads for recipe in recipes) or (os.cpu_count() or 1)
    room = max(1, (os.cpu_count() or 1) // threads)
    stop = Event()

    def one(recipe: Recipe) -> Row | RunError:
        return RunError("stopped") if stop.is_set() else _run(recipe, folder, note)

    with ThreadPoolExecutor(min(parallel or room, len(recipes))) as pool:
        try:
            results = list(pool.map(one, recipes))
        except BaseException:
            stop.set()  # an interrupt reaches the children too; what waits is not begun
            raise
    for result in results:
        if isinstance(result, RunError):
            raise result
    return [result for result in results if not isinstance(result, RunError)]


def run_name(recipe: Recipe) -> str:
    """Name of a run's folder in a comparison: method and seed."""
    plain = "".join(letter if letter.isalnum() else "_" for letter in recipe.method)
    return f"{plain}-seed{recipe.seed}"


def summarise(recipes: Sequence[Recipe], results: Sequence[Row]) -> list[Compared]:
    """Methods in the order they were given; the first is what the others are compared with."""
    names = list(dict.fromkeys(recipe.method for recipe in recipes))
    rows = {
        name: [row for recipe, row in zip(recipes, results, strict=True) if recipe.method == name] for name in names
    }
    first = _last(rows[names[0]])
    return [_compared(name, rows[name], None if name == names[0] else first) for name in names]


def _last(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Payoff of the last episode that all runs came to, which is the last unless trials stop at a success."""
    played = min(sum(value is not None for value in row["pooled"]["payoff"]) for row in rows)
    return [row["pooled"]["payoff"][played - 1] for row in rows]


def _compared(name: str, rows: Sequence[Row], first: Sequence[float] | None) -> Compared:
    payoff = tuple(tuple(row["pooled"]["payoff"]) for row in rows)
    last, several = _last(rows), len(rows) > 1
    own = interval(last)
    gap = paired(last, first) if first else None
    return Compared(
        method=name,
        payoff=payoff,
        mean=tuple(None if None in values else mean(values) for values in zip(*payoff, strict=True)),
        interval=(own.low, own.high) if several else None,
        difference=gap.mean if gap else None,
        difference_interval=(gap.low, gap.high) if gap and several else None,
        improvement=probability_of_improvement(last, first) if first else None,
        tokens=round(mean(row["training_tokens"] for row in rows)),
        seconds=mean(row["training_seconds"] for row in rows),
    )


def _run(recipe: Recipe, parent: Path, note: Note) -> Row | RunError:
    """One run to its end and its evaluation; a failure is returned, so that others go on."""
    path = parent / run_name(recipe)
    try:
        folder = RunFolder.open(path, recipe) if RunFolder.is_run(path) else RunFolder.create(recipe, path)
        found = folder.evals().get("default")
        trained = not prompts_only(recipe.method)
        if found is None or found["iteration"] != (recipe.loop.iterations if trained else 0):
            if trained:
                note(f"{path.name}: training")
                _call(["train", "--resume", str(path), "--json"], parent / f"{path.name}.log")
            _call(["eval", str(path), "--json"], parent / f"{path.name}-eval.log")
        result = folder.evals()["default"]
    except RunError as error:
        return error
    note(f"{path.name}: payoff by episode {_shown(result['pooled']['payoff'])}")
    spent = {
        "training_tokens": sum(row["tokens_sampled"] + row["tokens_read"] for row in folder.metrics()),
        "training_seconds": sum(row["seconds"] for row in folder.timings()),
    }
    return {"method": recipe.method, "seed": recipe.seed, "run": path.name, **result, **spent}


def _shown(payoff: Sequence[float | None]) -> str:
    return " / ".join("–" if value is None else f"{value:.3f}" for value in payoff)


def _call(arguments: Sequence[str], log: Path) -> None:
    """A command of this program in a process of its own. Raises RunError with the last line it wrote."""
    with writing(log), log.open("w") as stream:
        status = subprocess.run([sys.executable, "-m", "mage", *arguments], stdout=stream, stderr=stream).returncode
    if status:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = lines[-1].removeprefix("mage: error: ") if lines else f"ended with status {status}"
        raise RunError(f"`mage {' '.join(arguments)}` failed: {last} (all of it: {log})")
