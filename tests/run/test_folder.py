import errno
import json
import multiprocessing
import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.errors import RunError
from mage.recipe import Recipe
from mage.recipe_file import parse_recipe
from mage.run import files
from mage.run.folder import RunFolder
from mage.run.recipe_record import recipe_hash


def recipe(**loop) -> Recipe:
    return parse_recipe({"name": "small", "loop": {"keep_checkpoints": 2, **loop}}, "test")


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(recipe(), tmp_path / "run")


def save(folder, iteration, text="weights"):
    with folder.checkpoint(iteration) as path:
        (path / "weights.safetensors").write_text(f"{text} {iteration}")
        (path / "optimizer.safetensors").write_text("moments")
        (path / "engine.json").write_text("{}")
        (path / "inner").mkdir()
        (path / "inner" / "state.json").write_text("{}")


def names(folder):
    return sorted(path.name for path in folder.checkpoints_path.iterdir())


def test_default_names_count_up(tmp_path):
    made = [RunFolder.create(recipe(), parent=tmp_path / "runs").path.name for _ in range(3)]
    assert made == ["small", "small-2", "small-3"]


def test_a_folder_that_is_taken_is_refused(tmp_path, folder):
    with pytest.raises(RunError, match="holds a run already: go on with `mage train --resume`"):
        RunFolder.create(recipe(), folder.path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="is not empty"):
        RunFolder.create(recipe(), tmp_path / "other")
    assert (tmp_path / "other" / "thesis.txt").read_text() == "mine"


def test_open_gives_the_recipe_back(folder):
    assert RunFolder.open(folder.path).recipe == recipe()
    record = json.loads((folder.path / "recipe.json").read_text())
    assert record["sha256"] == recipe_hash(recipe().model_dump(mode="json"))
    assert record["mage"]


def test_a_run_opens_where_its_own_method_is_not_installed(tmp_path):
    own = recipe().model_copy(update={"method": "not_here:METHOD"})
    assert RunFolder.open(RunFolder.create(own, tmp_path / "own").path).recipe == own


def test_open_says_what_is_wrong(tmp_path, folder):
    with pytest.raises(RunError, match="does not exist"):
        RunFolder.open(tmp_path / "nothing")
    with pytest.raises(RunError, match=r"is no run folder \(it has no recipe.json\)"):
        RunFolder.open(tmp_path)
    with pytest.raises(RunError, match=r"another recipe: loop.iterations = 400 there, 7 here"):
        RunFolder.open(folder.path, recipe(iterations=7))
    path = folder.path / "recipe.json"
    path.write_text(path.read_text().replace('"iterations": 400', '"iterations": 500'))
    with pytest.raises(RunError, match="was changed after the run began"):
        RunFolder.open(folder.path)
    path.write_text('{"recipe": ')
    with pytest.raises(RunError, match="not JSON"):
        RunFolder.open(folder.path)
    path.write_text('{"a": 1}')
    with pytest.raises(RunError, match="not the recipe of a run"):
        RunFolder.open(folder.path)


def test_other_versions_and_threads_than_at_the_start_are_told(folder):
    assert folder.changed_since_start() == ""
    path = folder.path / "recipe.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"torch": "1.0", "threads": 1000}))
    torch, threads = folder.changed_since_start().split("; ")
    assert torch.startswith("torch 1.0 then, ")
    assert threads.startswith("threads 1000 then, ")
    del record["torch"], record["threads"]  # a run from before they were kept
    path.write_text(json.dumps(record))
    assert folder.changed_since_start() == ""


def test_metrics_survive_a_kill_and_are_cut_to_the_checkpoint(folder):
    for iteration in range(1, 5):
        folder.append_metrics({"iteration": iteration, "payoff": [0.1 * iteration, float("nan")]})
        folder.append_timings({"iteration": iteration, "seconds": 1.0})
    whole = folder.metrics_path.read_bytes()
    with folder.metrics_path.open("ab") as file:
        file.write(b'{"iteration": 5, "pay')
    assert [row["iteration"] for row in folder.metrics()] == [1, 2, 3, 4]
    assert folder.metrics()[2]["payoff"] == [0.1 * 3, None]
    folder.truncate_metrics(3)
    assert folder.metrics_path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:3])
    assert [row["iteration"] for row in folder.timings()] == [1, 2, 3]
    folder.append_metrics({"iteration": 4, "payoff": [0.1 * 4, None]})
    assert folder.metrics_path.read_bytes() == whole


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)), st.text())
def test_rows_come_back_exactly(values, text):
    assert json.loads(files.encode({"values": values, "text": text})) == {"values": values, "text": text}


