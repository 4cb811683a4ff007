"""Training runs as child processes: each one trained, evaluated, and measured in minutes and peak memory."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mage.commands.recipes import load_recipe

MAGE = (sys.executable, "-m", "mage")


@dataclass(frozen=True)
class Job:
    """A recipe with overrides, and the options of each evaluation that follows by name."""

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()
    evaluations: tuple[tuple[str, tuple[str, ...]], ...] = (("own", ()),)


def run_all(jobs: Sequence[Job], folder: Path, parallel: int) -> list[dict[str, Any]]:
    """Train and evaluate all jobs, `parallel` at a time, in `folder`; finished ones are read, stopped ones resumed."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(lambda job: _run(job, folder), jobs))


def _run(job: Job, folder: Path) -> dict[str, Any]:
    kept = folder / f"{job.name}.json"
    if kept.exists():
        done: dict[str, Any] = json.loads(kept.read_text())
        if (done["recipe"], done["overrides"]) != (job.recipe, list(job.overrides)) or done.get("digest") != _digest(
            job
        ):
            raise SystemExit(f"{kept} is of other settings ({' '.join(done['overrides'])}): move {folder} away")
        return done
    run = folder / job.name
    resumed = (run / "recipe.json").exists()
    command = ["--resume", str(run)] if resumed else [job.recipe, *job.overrides, "--run", str(run)]
    peak = _call([*MAGE, "train", *command, "--json"], folder / f"{job.name}.log")
    timings = [json.loads(line) for line in (run / "timings.jsonl").read_text().splitlines()]
    result: dict[str, Any] = {"name": job.name, "recipe": job.recipe, "overrides": list(job.overrides)}
    result["digest"] = _digest(job)
    result["minutes"] = sum(row["seconds"] for row in timings) / 60
    result["peak_memory_gb"] = None if resumed else peak  # of one process only
    for name, options in job.evaluations:
        output = subprocess.run(
            [*MAGE, "eval", str(run), *options, "--json"], capture_output=True, text=True, check=True
        )
        result[name] = json.loads(output.stdout)
    kept.write_text(json.dumps(result))
    return result


def _digest(job: Job) -> str:
    """Of all that a recipe says, its overrides included."""
    recipe = load_recipe(job.recipe, list(job.overrides))
    return hashlib.sha256(recipe.model_dump_json().encode()).hexdigest()[:16]


def _call(command: list[str], log: Path) -> float:
    """Run a command to its end; returns its peak memory in GB. A failure is an error that names the log."""
    with log.open("w") as stream:
        child = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}: see {log}")
    return usage.ru_maxrss / 2**20
