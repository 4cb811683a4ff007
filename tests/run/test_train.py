import dataclasses
import errno
import math
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from small import POOL, Notes, fingerprint, small
from transformers import AutoModelForCausalLM, AutoTokenizer

from mage.engine.local import LocalEngine
from mage.errors import EngineError, MageError, RunError
from mage.learn.credit import Credit
from mage.learn.data import Coefficients
from mage.play.collect import Collected, Group
from mage.play.games import make_game
from mage.play.opponents import make_opponent
from mage.play.records import EpisodeRecord, StopReason, Task, Trial, Turn
from mage.run import train as train_module
from mage.run.arena import make_arena
from mage.run.folder import RunFolder
from mage.run.model_folder import save_model
from mage.run.progress import Silent
from mage.run.train import train
from mage.run.trial_file import TrialFile
from mage.run.update import means, minibatches

KEYS = {
    "iteration",
    "payoff",
    "payoff_sem",
    "payoff_by_opponent",
    "payoff_sem_by_opponent",
    "trials_by_opponent",
    "won",
    "drawn",
    "lost",
    "trials",
    "dropped_groups",
    "drop_reasons",
    "invalid_share",
    "truncated_share",
    "tokens_sampled",
    "tokens_read",
    "loss",
    "entropy",
    "kl",
    "clip_fraction",
    "ratio_mean",
    "grad_norm",
    "logprob_diff_mean",
    "logprob_diff_max",
    "silent_groups",
    "invalid_penalty",
    "length_penalty",
    "advantage_mean_act",
    "advantage_std_act",
    "advantage_mean_reflect",
    "advantage_std_reflect",
    "lr",
    "entropy_coefficient",
    "kl_coefficient",
}
TIMES = {"iteration", "seconds", "sample_seconds", "train_seconds", "tokens_per_second"}


def run(path, recipe, **options):
    folder = RunFolder.create(recipe, path)
    train(recipe, folder, progress=options.pop("progress", Silent()), **options)
    return folder


def test_every_iteration_leaves_a_whole_row_without_times(unbroken):
    folder = RunFolder.open(unbroken)
    rows = folder.metrics()
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    for row, times in zip(rows, folder.timings(), strict=True):
        assert set(row) == KEYS
        assert set(times) == TIMES
        assert times["seconds"] == pytest.approx(times["sample_seconds"] + times["train_seconds"])
        assert set(row["payoff_by_opponent"]) == set(POOL)
        assert (row["trials"], row["dropped_groups"], row["drop_reasons"]) == (24, 0, [])
        shares = zip(row["won"], row["drawn"], row["lost"], strict=True)
        assert [sum(share) for share in shares] == pytest.approx([1, 1, 1])
        assert all(-2 <= payoff <= 2 for payoff in row["payoff"])
        assert row["grad_norm"] > 0
        assert row["clip_fraction"] >= 0
        assert row["entropy"] > 0.1


def test_trainer_and_sampler_agree_in_every_iteration(unbroken):
    for row in RunFolder.open(unbroken).metrics():
        assert 0 <= row["logprob_diff_mean"] <= row["logprob_diff_max"] < 1e-4


def test_the_same_seed_gives_the_same_bits(unbroken, tmp_path):
    assert fingerprint(run(tmp_path / "again", small()).path) == fingerprint(unbroken)


