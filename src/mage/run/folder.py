"""The run folder: where a run keeps its recipe, metrics, trials, checkpoints, evaluations and report.

recipe.json          the resolved recipe, its hash, versions and threads it began with
metrics.jsonl        one object per iteration, without times: equal runs have equal bytes
timings.jsonl        seconds and tokens per second, one object per iteration
trials/              every prompt, response, log-prob and advantage (Parquet)
checkpoints/         weights, optimizer and state; each whole or not there
eval/                results of `mage eval`
model/               the trained model, a Transformers folder
report.html
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import mage
from mage.errors import RunError
from mage.recipe import Recipe
from mage.recipe_file import flatten, parse_recipe
from mage.run import checkpoints
from mage.run.checkpoints import Checkpoint
from mage.run.files import (
    Row,
    append_line,
    encode,
    keep_lines,
    read_json,
    read_lines,
    remove,
    sync,
    write_text,
    writing,
)

RECIPE = "recipe.json"
DEFAULT_PARENT = Path("runs")


class RunFolder:
    """One run on disk. Make it with `create` or `open`; hold `lock()` while writing."""

    def __init__(self, path: Path, recipe: Recipe) -> None:
        self.path = path
        self.recipe = recipe
        self.metrics_path = path / "metrics.jsonl"
        self.timings_path = path / "timings.jsonl"
        self.checkpoints_path = path / "checkpoints"
        self.trials_path = path / "trials"
        self.eval_path = path / "eval"
        self.model_path = path / "model"
        self.report_path = path / "report.html"

    @classmethod
    def create(cls, recipe: Recipe, path: Path | None = None, parent: Path = DEFAULT_PARENT) -> RunFolder:
        """Make a new folder: at `path`, or `parent/<recipe name>`, with `-2`, `-3`, … if that is taken.

        Raises RunError if `path` exists and is not an empty folder, or cannot be written.
        """
        folder = _claim(path) if path is not None else _next_free(parent, recipe.name)
        run = cls(folder, recipe)
        data = recipe.model_dump(mode="json")
        record = {**_made_with(recipe), "sha256": recipe_hash(data), "recipe": data}
        try:
            for inner in (run.checkpoints_path, run.trials_path, run.eval_path):
                with writing(inner):
                    inner.mkdir(exist_ok=True)
            write_text(folder / RECIPE, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
        except RunError:
            remove(folder)  # it holds nothing yet, and would be in the way of the next try
            raise
        return run

    @classmethod
    def open(cls, path: Path, recipe: Recipe | None = None) -> RunFolder:
        """Open an existing run; with `recipe`, only if it is the run's own. Raises RunError in words otherwise."""
        data = _read_record(path)["recipe"]
        run = cls(path, parse_recipe(data, str(path / RECIPE), resolved=True))
        if recipe is not None and recipe != run.recipe:
            raise RunError(f"{path} is a run of another recipe: {_difference(run.recipe, recipe)}")
        return run

    @staticmethod
    def is_run(path: Path) -> bool:
        """Whether `path` holds a run (has a recipe.json)."""
        return (path / RECIPE).is_file()

    def changed_since_start(self) -> str:
        """In what versions or threads differ now from those the run began with; empty if in nothing.

        Such runs go on, but their numbers are no longer bit for bit those of an unbroken run.
        """
        record = _read_record(self.path)
        now = _made_with(self.recipe)
        return "; ".join(
            f"{name} {record[name]} then, {now[name]} now" for name in now if record.get(name, now[name]) != now[name]
        )

    def discard_unused(self) -> None:
        """Remove the folder if not one iteration has been run in it: a recipe that was refused leaves nothing."""
        if not self.metrics_path.exists():
            remove(self.path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for this process; released when it ends, however it ends. RunError if another holds it."""
        path = self.path / "lock"
        with writing(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                owner = os.read(handle, 32).decode().strip() or "unknown"
                raise RunError(f"{self.path} is in use by process {owner}: wait for it, or stop it first") from None
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
            yield
        finally:
            os.close(handle)

    def append_metrics(self, row: Row) -> None:
        """Add one iteration's metrics (nothing that depends on time)."""
        append_line(self.metrics_path, row)

    def append_timings(self, row: Row) -> None:
        """Add one iteration's times."""
        append_line(self.timings_path, row)

    def metrics(self, keys: Sequence[str] = ()) -> list[Row]:
        """Rows of all iterations; one cut short by a kill is left out. Raises RunError for other damage.

        `keys`: what each row must have.
        """
        return read_lines(self.metrics_path, keys)

    def timings(self, keys: Sequence[str] = ()) -> list[Row]:
        """Times of all iterations, read like `metrics`."""
        return read_lines(self.timings_path, keys)

    def truncate_metrics(self, iteration: int) -> None:
        """Drop metrics and timings after `iteration`: what a resumed run writes again. Raises RunError if it cannot."""
        keep_lines(self.metrics_path, iteration)
        keep_lines(self.timings_path, iteration)

    def checkpoint(self, iteration: int) -> AbstractContextManager[Path]:
        """An empty folder to save into; it becomes `checkpoints/iteration_…` when the block ends without an error.

        The last `loop.keep_checkpoints` stay. Metrics written before are on disk no later than the checkpoint.

            with folder.checkpoint(50) as path:
                engine.save_state(path)
        """
        for path in (self.metrics_path, self.timings_path):
            if path.exists():
                with writing(path):
                    sync(path)
        return checkpoints.saving(self.checkpoints_path, iteration, self.recipe.loop.keep_checkpoints)

    def latest_checkpoint(self) -> Checkpoint | None:
        """The newest whole checkpoint or None; RunError if there are some and all are damaged."""
        return checkpoints.latest(self.checkpoints_path)

    def trials_file(self, iteration: int) -> Path:
        """Where the trials of an iteration are recorded."""
        return self.trials_path / f"iteration_{iteration:06d}.parquet"

    def newest_trials(self) -> Path | None:
        """The newest record of trials, if any."""
        return max(self.trials_path.glob("iteration_*.parquet"), default=None)

    def write_eval(self, name: str, result: Row) -> Path:
        """Keep an evaluation result as `eval/<name>.json`."""
        with writing(self.eval_path):
            self.eval_path.mkdir(exist_ok=True)
        path = self.eval_path / f"{name}.json"
        write_text(path, encode(result) + "\n")
        return path

    def evals(self) -> dict[str, Row]:
        """Evaluation results by name. Raises RunError for one that cannot be read or is something else."""
        results = {path: read_json(path) for path in sorted(self.eval_path.glob("*.json"))}
        for path, result in results.items():
            if not {"actor", "episodes", "pooled", "opponents"} <= result.keys():
                raise RunError(f"{path}: not a result of `mage eval`; move it out of {self.eval_path} to go on")
        return {path.stem: result for path, result in results.items()}


def recipe_hash(data: dict[str, Any]) -> str:
    """SHA-256 of a resolved recipe, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _claim(path: Path) -> Path:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        if RunFolder.is_run(path):
            raise RunError(f"{path} holds a run already: go on with `mage train --resume`, or choose another folder")
        raise RunError(f"{path} {'is not empty' if path.is_dir() else 'is a file'}: choose another folder")
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def _next_free(parent: Path, name: str) -> Path:
    with writing(parent):
        parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}-{number}")
        with writing(path), suppress(FileExistsError):  # mkdir decides a race between two runs
            path.mkdir()
            return path
        number += 1


def _read_record(path: Path) -> dict[str, Any]:
    file = path / RECIPE
    if not file.is_file():
        what = "is no run folder (it has no recipe.json)" if path.exists() else "does not exist"
        raise RunError(f"{path} {what}")
    record = read_json(file)
    if not isinstance(record.get("recipe"), dict) or "sha256" not in record:
        raise RunError(f"{file}: not the recipe of a run (keys 'recipe' and 'sha256' are missing)")
    data: dict[str, Any] = record["recipe"]
    if recipe_hash(data) != record["sha256"]:
        raise RunError(f"{file} was changed after the run began (its hash differs): start a new run instead")
    return record


def _made_with(recipe: Recipe) -> dict[str, Any]:
    """What the last bits of a run's numbers depend on besides its recipe."""
    threads = recipe.engine.threads or os.cpu_count() or 1
    return {"mage": mage.__version__, "torch": metadata.version("torch"), "threads": threads}


def _difference(there: Recipe, here: Recipe) -> str:
    old, new = flatten(there.model_dump(mode="json")), flatten(here.model_dump(mode="json"))
    changed = [f"{key} = {old[key]!r} there, {new[key]!r} here" for key in old if old[key] != new[key]]
    return "; ".join(changed)