def test_a_damaged_line_is_named(folder):
    folder.metrics_path.write_text('{"iteration": 1}\nnonsense\n{"iteration": 3}\n')
    with pytest.raises(RunError, match="line 2 is not JSON"):
        folder.metrics()


def test_the_last_k_checkpoints_are_kept(folder):
    assert folder.latest_checkpoint() is None
    for iteration in (10, 20, 30):
        save(folder, iteration)
    assert names(folder) == ["iteration_000020", "iteration_000030"]
    latest = folder.latest_checkpoint()
    assert (latest.iteration, latest.path.name) == (30, "iteration_000030")
    assert set(json.loads((latest.path / "checkpoint.json").read_text())["files"]) == {
        "weights.safetensors",
        "optimizer.safetensors",
        "engine.json",
        "inner/state.json",
    }


def test_a_failed_checkpoint_leaves_the_old_ones(folder):
    save(folder, 10)
    with pytest.raises(TypeError), folder.checkpoint(20) as path:
        (path / "weights.safetensors").write_text(b"not text")
    assert names(folder) == ["iteration_000010"]
    assert folder.latest_checkpoint().iteration == 10


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_said_and_harms_nothing(folder, error):
    save(folder, 10)
    with pytest.raises(RunError, match="iteration_000020: the disk is full"), folder.checkpoint(20):
        raise error
    assert names(folder) == ["iteration_000010"]


def test_a_full_disk_during_append_leaves_whole_lines(folder, monkeypatch):
    folder.append_metrics({"iteration": 1})
    before = folder.metrics_path.read_bytes()

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *rest):
            self.file.close()

        def tell(self):
            return self.file.tell()

        def truncate(self, size):
            self.file.truncate(size)

        def write(self, data):
            if len(data) > 5:
                return self.file.write(data[:5])
            raise OSError(errno.ENOSPC, "No space left on device")

    opened = type(folder.path).open
    monkeypatch.setattr(type(folder.path), "open", lambda path, *args, **more: Full(opened(path, *args, **more)))
    with pytest.raises(RunError, match=r"metrics\.jsonl: the disk is full"):
        folder.append_metrics({"iteration": 2})
    monkeypatch.undo()
    assert folder.metrics_path.read_bytes() == before


def test_damaged_checkpoints_are_skipped_with_a_warning(folder, caplog):
    for iteration in (10, 20):
        save(folder, iteration)
    model = folder.checkpoints_path / "iteration_000020" / "weights.safetensors"
    model.write_text("weights")
    assert folder.latest_checkpoint().iteration == 10
    assert "weights.safetensors was cut short (7 bytes, 10 were written)" in caplog.text
    model.write_text("weights 99")
    assert folder.latest_checkpoint().iteration == 10
    assert "other bytes than were written" in caplog.text
    (folder.checkpoints_path / "iteration_000010" / "checkpoint.json").unlink()
    model.unlink()
    with pytest.raises(RunError, match=r"no checkpoint can be .*20: weights.safetensors is missing; .*10:"):
        folder.latest_checkpoint()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"files": {}}, "checkpoint.json does not list engine.json"),
        ({"iteration": 7}, "checkpoint.json is of iteration 7"),
        ({"files": {"engine.json": {"bytes": 2}}}, "checkpoint.json is not readable"),
    ],
)
def test_a_manifest_that_says_something_else_is_damage(folder, caplog, change, words):
    for iteration in (10, 20):
        save(folder, iteration)
    manifest = folder.checkpoints_path / "iteration_000020" / "checkpoint.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    assert folder.latest_checkpoint().iteration == 10
    assert words in caplog.text


def test_what_is_not_named_like_a_checkpoint_is_left_alone(folder):
    (folder.checkpoints_path / "iteration_000003.bak").mkdir()
    (folder.checkpoints_path / "iteration_12").mkdir()
    (folder.checkpoints_path / "iteration_000002.tar").write_text("")
    assert folder.latest_checkpoint() is None
    for iteration in (999_999, 1_000_000, 1_000_001):
        save(folder, iteration)
    assert folder.latest_checkpoint().iteration == 1_000_001
    mine = ["iteration_000002.tar", "iteration_000003.bak", "iteration_12"]
    assert names(folder) == sorted([*mine, "iteration_1000000", "iteration_1000001"])


def test_a_file_in_place_of_a_checkpoint_is_replaced(folder):
    (folder.checkpoints_path / "iteration_000010").write_text("")
    with pytest.raises(RunError, match="no checkpoint can be resumed from"):
        folder.latest_checkpoint()
    save(folder, 10)
    assert (folder.latest_checkpoint().iteration, names(folder)) == (10, ["iteration_000010"])