def test_another_seed_gives_other_numbers(unbroken, tmp_path):
    other, one = run(tmp_path / "other", small(seed=1, loop={"iterations": 1})), RunFolder.open(unbroken)
    assert other.metrics()[0]["payoff_by_opponent"] != one.metrics()[0]["payoff_by_opponent"]
    weights = [load_file(folder.model_path / "model.safetensors") for folder in (other, one)]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_trials_are_recorded_with_tokens_and_advantages(unbroken):
    folder = RunFolder.open(unbroken)
    assert [file.stem for file in sorted(folder.trials_path.iterdir())] == ["iteration_000002", "iteration_000004"]
    trials = TrialFile(folder.trials_file(2)).read()
    assert len(trials) == 24
    last = [{row["episode"]: row["reward"] for row in turns}[2] for turns in trials]
    assert np.mean(last) == pytest.approx(folder.metrics()[1]["payoff"][2])
    for turns in trials:
        for row in turns:
            assert len(row["tokens"]) == len(row["logprobs"]) == len(row["advantages"]) == len(row["token_texts"])
            assert all(logprob <= 0 for logprob in row["logprobs"])
    assert any(advantage for turns in trials for row in turns for advantage in row["advantages"])
    groups = {(row["group"], row["opponent"], row["seat"], row["seed"]) for turns in trials for row in turns}
    assert len(groups) == 6  # members of a group share opponent, seat and deals


