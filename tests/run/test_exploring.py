"""SGE, EMPO² and the bonuses they are compared with, as whole runs: what they leave, resumed exactly, measured."""

import pytest
from small import StopAfter, Stopped, fingerprint, small

from mage.errors import MageError, RecipeError, RunError
from mage.play.memories.strategies import FILE
from mage.run.evaluate import evaluate
from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.run.train import train

QUICK = {"hidden": 16, "layers": 1, "heads": 2, "warmup_steps": 3, "threads": 1}
LOCK = {
    "game": {"name": "combination_lock:depth=2,symbols=3"},
    "population": {"train": [{"name": "random"}], "held_out": []},
    "trial": {"episodes": 1, "restart": "replay", "max_action_tokens": 3, "max_remark_tokens": 5},
    "engine": QUICK,
    "optim": {"minibatches": 1},
    "loop": {"iterations": 4, "groups": 2, "group_size": 4, "checkpoint_every": 1},
    "eval": {"trials": 8},
}
RUNS = {
    "sge": {"method": "sge"},
    "empo2": {
        "method": "empo2",
        "hybrid": {"on_policy": 0.4, "off_policy": 0.3, "ratio": "unaided", "mask": "turn"},
        "recall": {"least": -1.0},
    },
    "rnd": {"method": "grpo", "novelty": {"kind": "rnd"}, "credit": {"entropy_weight": 0.4}},
}


def recipe(name, **changes):
    return small(**{**LOCK, **RUNS[name], **changes})


@pytest.fixture(scope="module", params=list(RUNS))
def run(request, tmp_path_factory):
    """A whole run of each."""
    folder = RunFolder.create(recipe(request.param), tmp_path_factory.mktemp(request.param) / "run")
    train(folder.recipe, folder, progress=Silent())
    return request.param, folder


def test_stopped_and_resumed_equals_unbroken(run, tmp_path):
    name, whole = run
    folder = RunFolder.create(recipe(name), tmp_path / "run")
    with pytest.raises(Stopped):
        train(folder.recipe, folder, progress=StopAfter(2))
    train(folder.recipe, RunFolder.open(folder.path), resume=True, progress=Silent())
    left, meant = fingerprint(folder.path), fingerprint(whole.path)
    assert left == meant


def test_what_is_remembered_is_in_the_checkpoint(run):
    name, folder = run
    files = {file.name for file in folder.latest_checkpoint().path.iterdir()}
    assert {"sge": FILE, "empo2": "memory.sqlite", "rnd": "novelty.safetensors"}[name] in files


def test_metrics_say_the_mode_and_what_novelty_paid(run):
    name, folder = run
    rows = folder.metrics()
    if name == "empo2":
        assert {(row["aided"], row["off_policy"]) for row in rows} <= {(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)}
        assert {row["off_policy"] for row in rows} == {0.0, 1.0}
        assert all(("logprob_diff_max" in row) == (row["off_policy"] == 0) for row in rows)
    assert all(("intrinsic_reward" in row) == (name != "sge") for row in rows)


def test_it_is_measured_without_its_memory_and_with_it(run):
    name, folder = run
    plain = evaluate(folder.path, trials=8)
    assert plain.memory == "none"
    if name != "rnd":
        memory = folder.recipe.trial.memory
        with_it = evaluate(folder.path, trials=8, memory=memory)
        assert with_it.memory == memory
        again = evaluate(folder.path, trials=8, memory=memory)
        assert with_it.pooled == again.pooled  # measuring leaves nothing behind


def test_a_memory_that_is_none_is_refused(run):
    with pytest.raises(MageError, match="memory = 'tip'"):
        evaluate(run[1].path, memory="tip")


def test_a_checkpoint_without_its_novelty_is_not_taken_up(tmp_path):
    folder = RunFolder.create(recipe("rnd"), tmp_path / "run")
    with pytest.raises(Stopped):
        train(folder.recipe, folder, progress=StopAfter(2))
    for checkpoint in folder.checkpoints_path.iterdir():
        (checkpoint / "novelty.safetensors").unlink()
    with pytest.raises(RunError):
        train(folder.recipe, RunFolder.open(folder.path), resume=True, progress=Silent())


def test_what_a_memory_draws_cannot_be_enumerated(tmp_path):
    folder = RunFolder.create(recipe("sge"), tmp_path / "run")
    train(folder.recipe, folder, progress=Silent())
    result = evaluate(folder.path, temperature=0.0, memory="strategies", trials=8)
    assert (result.kind, result.why_not_exact) == ("sampled", "memory 'strategies' draws what it shows")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trial": {"memory": "tips"}}, "would write tips and never show them"),
        ({"recall": {"scope": "game", "path": "x.sqlite"}}, "has no store to keep there"),
        ({"trial": {"memory": "strategies"}}, "it needs actor.kind = 'strategy'"),
        ({"hybrid": {"off_policy": 0.5}}, "it should be 'tips'"),
        ({"method": "empo2", "credit": {"advantage": "gae"}}, "it does not fit credit.advantage = 'gae'"),
        ({"method": "empo2", "hybrid": {"on_policy": 0.6, "off_policy": 0.6}}, "their sum is at most 1"),
        ({"method": "sge", "strategies": {"failure": 0.6, "success": 0.6}}, "their sum is at most 1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(RecipeError, match=words):
        small(**changes)
