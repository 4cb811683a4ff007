"""Trains in child processes, kills them with SIGKILL, and says how each ended: `python killing.py '[JOB, …]'`.

A job is `{"run": FOLDER, "resume": bool, "lines": 2, "seconds": 0.05}` (killed so long after so many iterations were
written down), `{…, "at": NAME}` (killed at a moment of `MOMENTS`), or neither (left alone). The interpreter and what it
imports are started once and forked for each job; nothing has been computed in it by then.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import pyarrow.parquet
import transformers.models.llama.modeling_llama  # noqa: F401

from mage.engine.local import LocalEngine
from mage.run import checkpoints, files
from mage.run import folder as folders
from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.run.train import train


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def half(path: Path) -> None:
    """Cut a file to half, as a kill in the middle of writing it leaves it; then die."""
    os.truncate(path, path.stat().st_size // 2)
    die()


class Countdown:
    """Calls `first` until the `turn`-th call, then `then` with the same arguments."""

    def __init__(self, first: Any, turn: int, then: Any) -> None:
        self.first, self.left, self.then = first, turn, then

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.left -= 1
        return (self.then if self.left == 0 else self.first)(*arguments, **named)


def half_a_line() -> None:
    """In the middle of the third iteration's line of metrics."""
    whole = files.append_line

    def cut(path: Path, row: dict[str, Any]) -> None:
        with path.open("ab") as file:
            file.write(files.encode(row).encode()[:100])
        die()

    folders.append_line = Countdown(whole, 5, cut)  # two files a time


def no_timings() -> None:
    """Between the third iteration's metrics and its timings."""
    folders.append_line = Countdown(files.append_line, 6, die)


def half_the_trials() -> None:
    """While trials are written."""
    write = pyarrow.parquet.write_table

    def cut(table: Any, path: Path, **options: Any) -> None:
        write(table, path, **options)
        half(path)

    pyarrow.parquet.write_table = Countdown(write, 1, cut)


def half_a_checkpoint() -> None:
    """Weights are written, the optimizer is not whole."""
    save = LocalEngine.save_state

    def cut(engine: LocalEngine, path: Path) -> None:
        save(engine, path)
        half(path / "optimizer.safetensors")

    counter = Countdown(save, 2, cut)
    LocalEngine.save_state = lambda engine, path: counter(engine, path)  # type: ignore[method-assign]


def no_manifest() -> None:
    """All files of a checkpoint are written, it is not sealed."""
    checkpoints.seal = Countdown(checkpoints.seal, 2, die)


def not_renamed() -> None:
    """A checkpoint is sealed and not yet renamed."""
    checkpoints._swap = Countdown(checkpoints._swap, 2, die)


def not_pruned() -> None:
    """A checkpoint is in place beside more older ones than are kept."""
    checkpoints._prune = Countdown(checkpoints._prune, 3, die)


def half_a_model() -> None:
    """While the trained model is written at the end."""
    save = LocalEngine.save_model

    def cut(engine: LocalEngine, path: Path) -> None:
        save(engine, path)
        half(path / "model.safetensors")

    LocalEngine.save_model = cut  # type: ignore[method-assign]


def before_the_last_checkpoint() -> None:
    """The trained model is written, the last checkpoint is not."""
    checkpoints._swap = Countdown(checkpoints._swap, 4, die)


MOMENTS = {
    moment.__name__: moment
    for moment in (
        half_a_line,
        no_timings,
        half_the_trials,
        half_a_checkpoint,
        no_manifest,
        not_renamed,
        not_pruned,
        half_a_model,
        before_the_last_checkpoint,
    )
}


def work(job: dict[str, Any]) -> int:
    try:
        if "at" in job:
            MOMENTS[job["at"]]()
        folder = RunFolder.open(Path(job["run"]))
        train(folder.recipe, folder, resume=job["resume"], progress=Silent())
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def run(job: dict[str, Any]) -> str:
    child = os.fork()
    if child == 0:
        os._exit(work(job))
    if "lines" in job:
        wait_for(Path(job["run"]) / "metrics.jsonl", job["lines"])
        time.sleep(job["seconds"])
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return "killed" if os.WIFSIGNALED(status) else f"ended with {os.WEXITSTATUS(status)}"


def wait_for(path: Path, lines: int, patience: float = 60.0) -> None:
    until = time.monotonic() + patience
    while time.monotonic() < until and (path.read_bytes().count(b"\n") if path.exists() else 0) < lines:
        time.sleep(0.001)


if __name__ == "__main__":
    gc.freeze()  # so that children do not search what was imported for garbage
    sys.stdout.write(json.dumps([run(job) for job in json.loads(sys.argv[1])]))
