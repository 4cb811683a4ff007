import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from mage import cli
from mage.commands import train as train_module
from mage.commands.evaluate import eval_name, eval_tables, show_eval
from mage.commands.recipes import load_recipe, shipped_recipes
from mage.errors import RunError
from mage.recipe_file import parse_recipe
from mage.run.folder import RunFolder

ROOT = Path(__file__).parents[1]
PAYOFF = {
    "trials": 432,
    "held_out": False,
    "payoff": [0.117, 0.242],
    "interval": [[0.1, 0.134], [0.2, 0.284]],
    "by_seat": {},
    "won": [0.5, 0.6],
    "drawn": [0.0, 0.0],
    "lost": [0.5, 0.4],
    "pass_at_k": [0.5, 0.8],
    "turns": [1.5, 1.5],
}
RESULT = {
    "kind": "sampled",
    "why_not_exact": "the opponent random:x=[1] cannot be enumerated",
    "target": "x",
    "iteration": 1,
    "temperature": 0.0,
    "shuffle_remarks": False,
    "actor": "model",
    "episodes": 2,
    "units": "chips per hand",
    "opponents": {"aggressive": PAYOFF},
    "pooled": PAYOFF,
    "limits": {"non_adaptive": 0.1111, "adaptive": 0.2037, "adaptive_by_episodes": [0.1111, 0.2037], "known": 0.2778},
    "invalid_share": 0.0,
    "seconds": 1.0,
}


@pytest.fixture
def run(tmp_path):
    recipe = parse_recipe({"name": "small", "loop": {"iterations": 1}}, "test")
    return RunFolder.create(recipe, tmp_path / "runs" / "small")


@pytest.fixture
def lend(monkeypatch):
    """Puts a fake in place of a module that a command imports when it is called."""

    def put(name, **members):
        monkeypatch.setitem(sys.modules, name, type(sys)(name))
        for key, value in members.items():
            setattr(sys.modules[name], key, value)

    return put


