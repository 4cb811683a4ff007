"""The run folder: where a run keeps its recipe, metrics, trials, checkpoints, evaluations and report.

recipe.json          the resolved recipe, its hash, versions and threads it began with
metrics.jsonl        one object per iteration, without times: equal runs have equal bytes
timings.jsonl        seconds and tokens per second, one object per iteration
trials/              every prompt, response, log-prob and advantage (Parquet)
memory.sqlite        what the memory began with, of a recipe with recall.path
checkpoints/         weights, optimizer and state; each whole or not there
eval/                results of `mage eval`
model/               the trained model, a Transformers folder
report.html
"""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from mage.errors import RunError
from mage.recipe import Recipe
from mage.run import checkpoints
from mage.run.checkpoints import Checkpoint
from mage.run.files import (
    Row,
    append_line,
    encode,
    keep_first,
    keep_lines,
    read_json,
    read_lines,
    remove,
    sync,
    write_text,
    writing,
)
from mage.run.recipe_record import RECIPE, changed, difference, placed, read_recipe_record, write_recipe_record

DEFAULT_PARENT = Path("runs")
INNER = ("checkpoints", "trials", "eval")
"""Folders in it from the start."""


class RunFolder:
    """One run on disk. Make it with `create` or `open`; hold `lock()` while writing."""

    def __init__(self, path: Path, recipe: Recipe) -> None:
        self.path = path
        self.recipe = recipe
        self.metrics_path = path / "metrics.jsonl"
        self.timings_path = path / "timings.jsonl"
        self.checkpoints_path, self.trials_path, self.eval_path = (path / name for name in INNER)
        self.model_path = path / "model"
        self.report_path = path / "report.html"

    @classmethod
    def create(cls, recipe: Recipe, path: Path | None = None, parent: Path = DEFAULT_PARENT) -> RunFolder:
        """Make a new folder: at `path`, or `parent/<recipe name>`, with `-2`, `-3`, … if that is taken.

        Raises RunError if `path` exists and is not an empty folder, has a name that cannot be spelled, or cannot be
        written.
        """
        _check_spelling(path or parent)
        folder = _claim(path) if path is not None else _next_free(parent, recipe.name)
        run = cls(folder, placed(recipe))
        try:
            for inner in (folder / name for name in INNER):
                with writing(inner):
                    inner.mkdir(exist_ok=True)
            write_recipe_record(folder, run.recipe)
        except RunError:
            remove(folder)  # it holds nothing yet, and would be in the way of the next try
            raise
        return run

    @classmethod
    def open(cls, path: Path, recipe: Recipe | None = None) -> RunFolder:
        """Open an existing run; with `recipe`, only if it is the run's own. Raises RunError in words otherwise."""
        _check_spelling(path)
        run = cls(path, placed(read_recipe_record(path)))
        if recipe is not None and placed(recipe) != run.recipe:
            raise RunError(f"{path} is a run of another recipe: {difference(run.recipe, placed(recipe))}")
        return run

    @staticmethod
    def is_run(path: Path) -> bool:
        """Whether `path` holds a run (has a recipe.json)."""
        return (path / RECIPE).is_file()

    def changed_since_start(self) -> str:
        """In what versions or threads differ now from those the run began with; empty if in nothing.

        Such runs go on, but their numbers are no longer bit for bit those of an unbroken run.
        """
        return changed(self.path, self.recipe)

    def discard_unused(self) -> None:
        """Remove the folder if not one iteration has been run in it: a recipe that was refused leaves nothing.

        A folder that another process has taken up meanwhile is left to it.
        """
        with suppress(RunError), self.lock():
            if not self.metrics_path.exists():
                remove(self.path)

    def lock(self) -> AbstractContextManager[None]:
        """Hold the folder for this process; see `locked`."""
        return locked(self.path)

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
        resume = f"mage train --resume {shlex.quote(str(self.path))}"
        advice = f"remove that line, and `{resume}` plays its iteration again"
        return read_lines(self.metrics_path, keys, advice=advice)

    def timings(self, keys: Sequence[str] = ()) -> list[Row]:
        """Times of all iterations, read like `metrics`."""
        return read_lines(self.timings_path, keys)

    def truncate_metrics(self, iteration: int) -> None:
        """Drop metrics and timings after `iteration`: what a resumed run writes again. Raises RunError if it cannot.

        The metrics must be unbroken up to there.
        """
        keep_first(self.metrics_path, iteration)
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

    def latest_checkpoint(self, up_to: int | None = None) -> Checkpoint | None:
        """The newest whole checkpoint (up to an iteration) or None; RunError if there are some and all are damaged."""
        return checkpoints.latest(self.checkpoints_path, up_to)

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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; released when it ends, however it ends. RunError if another holds it."""
    path = folder / "lock"
    with writing(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(handle, 32).decode().strip() or "unknown"
            raise RunError(f"{folder} is in use by process {owner}: wait for it, or stop it first") from None
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def _claim(path: Path) -> Path:
    if path.exists() and (not path.is_dir() or not all(_left_by_create(inner) for inner in path.iterdir())):
        if RunFolder.is_run(path):
            raise RunError(f"{path} holds a run already: go on with `mage train --resume`, or choose another folder")
        raise RunError(f"{path} {'is not empty' if path.is_dir() else 'is a file'}: choose another folder")
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def _left_by_create(path: Path) -> bool:
    """Whether something in a folder was made by a `create` that was killed before there was a recipe."""
    if path.name == f".{RECIPE}.partial":
        return True
    return path.name in INNER and path.is_dir() and not any(path.iterdir())


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


def _check_spelling(path: Path) -> None:
    """Raises RunError for a path that is no Unicode: weights, tables and messages could not name it."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise RunError(f"{os.fsencode(path)!r}: the folder's name is not UTF-8; choose another") from None