def test_training_past_a_damaged_checkpoint_replaces_it(folder):
    for iteration in (10, 20):
        save(folder, iteration)
    (folder.checkpoints_path / "iteration_000020" / "checkpoint.json").write_text("[")
    save(folder, 15)
    assert folder.latest_checkpoint().iteration == 15
    save(folder, 20, text="better")
    latest = folder.latest_checkpoint()
    assert (latest.path / "weights.safetensors").read_text() == "better 20"
    assert names(folder) == ["iteration_000015", "iteration_000020"]


def _die_while_saving(path):
    with RunFolder.open(path).checkpoint(20) as part:
        (part / "weights.safetensors").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)


def test_killed_while_saving(folder):
    save(folder, 10)
    process = multiprocessing.get_context("fork").Process(target=_die_while_saving, args=(folder.path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert ".iteration_000020.partial" in names(folder)
    assert folder.latest_checkpoint().iteration == 10
    save(folder, 20)
    assert names(folder) == ["iteration_000010", "iteration_000020"]


def test_one_process_at_a_time(folder):
    with folder.lock(), pytest.raises(RunError, match=f"in use by process {os.getpid()}"), folder.lock():
        pass
    with folder.lock():
        pass


def test_an_unused_folder_is_discarded_unless_somebody_is_in_it(folder):
    with folder.lock():
        RunFolder.open(folder.path).discard_unused()
    assert RunFolder.is_run(folder.path)
    folder.append_metrics({"iteration": 1})
    folder.discard_unused()
    assert folder.metrics_path.exists()
    folder.metrics_path.unlink()
    folder.discard_unused()
    assert not folder.path.exists()


def test_a_name_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / os.fsdecode(b"runs\xff")
    for make in (lambda: RunFolder.create(recipe(), path), lambda: RunFolder.create(recipe(), parent=path)):
        with pytest.raises(RunError, match=r"runs\\xff': the folder's name is not UTF-8"):
            make()
    assert not path.exists()


def test_the_model_a_run_starts_from_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = parse_recipe({"name": "small", "engine": {"model": "ref/model"}}, "test")
    made = RunFolder.create(own, tmp_path / "run")
    assert made.recipe.engine.model == str(tmp_path / "ref" / "model")
    RunFolder.open(tmp_path / "run", own)  # the same recipe, in the same place
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert RunFolder.open(tmp_path / "run").recipe == made.recipe
    with pytest.raises(RunError, match=r"another recipe: engine\.model = "):
        RunFolder.open(tmp_path / "run", own)


def test_evaluations_are_kept(folder):
    result = {"actor": "model", "episodes": 1, "pooled": {"payoff": [0.5]}, "opponents": {}}
    folder.write_eval("default", result)
    assert folder.evals() == {"default": result}


@pytest.mark.parametrize("line", ["null", "[1]", "{}", '{"iteration": "1"}', "[" * 100_000])
def test_a_line_that_is_no_row_is_named(folder, line):
    folder.metrics_path.write_text(f'{{"iteration": 1}}\n{line}\n')
    with pytest.raises(RunError, match=r"metrics.jsonl: line 2 is .*, and `mage train --resume .*` plays"):
        folder.metrics()
    folder.timings_path.write_text(f'{{"iteration": 1}}\n{line}\n')
    with pytest.raises(RunError, match=r"timings.jsonl: line 2 is .*; remove that line to go on"):
        folder.timings()


def test_files_of_another_kind_are_said_in_words(folder):
    folder.metrics_path.mkdir()
    with pytest.raises(RunError, match=r"metrics.jsonl: cannot be read \(Is a directory\)"):
        folder.metrics()
    (folder.eval_path / "other.json").write_text("{}")
    with pytest.raises(RunError, match=r"other.json: not a result of `mage eval`"):
        folder.evals()
    (folder.path / "recipe.json").write_text("[" * 100_000)
    with pytest.raises(RunError, match=r"recipe.json: not JSON"):
        RunFolder.open(folder.path)


def test_a_folder_that_could_not_be_made_is_not_in_the_way(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(RunError, match="the disk is full"):
            RunFolder.create(recipe(), tmp_path / "run")
    assert RunFolder.create(recipe(), tmp_path / "run").path == tmp_path / "run"


def test_a_row_without_what_is_asked_for_is_named(folder):
    folder.append_metrics({"iteration": 1, "payoff": [0.0], "trials": 1})
    with pytest.raises(RunError, match=r"metrics.jsonl: line 1 has no 'tokens_sampled'"):
        folder.metrics(["payoff", "tokens_sampled"])