def mage(*arguments):
    environment = {**os.environ, "COLUMNS": "100"}
    command = [sys.executable, "-c", "import sys; from mage.cli import main; sys.exit(main())", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_help_imports_nothing_heavy():
    code = (
        "import sys, mage.cli; mage.cli.main(['--help']); "
        "heavy = {'torch', 'transformers', 'numpy', 'pyspiel', 'matplotlib', 'pyarrow', 'pydantic'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Train language agents" in done.stdout


@pytest.mark.parametrize("command", ["train", "eval", "limit", "report", "play", "ls", "doctor"])
def test_every_command_has_help_with_an_example(command, capsys):
    assert cli.main([command, "--help"]) == 0
    assert f"Example: mage {command}" in capsys.readouterr().out


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == "mage 0.1.0\n"


def test_mistakes_end_with_status_2_and_no_traceback(tmp_path):
    done = mage("report", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"mage: error: {tmp_path} is no run folder (it has no recipe.json)\n"
    done = mage("report")
    assert done.returncode == 2
    assert "Missing argument" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train"], "which recipe?"),
        (["train", "no-such-recipe"], "unknown recipe 'no-such-recipe'"),
        (["train", "kuhn", "--resume", "RUN"], "leave out kuhn"),
        (["train", "--resume", "RUN", "seed=1"], "leave out seed=1"),
        (["train", "--resume", "RUN", "--run", "elsewhere"], "leave out --run"),
        (["train", "--resume", "nowhere"], "nowhere does not exist"),
        (["eval", "nowhere"], "nowhere does not exist"),
        (["eval", "RUN", "--against", "random", "--held-out"], "--against and --held-out"),
        (
            ["limit", "kuhn", "--pool", "random"],
            "unknown game 'kuhn'; known: babyai, combination_lock, connect_four, kuhn_poker",
        ),
        (["limit", "kuhn_poker", "--pool", "random,agressive"], "did you mean 'aggressive'?"),
        (["limit", "kuhn_poker", "--pool", "random,"], "--pool 'random,'"),
        (["limit", "kuhn_poker", "--pool", "random", "--weights", "1,2"], "expected 1 positive numbers"),
        (["train", "r" * 300], "File name too long"),
        (["train", "kuhn", "--run", "r" * 300], "File name too long"),
        (["train", "--resume", "RUN/recipe.json"], "is no run folder"),
        (["train", "kuhn", "--run", "RUN/recipe.json"], "is a file: choose another folder"),
        (["play", "kuhn_poker", "--against", "random", "--seat", "2"], "seats 0 to 1"),
        (["play", "leduc_poker", "--against", "RUN"], "was trained on kuhn_poker, not leduc_poker"),
        (["play", "kuhn_poker", "--against", "RUN"], "has no model yet"),
    ],
)
def test_wrong_combinations_are_refused_in_words(arguments, words, run, capsys):
    arguments = [argument.replace("RUN", str(run.path)) for argument in arguments]
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("mage: error: ")
    assert words in error


def test_a_bad_override_makes_no_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.toml").write_text('name = "r"\n')
    assert cli.main(["train", "r.toml", "loop.iteration=5"]) == 2
    assert "loop.iteration: unknown key; known: " in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_train_makes_a_folder_and_hands_it_over(tmp_path, monkeypatch, lend, capsys):
    calls = []
    lend(
        "mage.run.train", train=lambda recipe, folder, *, resume, progress: calls.append((recipe, folder.path, resume))
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.toml").write_text('# A tiny run.\nname = "r"\n[loop]\niterations = 3\n')
    assert cli.main(["train", "r.toml", "loop.iterations=5", "seed=2"]) == 0
    ((recipe, path, resume),) = calls
    assert (recipe.loop.iterations, recipe.seed, path, resume) == (5, 2, Path("runs/r"), False)
    assert "mage eval runs/r" in capsys.readouterr().out
    assert cli.main(["train", "--resume", "runs/r", "--json"]) == 0
    assert calls[1] == (recipe, Path("runs/r"), True)
    assert capsys.readouterr().out == ""


def test_an_interrupt_ends_with_130_and_says_how_to_go_on(run, lend, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    lend("mage.run.train", train=stop)
    assert cli.main(["train", "--resume", str(run.path)]) == 130
    assert f"go on with: mage train --resume {run.path}" in capsys.readouterr().err


def test_a_run_that_is_refused_leaves_no_folder(tmp_path, monkeypatch, lend, capsys):
    def refuse(recipe, folder, *, resume, progress):
        if recipe.seed:
            folder.append_metrics({"iteration": 1})
        raise RunError("no such model")

    lend("mage.run.train", train=refuse)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.toml").write_text('name = "r"\n')
    assert cli.main(["train", "r.toml"]) == 2
    assert "no such model" in capsys.readouterr().err
    assert list((tmp_path / "runs").iterdir()) == []
    assert cli.main(["train", "r.toml", "seed=1"]) == 2
    assert (tmp_path / "runs" / "r" / "metrics.jsonl").exists()


def test_eval_shows_the_table_and_keeps_the_result(run, lend, capsys):
    asked = {}

    class Result:
        def as_dict(self):
            return RESULT

    def evaluate(target, **options):
        asked.update(options, target=target)
        return Result()

    lend("mage.run.evaluate", evaluate=evaluate)
    assert cli.main(["eval", str(run.path), "--sampled", "--against", "aggressive", "--trials", "9"]) == 0
    assert asked == {
        "target": run.path,
        "recipe": None,
        "opponents": ["aggressive"],
        "held_out": False,
        "exact": False,
        "temperature": None,
        "trials": 9,
        "shuffle_remarks": False,
        "memory": None,
        "actor": "model",
        "seed": None,
    }
    shown = capsys.readouterr().out
    assert "0.242 ± 0.042" in shown
    assert "60%/0%/40%" in shown
    assert "0.2037" in shown
    assert "0.2778" in shown
    assert "not exact: the opponent random:x=[1] cannot be enumerated" in shown
    assert run.evals() == {"aggressive-sampled-trials_9": RESULT}
    assert cli.main(["eval", str(run.path), "--trials", "1"]) == 2
    assert "--trials" in capsys.readouterr().err
    assert cli.main(["eval", str(run.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == RESULT
    assert "default" in run.evals()
    assert cli.main(["eval", str(run.path.parent)]) == 2
    assert "for a model's folder give --recipe too" in capsys.readouterr().err
    shutil.rmtree(run.eval_path)
    run.eval_path.write_text("in the way")
    assert cli.main(["eval", str(run.path), "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out) == RESULT
    assert "cannot be written" in shown.err


def test_report_says_where_it_is(run, capsys):
    assert cli.main(["report", str(run.path)]) == 0
    assert capsys.readouterr().out == f"{run.report_path.resolve()}\n"
    assert run.report_path.read_text().startswith("<!doctype html>")


def test_exact_limits_of_kuhn_poker(capsys):
    pool = "conservative,aggressive,intermediate"
    assert cli.main(["limit", "kuhn_poker", "--pool", pool, "--episodes", "3", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    found = [values["non_adaptive"], values["adaptive"], values["known"], values["adaptive_by_episodes"][1]]
    assert found == pytest.approx([0.1111, 0.2423, 0.2778, 0.2037], abs=5e-5)
    assert cli.main(["limit", "kuhn_poker", "--pool", pool, "--weights", "1,1,2", "--episodes", "2"]) == 0
    assert "adaptive optimum, 2 episodes" in capsys.readouterr().out


def test_play_reads_moves_from_the_terminal(monkeypatch, capsys):
    moves = iter(["pass", "nonsense", "pass"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(moves))
    arguments = ["play", "kuhn_poker", "--against", "aggressive", "--seat", "0", "--episodes", "1", "--seed", "3"]
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "against aggressive: 1 episode, seed 3" in shown
    assert "'nonsense' is not one of the legal moves" in shown
    assert shown.endswith("1 episode played, -1 in all\n")


@pytest.mark.parametrize("what", ["recipes", "games", "opponents"])
def test_listings_agree_with_their_json(what, capsys):
    assert cli.main(["ls", what, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert cli.main(["ls", what]) == 0
    shown = capsys.readouterr().out
    assert all(row["name"] in shown for row in rows)


def test_methods_are_listed(lend, capsys):
    method = type(
        "Method",
        (),
        {"name": "mage", "kind": "training", "paper": "2603.03680", "summary": "[b]adapts[/b]", "defaults": {}},
    )
    lend("mage.methods", methods=lambda: [method])
    assert cli.main(["ls", "methods"]) == 0
    assert "[b]adapts[/b]" in capsys.readouterr().out


def test_shipped_recipes_are_found_by_name():
    assert set(shipped_recipes()) == {path.stem for path in (ROOT / "recipes").glob("*.toml")}


def test_doctor_status_tells_of_problems(monkeypatch, capsys):
    from mage.run import doctor

    bad = doctor.Check("torch", "problem", "[broken]", "pip install torch")
    monkeypatch.setattr(doctor, "examine", lambda: [bad])
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "[broken]" in shown
    assert "mend: pip install torch" in shown
    assert cli.main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["mend"] == "pip install torch"


def test_a_closed_pipe_is_quiet():
    command = f'{sys.executable} -c \'from mage.cli import main; import sys; sys.exit(main(["ls", "games"]))\' | true'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_errors_of_the_library_are_the_only_ones_caught(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(train_module, "train_command", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["train", "kuhn"])


@pytest.mark.parametrize("command", ["ls games", "ls games --json"])
@pytest.mark.parametrize(("stream", "status", "said"), [(">&-", 0, ""), (">/dev/full", 2, "No space left on device")])
def test_output_that_goes_nowhere_is_no_fault_of_the_program(command, stream, status, said):
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m mage {command} {stream}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (status, True, False)


def test_one_interrupt_ends_a_game_in_the_terminal():
    command = [sys.executable, "-m", "mage", "play", "kuhn_poker", "--against", "random", "--seed", "1"]
    played = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=0)
    shown = ""
    while "your move" not in shown:
        shown += played.stdout.read(1)
    time.sleep(0.2)  # the prompt is written just before the line is read
    played.send_signal(signal.SIGINT)
    assert played.wait(timeout=20) == 130
    played.stdin.close()
    played.stdout.close()


def test_a_folder_does_not_hide_the_shipped_recipe_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kuhn").mkdir()
    assert load_recipe("kuhn").name == "kuhn"


def test_results_of_different_measurements_have_different_names(tmp_path):
    for path in ("default.toml", "held_out.toml", "kuhn.toml", "a/kuhn.toml"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    names = [
        eval_name({}),
        eval_name({"held_out": True}),
        eval_name({"actor": "random"}),
        eval_name({}, "kuhn"),
        *(
            eval_name({}, str(tmp_path / path))
            for path in ("default.toml", "held_out.toml", "kuhn.toml", "a/kuhn.toml")
        ),
        *(eval_name({"opponents": [name]}) for name in ("random", "mcts:uct=1e-5", "mcts:uct=1e+5")),
    ]
    assert names[:4] == ["default", "held_out", "actor_random", "recipe_kuhn"]
    assert names[8] == "random"
    assert all(name.isascii() and name.replace("_", "").isalnum() for name in names)
    assert len(set(names)) == len(names)


def test_a_run_that_was_taken_up_by_another_process_is_left_to_it(tmp_path, lend, capsys):
    """Somebody resumes a run between its making and its lock."""
    (tmp_path / "r.toml").write_text('name = "r"\n')

    def train(recipe, folder, *, resume, progress):
        held.enter_context(RunFolder.open(folder.path).lock())
        with folder.lock():
            pass

    lend("mage.run.train", train=train)
    with contextlib.ExitStack() as held:
        assert cli.main(["train", str(tmp_path / "r.toml"), "--run", str(tmp_path / "run")]) == 2
        assert "is in use by process" in capsys.readouterr().err
        assert RunFolder.is_run(tmp_path / "run")


def test_paths_to_copy_are_quoted(tmp_path, lend, capsys):
    lend("mage.run.train", train=lambda recipe, folder, *, resume, progress: None)
    (tmp_path / "r.toml").write_text('name = "r"\n')
    run = tmp_path / "two words"
    assert cli.main(["train", str(tmp_path / "r.toml"), "--run", str(run)]) == 0
    assert f"next: mage eval '{run}' && mage report '{run}'\n" in capsys.readouterr().out

    def stop(*_, **__):
        raise KeyboardInterrupt

    lend("mage.run.train", train=stop)
    assert cli.main(["train", "--resume", str(run)]) == 130
    assert f"go on with: mage train --resume '{run}'\n" in capsys.readouterr().err


def test_long_names_of_results_are_cut_and_stay_apart():
    long = [eval_name({"opponents": [*["aggressive"] * 40, last]}) for last in ("random", "cfr")]
    assert len(set(long)) == 2
    assert all(len(name) < 200 for name in long)


def test_weights_of_any_size(capsys):
    values = []
    for weights in ("1,3", "5e307,1.5e308", "1e-300,3e-300"):
        arguments = ["limit", "kuhn_poker", "--pool", "random,conservative", "--weights", weights, "--json"]
        assert cli.main(arguments) == 0
        values.append(json.loads(capsys.readouterr().out)["adaptive"])
    assert values == pytest.approx([values[0]] * 3)


def test_a_terminated_run_says_how_to_go_on(tmp_path):
    small = ["loop.groups=6", "loop.group_size=2", "optim.minibatches=1", "engine.warmup_steps=5", "engine.hidden=32"]
    run = tmp_path / "run"
    command = [sys.executable, "-m", "mage", "train", "kuhn", *small, "loop.iterations=100000", "--run", str(run)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (run / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    child.terminate()
    _, said = child.communicate(timeout=20)
    assert child.returncode == 143
    assert said.splitlines()[-1] == f"stopped; go on with: mage train --resume {run}"


def test_a_run_that_plays_another_game_is_warned_of(run, lend, capsys, caplog):
    lend("mage.run.evaluate", evaluate=lambda *_, **__: SimpleNamespace(as_dict=lambda: RESULT))
    for recipe, warned in (("kuhn_replay", False), ("tictactoe", True)):
        caplog.clear()
        assert cli.main(["eval", str(run.path), "--recipe", recipe]) == 0
        assert ("was trained on kuhn_poker and plays tic_tac_toe" in caplog.text) == warned


SLOW_TO_STOP = """
import asyncio, signal, sys, time
from mage import cli
from mage.commands import train

def command(*arguments, **options):
    async def wait():
        try:
            sys.stdout.write("ready\\n")
            sys.stdout.flush()
            await asyncio.sleep(30)
        finally:
            time.sleep(0.6)
            sys.stdout.write("saved\\n")
    asyncio.run(wait())

if "background" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
train.train_command = command
sys.argv[1:] = ["train", "kuhn"]
sys.exit(cli.main())
"""


def stop_with(numbers, *arguments):
    command = [sys.executable, "-c", SLOW_TO_STOP, *arguments]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    for number in numbers:
        running.send_signal(number)
        time.sleep(0.05)
    said, complaints = running.communicate(timeout=20)
    return running.returncode, said, complaints


def test_signals_after_sigterm_disturb_nothing():
    numbers = [signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT]
    assert stop_with(numbers) == (143, "saved\n", "")


def test_a_burst_of_signals_leaves_no_traceback():
    status, _, complaints = stop_with([signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGINT])
    assert (status, complaints) == (143, "")


def test_sigterm_stops_a_background_job_that_ignores_interrupts():
    assert stop_with([signal.SIGTERM], "background")[0] == 143


@pytest.mark.parametrize("episodes", [2, 10])
@pytest.mark.parametrize("width", [60, 80, 120, 10_000])
def test_no_number_of_an_evaluation_is_cut(width, episodes):
    wide = {key: (PAYOFF[key] * 5)[:episodes] for key in ("payoff", "interval", "won", "drawn", "lost")}
    name = "rps_bots:LEANING:throws=scissors,share=0.8"
    limits = RESULT["limits"] | {"adaptive_by_episodes": [0.2037] * episodes}
    row = PAYOFF | wide
    result = RESULT | {"episodes": episodes, "opponents": {name: row}, "pooled": row, "limits": limits}
    console = Console(width=width, record=True, file=io.StringIO())
    for table in eval_tables(result, width):
        console.print(table)
    shown = console.export_text()
    assert "…" not in shown
    assert shown.count("0.242 ± 0.042") == episodes  # of the opponent and of all, every other episode
    assert shown.count("0.2037") == episodes
    assert ("432" in shown) == (width >= (80 if episodes == 2 else 1000))
    assert all(f"episode {number + 1}" in shown for number in range(episodes))
    assert max(map(len, shown.splitlines())) <= width


def test_an_evaluation_that_is_read_by_a_program_is_as_wide_as_it_needs(capsys):
    show_eval(RESULT | {"opponents": {"x" * 300: PAYOFF}})
    shown = capsys.readouterr().out
    assert "x" * 300 in shown
    assert "exact values are those of an agent that knows this pool" in shown


def test_output_that_knows_few_letters_is_no_error():
    code = "import sys; from mage import cli; from mage.commands import evaluate as e; e.show_eval({}); sys.exit(0)"
    code = code.format(RESULT).replace("from mage import cli;", "from mage import cli; cli.main(['--version']);")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.242 ? 0.042" in done.stdout
