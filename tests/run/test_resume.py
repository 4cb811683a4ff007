"""A run that was stopped anywhere and resumed has the numbers of one that was not, bit for bit."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small import VALUES, Notes, StopAfter, Stopped, fingerprint, small

from mage.engine.local import LocalEngine
from mage.errors import RunError
from mage.run.evaluate import evaluate
from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.run.train import train

KILLING = Path(__file__).with_name("killing.py")
MOMENTS = (
    "half_a_line",
    "no_timings",
    "half_the_trials",
    "half_a_checkpoint",
    "no_manifest",
    "not_renamed",
    "not_pruned",
    "half_a_model",
    "before_the_last_checkpoint",
)
DELAYS = {"early": (0, 1), "half-way": (1, 2), "late": (2, 3)}
"""After how many iterations, and a random while, the run is killed, and the resumed one is killed again."""


def stopped(path, after, **changes):
    """A run that was stopped when iteration `after` had ended."""
    folder = RunFolder.create(small(**changes), path)
    with pytest.raises(Stopped):
        train(folder.recipe, folder, progress=StopAfter(after))
    return folder


def resume(folder, progress=None):
    again = RunFolder.open(folder.path)
    train(again.recipe, again, resume=True, progress=progress or Silent())


def iterations(folder):
    return [[row["iteration"] for row in rows] for rows in (folder.metrics(), folder.timings())]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_stopped_and_resumed_equals_unbroken(after, unbroken, tmp_path):
    """Checkpoints are written every two iterations, so up to one iteration is played again."""
    folder, notes = stopped(tmp_path / "run", after), Notes()
    resume(folder, notes)
    assert notes.iterations == ([3, 4] if after > 1 else [1, 2, 3, 4])
    assert notes.notes[-1] == (
        "resumed after iteration 2" if after > 1 else "no checkpoint yet: starting from the beginning"
    )
    assert fingerprint(folder.path) == fingerprint(unbroken)
    assert iterations(folder) == [[1, 2, 3, 4]] * 2


def test_resuming_under_another_version_is_said(tmp_path):
    folder, notes = stopped(tmp_path / "run", 3), Notes()
    path = folder.path / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"torch": "1.0"}))
    resume(folder, notes)
    assert notes.notes[-1].startswith("not bit for bit what an unbroken run would be: torch 1.0 then, ")


def test_stopped_in_the_middle_of_learning(unbroken, tmp_path, monkeypatch):
    """One of the third iteration's two steps was taken: it counts for nothing."""
    step, calls = LocalEngine.optim_step, []

    async def stopping(self, adam):
        calls.append(adam)
        if len(calls) == 6:
            raise Stopped
        return await step(self, adam)

    folder = RunFolder.create(small(), tmp_path / "run")
    monkeypatch.setattr(LocalEngine, "optim_step", stopping)
    with pytest.raises(Stopped):
        train(folder.recipe, folder, progress=Silent())
    monkeypatch.undo()
    resume(folder)
    assert fingerprint(folder.path) == fingerprint(unbroken)


@pytest.mark.parametrize("damage", ["deleted", "cut", "changed", "no manifest"])
def test_a_damaged_checkpoint_is_passed_over(damage, unbroken, tmp_path, caplog):
    folder = stopped(tmp_path / "run", 3, loop={"checkpoint_every": 1})
    newest = folder.latest_checkpoint()
    assert newest.iteration == 3
    damaged = newest.path / "weights.safetensors"
    if damage == "deleted":
        shutil.rmtree(newest.path)
    elif damage == "cut":
        os.truncate(damaged, 100)
    elif damage == "changed":
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    else:
        (newest.path / "checkpoint.json").unlink()
    notes = Notes()
    resume(folder, notes)
    assert notes.notes[-1] == "resumed after iteration 2"
    assert ("checkpoint skipped" in caplog.text) is (damage != "deleted")
    assert fingerprint(folder.path) == fingerprint(unbroken)