def test_transformers_opens_the_model(unbroken):
    folder = RunFolder.open(unbroken)
    model = AutoModelForCausalLM.from_pretrained(folder.model_path, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder.model_path, local_files_only=True)
    saved = load_file(folder.latest_checkpoint().path / "weights.safetensors")
    for name, value in model.state_dict().items():
        assert torch.equal(value, saved[name])
    prompt = tokenizer("ep1 K first >", return_tensors="pt", add_special_tokens=False)
    assert tokenizer.unk_token_id not in prompt["input_ids"]
    answer = model.generate(**prompt, max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert "<action>" in tokenizer.decode(answer[0])


class Broken:
    """An opponent whose machine gives out."""

    name = "conservative"

    def __init__(self, error=RuntimeError, after=0, times=10**6):
        self.error, self.after, self.times = error, after, times
        self.sound = make_opponent("conservative", make_game("kuhn_poker"))

    async def act(self, state, dice):
        self.after -= 1
        if -self.times <= self.after < 0:
            raise self.error("out of order")
        return await self.sound.act(state, dice)


@pytest.fixture
def broken(monkeypatch):
    def install(opponent):
        def arena(recipe):
            whole = make_arena(recipe)
            return dataclasses.replace(whole, opponents={**whole.opponents, "conservative": opponent})

        monkeypatch.setattr(train_module, "make_arena", arena)

    return install


def test_failing_groups_are_dropped_and_counted(broken, tmp_path, caplog):
    broken(Broken())
    folder = run(tmp_path / "run", small(loop={"iterations": 2, "failure_share": 0.4}))
    for row in folder.metrics():
        assert (row["dropped_groups"], row["trials"]) == (2, 16)
        assert set(row["payoff_by_opponent"]) == {"aggressive", "intermediate"}
        assert ["RuntimeError: out of order" in reason for reason in row["drop_reasons"]] == [True]
    assert len(TrialFile(folder.trials_file(2)).read()) == 16
    assert "played again" in caplog.text


def test_a_failure_that_passes_changes_nothing(broken, unbroken, tmp_path):
    """A trial that failed is played again whole with its own seed, so the numbers are those of a sound opponent."""
    broken(Broken(after=4, times=1))
    folder = run(tmp_path / "run", small())
    assert fingerprint(folder.path) == fingerprint(unbroken)


def test_too_many_failures_end_the_run_and_leave_what_was_saved(broken, tmp_path):
    broken(Broken())
    recipe = small()
    folder = RunFolder.create(recipe, tmp_path / "run")
    with pytest.raises(RunError, match=r"iteration 1: 2 of 6 groups had to be dropped \(loop.failure_share = 0.1\)"):
        train(recipe, folder, progress=Silent())
    assert folder.metrics() == []


def test_a_failure_late_in_a_run_keeps_the_iterations_before(broken, tmp_path):
    opponent = Broken(after=10**6)
    broken(opponent)

    class Sabotage(Silent):
        def iteration(self, metrics, timings):
            if metrics["iteration"] == 3:
                opponent.after = 0

    recipe = small()
    folder = RunFolder.create(recipe, tmp_path / "run")
    with pytest.raises(RunError, match=r"iteration 4: .*RuntimeError: out of order"):
        train(recipe, folder, progress=Sabotage())
    assert [row["iteration"] for row in folder.metrics()] == [1, 2, 3]
    assert folder.latest_checkpoint().iteration == 2
    assert not folder.model_path.exists()


def test_nothing_left_to_learn_from_ends_the_run(broken, tmp_path):
    broken(Broken())
    recipe = small(population={"train": [{"name": "conservative"}]}, loop={"failure_share": 1.0})
    folder = RunFolder.create(recipe, tmp_path / "run")
    with pytest.raises(RunError, match="6 of 6 groups had to be dropped"):
        train(recipe, folder, progress=Silent())


def test_a_mistake_is_not_played_again(broken, tmp_path):
    opponent = Broken(error=MageError)
    broken(opponent)
    recipe = small()
    with pytest.raises(MageError, match="out of order"):
        train(recipe, RunFolder.create(recipe, tmp_path / "run"), progress=Silent())


def test_a_missing_tracker_ends_the_run_before_the_model_is_made(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.setattr(train_module, "starting_model", lambda recipe: pytest.fail("the model came first"))
    recipe = small(trackers=["wandb"])
    with pytest.raises(RunError, match="'wandb': not installed"):
        train(recipe, RunFolder.create(recipe, tmp_path / "run"), progress=Silent())


def test_a_gradient_that_is_not_finite_ends_the_run(unbroken, monkeypatch, tmp_path):
    """The second iteration's gradient is poisoned: the first stays, the second leaves nothing."""
    step, calls = LocalEngine.optim_step, []

    async def poisoned(self, adam):
        calls.append(adam)
        if len(calls) == 3:
            next(iter(self.model.parameters())).grad[0, 0] = math.nan
        return await step(self, adam)

    recipe = small()
    folder = RunFolder.create(recipe, tmp_path / "run")
    monkeypatch.setattr(LocalEngine, "optim_step", poisoned)
    with pytest.raises(EngineError, match="not finite"):
        train(recipe, folder, progress=Silent())
    assert [row["iteration"] for row in folder.metrics()] == [1]


def test_progress_is_told_of_every_iteration_and_given_back(tmp_path):
    notes = Notes()
    run(tmp_path / "run", small(loop={"iterations": 2}), progress=notes)
    assert (notes.iterations, notes.ended) == ([1, 2], 1)
    assert notes.notes == ["preparing the tiny base (built once, then cached)"]


def test_a_folder_that_has_iterations_is_not_written_over(tmp_path):
    folder = run(tmp_path / "run", small(loop={"iterations": 1}))
    before = fingerprint(folder.path)
    with pytest.raises(RunError, match="has iterations already"):
        train(folder.recipe, folder, progress=Silent())
    assert fingerprint(folder.path) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trial": {"seats": 3}}, "trial.seats = 3: kuhn_poker has seats 0 to 1"),
        ({"population": {"train": [{"name": "mcts"}]}}, "mcts"),
        ({"game": {"name": "kuhn"}}, "unknown game 'kuhn'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(changes, words, tmp_path):
    recipe, notes = small(**changes), Notes()
    folder = RunFolder.create(recipe, tmp_path / "run")
    with pytest.raises(MageError, match=words):
        train(recipe, folder, progress=notes)
    assert (notes.ended, folder.metrics_path.exists()) == (0, False)


def test_a_model_that_does_not_fit_on_the_disk_leaves_the_old_one_and_no_part(tmp_path):
    class Full:
        def save_model(self, folder):
            (folder / "config.json").write_text("{")
            raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "model").mkdir()
    with pytest.raises(RunError, match="the disk is full"):
        save_model(Full(), tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_means_are_over_the_steps_that_measured():
    steps = [{"loss": 1.0}, {"loss": 3.0, "kl": 0.5}]
    assert means(steps, ("loss", "kl", "other")) == {"loss": 2.0, "kl": 0.5}


def collected(groups, size=2, turns=1):
    def trial(group, member):
        task = Task(group, 0, "random", 1, "redeal", group)
        tokens = (1, 10 * group + member, 2)[: 2 + turns]
        made = tuple(Turn("act", 0, 0, 2, 3, (-0.5,), "", "", "", "", True, False) for _ in range(turns))
        return Trial(task, member, (tokens,), made, (EpisodeRecord(0.0, "drawn", "", False, 1),), StopReason.COMPLETED)

    listed = [Group(Task(g, 0, "random", 1, "redeal", g), tuple(trial(g, m) for m in range(size))) for g in groups]
    return Collected(tuple(listed), ())


def credit(trials):
    return Credit([np.ones(len(trial.turns)) for trial in trials], None, {})


@pytest.mark.parametrize(
    ("groups", "count", "expected"),
    [
        ([0, 1, 2, 3], 2, [[0, 1, 10, 11], [20, 21, 30, 31]]),
        ([0, 1, 2, 3], 1, [[0, 1, 10, 11, 20, 21, 30, 31]]),
        ([0, 2, 3], 2, [[0, 1], [20, 21, 30, 31]]),  # group 1 was dropped
        ([2], 2, [[20, 21]]),
    ],
)
def test_minibatches_are_whole_groups_in_order(groups, count, expected):
    given = collected(groups)
    parts = minibatches(given, credit(given.trials), Coefficients(), count)
    assert [[int(datum.tokens[1]) for datum in part] for part in parts] == expected


def test_an_iteration_without_a_response_teaches_nothing():
    given = collected([0], turns=0)
    with pytest.raises(MageError, match="nothing was sampled"):
        minibatches(given, credit(given.trials), Coefficients(), 1)


@pytest.mark.parametrize("harm", ["lost", "emptied", "cut short", "other bytes", "without a seal"])
def test_a_complete_run_whose_model_was_harmed_gets_it_back(harm, unbroken, tmp_path):
    shutil.copytree(unbroken, tmp_path / "run")
    folder, notes = RunFolder.open(tmp_path / "run"), Notes()
    weights = folder.model_path / "model.safetensors"
    if harm in ("lost", "emptied"):
        shutil.rmtree(folder.model_path)
        folder.model_path.mkdir() if harm == "emptied" else None
    elif harm == "without a seal":
        (folder.model_path / "seal.json").unlink()
    else:
        whole = weights.read_bytes()
        weights.write_bytes(whole[:100] if harm == "cut short" else whole[:-1] + b"!")
    train(folder.recipe, folder, resume=True, progress=notes)
    assert fingerprint(folder.path) == fingerprint(unbroken)
    assert notes.notes[-1].startswith("the model was written again from the last checkpoint: in model, ")


def test_a_link_in_place_of_the_model_gives_way(unbroken, tmp_path):
    elsewhere, recipe = tmp_path / "elsewhere", small(loop={"iterations": 1})
    elsewhere.mkdir()
    (elsewhere / "thesis.txt").write_text("mine")
    folder = RunFolder.create(recipe, tmp_path / "run")
    folder.model_path.symlink_to(elsewhere)
    train(recipe, folder, progress=Silent())
    assert folder.latest_checkpoint().iteration == 1
    assert (folder.model_path / "config.json").is_file()
    assert not folder.model_path.is_symlink()
    assert [path.name for path in elsewhere.iterdir()] == ["thesis.txt"]


def test_who_comes_second_is_refused_before_the_arena_is_made(monkeypatch, tmp_path):
    monkeypatch.setattr(train_module, "make_arena", lambda recipe: pytest.fail("without the lock"))
    folder = RunFolder.create(small(), tmp_path / "run")
    with RunFolder.open(folder.path).lock(), pytest.raises(RunError, match="in use by process"):
        train(folder.recipe, folder, progress=Silent())
