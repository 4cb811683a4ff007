"""A run that is small enough for tests, and what must be equal in equal runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from mage.recipe import Recipe
from mage.recipe_file import parse_recipe
from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.run.trial_file import TrialFile

POOL = ("conservative", "aggressive", "intermediate")
VALUES = {
    "name": "small",
    "population": {"train": [{"name": name} for name in POOL], "held_out": [{"name": "random"}]},
    "engine": {"hidden": 32, "layers": 1, "warmup_steps": 200, "threads": 1},
    "optim": {"lr_warmup": 1, "minibatches": 2},
    "loop": {"iterations": 4, "groups": 6, "group_size": 4, "checkpoint_every": 2, "record_trials_every": 2},
    "eval": {"trials": 100},
}


def small(**changes) -> Recipe:
    """The small recipe with changes, such as `loop={"iterations": 2}`."""
    values = dict(VALUES)
    for key, value in changes.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    return parse_recipe(values, "small")


def fingerprint(path: Path) -> dict[str, str]:
    """Digests of what does not depend on time: metrics, model, the newest checkpoint, recorded trials."""
    folder = RunFolder.open(path)
    newest = folder.latest_checkpoint()
    files = {
        "metrics": folder.metrics_path,
        **{f"model {file.name}": file for file in sorted(folder.model_path.iterdir())},
        **{f"checkpoint {newest.iteration} {file.name}": file for file in sorted(newest.path.iterdir())},
    }
    digests = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
    for file in sorted(folder.trials_path.glob("*.parquet")):
        rows = json.dumps(TrialFile(file).read()).encode()
        digests[f"trials {file.name}"] = hashlib.sha256(rows).hexdigest()
    return digests


class Stopped(Exception):
    """What a test raises to stop a run."""


class StopAfter(Silent):
    """Stops a run when an iteration has ended."""

    def __init__(self, iteration: int) -> None:
        self.last = iteration

    def iteration(self, metrics, timings) -> None:
        if metrics["iteration"] == self.last:
            raise Stopped


class Notes(Silent):
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.iterations: list[int] = []
        self.ended = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def iteration(self, metrics, timings) -> None:
        self.iterations.append(metrics["iteration"])

    def done(self) -> None:
        self.ended += 1