def test_without_a_whole_checkpoint_nothing_is_thrown_away(tmp_path):
    folder = stopped(tmp_path / "run", 3)
    os.truncate(folder.latest_checkpoint().path / "optimizer.safetensors", 10)
    before = folder.metrics_path.read_bytes()
    with pytest.raises(RunError, match=r"no checkpoint can be resumed from: .*optimizer.safetensors was cut short"):
        resume(folder)
    assert folder.metrics_path.read_bytes() == before


METRICS = {
    "gone": lambda lines: None,
    "without the first": lambda lines: lines[1:],
    "without the second": lambda lines: [lines[0], *lines[2:]],
    "second twice": lambda lines: [*lines[:2], *lines[1:]],
    "third damaged": lambda lines: [*lines[:2], b"{nonsense\n", *lines[3:]],
}


@pytest.mark.parametrize("newest", ["whole", "damaged"])
@pytest.mark.parametrize(
    ("harm", "rows"),
    [("gone", 0), ("without the first", 0), ("without the second", 1), ("second twice", 2), ("third damaged", 2)],
)
def test_metrics_that_lost_rows_are_made_whole(harm, rows, newest, unbroken, tmp_path):
    folder, notes = stopped(tmp_path / "run", 3, loop={"checkpoint_every": 1, "keep_checkpoints": 3}), Notes()
    if newest == "damaged":
        os.truncate(folder.latest_checkpoint().path / "weights.safetensors", 100)
    left = METRICS[harm](folder.metrics_path.read_bytes().splitlines(keepends=True))
    folder.metrics_path.unlink() if left is None else folder.metrics_path.write_bytes(b"".join(left))
    resume(folder, notes)
    assert notes.iterations == list(range(rows + 1, 5))
    assert fingerprint(folder.path) == fingerprint(unbroken)
    kept = folder.path / "metrics.damaged-1.jsonl"
    if rows < (3 if newest == "whole" else 2):
        assert notes.notes[0].startswith(f"metrics.jsonl has no whole row of iteration {rows + 1}: going back")
        assert (kept.read_bytes() if kept.exists() else None) == (b"".join(left) if left else None)
    else:  # no further back than the checkpoint that is taken anyway
        assert not kept.exists()


def test_going_back_further_than_any_checkpoint(unbroken, tmp_path):
    """And stopped again on the way: later checkpoints are still there and do not count."""
    folder, notes = stopped(tmp_path / "run", 3, loop={"checkpoint_every": 1, "keep_checkpoints": 1}), Notes()
    folder.metrics_path.unlink()
    with pytest.raises(Stopped):
        resume(folder, StopAfter(1))
    resume(folder, notes)
    assert notes.iterations == [2, 3, 4]
    assert fingerprint(folder.path) == fingerprint(unbroken)


def test_a_complete_run_without_its_metrics_is_not_complete(unbroken, tmp_path):
    shutil.copytree(unbroken, tmp_path / "run")
    folder, notes = RunFolder.open(tmp_path / "run"), Notes()
    folder.truncate_metrics(2)
    resume(folder, notes)
    assert notes.iterations == [3, 4]
    assert fingerprint(folder.path) == fingerprint(unbroken)


GAE = {"credit": {"advantage": "gae"}}


@pytest.fixture(scope="module")
def unbroken_critic(cache, tmp_path_factory):
    folder = RunFolder.create(small(**GAE), tmp_path_factory.mktemp("critic") / "unbroken")
    train(folder.recipe, folder, progress=Silent())
    return folder


def test_a_value_function_is_resumed_exactly(unbroken_critic, tmp_path):
    folder = stopped(tmp_path / "run", 3, **GAE)
    assert (folder.latest_checkpoint().path / "critic.safetensors").is_file()
    resume(folder)
    assert fingerprint(folder.path) == fingerprint(unbroken_critic.path)


def test_a_run_with_a_value_function_is_evaluated_from_its_checkpoint(unbroken_critic, tmp_path):
    shutil.copytree(unbroken_critic.path, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "model")
    one, other = evaluate(unbroken_critic.path), evaluate(tmp_path / "run")
    assert (one.iteration, one.pooled) == (other.iteration, other.pooled)


def test_a_complete_run_is_left_alone_and_says_so(unbroken):
    before = {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in unbroken.rglob("*") if path.name != "lock"
    }
    notes = Notes()
    resume(RunFolder.open(unbroken), notes)
    after = {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in unbroken.rglob("*") if path.name != "lock"
    }
    assert notes.notes == ["the run is complete: all 4 iterations are done"]
    assert (notes.iterations, notes.ended) == ([], 1)
    assert after == before


def test_a_run_of_another_recipe_is_refused(unbroken):
    other = small(optim={"lr": 0.5})
    with pytest.raises(RunError, match=r"is a run of another recipe: optim.lr = 0.001 there, 0.5 here"):
        RunFolder.open(unbroken, other)
    before = fingerprint(unbroken)
    with pytest.raises(RunError, match="another recipe"):
        train(other, RunFolder(unbroken, other), resume=True, progress=Silent())
    assert fingerprint(unbroken) == before


def test_a_run_under_way_is_not_resumed_beside_it(tmp_path):
    folder = stopped(tmp_path / "run", 1)
    with folder.lock(), pytest.raises(RunError, match=f"in use by process {os.getpid()}"):
        resume(folder)


def kill(jobs, hash_seed):
    """Run jobs in a new interpreter; sets and dictionaries of strings are ordered by another seed in each."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(KILLING), json.dumps(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def killed(cache, unbroken, tmp_path_factory):
    """Runs that were killed in one interpreter and resumed in another, by name; and how their processes ended."""
    parent = tmp_path_factory.mktemp("killed")
    recipe, chance = small(loop={"checkpoint_every": 1}), random.Random(0)
    runs = {name: RunFolder.create(recipe, parent / name).path for name in ("whole", *DELAYS, *MOMENTS)}

    def soon(name, time):
        return {"run": str(runs[name]), "lines": DELAYS[name][time], "seconds": 0.2 * chance.random()}

    first = [
        {"run": str(runs["whole"]), "resume": False},
        *({**soon(name, 0), "resume": False} for name in DELAYS),
        *({"run": str(runs[name]), "resume": False, "at": name} for name in MOMENTS),
    ]
    second = [
        *({**soon(name, 1), "resume": True} for name in DELAYS),
        *({"run": str(runs[name]), "resume": True} for name in (*DELAYS, *MOMENTS)),
    ]
    return runs, kill(first, 1), kill(second, 2)


@pytest.mark.slow
def test_processes_were_killed_and_ended_as_meant(killed):
    _, first, second = killed
    ended, delayed = "ended with 0", len(DELAYS)
    assert first[0] == ended
    assert first[1 + delayed :] == ["killed"] * len(MOMENTS)
    assert {*first[1 : 1 + delayed], *second[:delayed]} <= {"killed", ended}  # a fast machine may be ahead of the kill
    assert second[delayed:] == [ended] * (delayed + len(MOMENTS))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["whole", *DELAYS, *MOMENTS])
def test_killed_and_resumed_equals_unbroken(name, killed, unbroken):
    folder = RunFolder.open(killed[0][name])
    assert fingerprint(folder.path) == fingerprint(unbroken)
    assert iterations(folder) == [[1, 2, 3, 4]] * 2
    assert [path.name for path in sorted(folder.checkpoints_path.iterdir())] == ["iteration_000003", "iteration_000004"]
    assert not list(folder.path.rglob("*.partial"))


@pytest.mark.slow
def test_the_command_line_killed_and_resumed(unbroken, tmp_path):
    recipe, path = tmp_path / "small.toml", tmp_path / "run"
    recipe.write_text(toml(VALUES))
    process = command(1, "train", str(recipe), "--run", str(path))
    while not (path / "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process = command(2, "train", "--resume", str(path))
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert f"mage eval {path}" in out
    assert fingerprint(path) == fingerprint(unbroken)


def command(hash_seed, *arguments):
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": "1"}
    code = "import sys; from mage.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def toml(values):
    """Nested dictionaries as TOML; JSON's inner values are spelled the same, but for tables in lists."""

    def spell(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {spell(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(spell, value)) + "]"
        return json.dumps(value)

    return "".join(f"{key} = {spell(value)}\n" for key, value in values.items())
