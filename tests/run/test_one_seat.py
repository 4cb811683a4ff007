"""A game of one seat from training to the report: nobody is met, and nothing is told of nobody."""

import io
import json

import pytest
from rich.console import Console
from small import small

from mage import cli
from mage.commands.compare import comparison_table
from mage.commands.evaluate import show_eval
from mage.errors import GameError, MageError, RecipeError
from mage.play.collect import Collected
from mage.run.arena import make_arena
from mage.run.base_model import tiny_base
from mage.run.compared import summarise
from mage.run.evaluate import evaluate
from mage.run.folder import RunFolder
from mage.run.metrics import trial_metrics
from mage.run.progress import Silent
from mage.run.train import train
from mage.run.trial_file import TrialFile
from mage.show.charts import adaptation_figure
from mage.show.live import payoff_table
from mage.show.report import write_report

LOCK = {
    "game": {"name": "combination_lock: symbols=2 ,depth=1"},
    "trial": {"restart": "replay", "episodes": 2, "memory": "history"},
    "population": {"train": [{"name": "random"}], "held_out": []},
    "engine": {"warmup_steps": 20},
}
NOBODY = "combination_lock:depth=1,symbols=2 has one seat: there is nobody to meet"


def lock(**changes):
    method = {key: changes.pop(key) for key in ("method",) if key in changes}
    return small(**method, **{key: {**LOCK.get(key, {}), **changes.get(key, {})} for key in {**LOCK, **changes}})


@pytest.fixture(scope="module")
def run(cache, tmp_path_factory):
    folder = RunFolder.create(lock(), tmp_path_factory.mktemp("runs") / "lock")
    train(folder.recipe, folder, progress=Silent())
    return folder


def table(result):
    with pytest.MonkeyPatch.context() as patch:
        out = io.StringIO()
        patch.setattr("mage.commands.evaluate.wide_console", lambda: Console(file=out, width=100))
        show_eval(result)
    return out.getvalue()


def test_whom_the_arena_has():
    arena = make_arena(lock())
    assert (arena.population.names, arena.population.shares, arena.held_out) == (("",), (1,), None)
    assert (arena.opponents, arena.seats) == ({"": None}, (0,))


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"population": {"train": [{"name": "mcts"}]}}, RecipeError, f"population.train: {NOBODY}"),
        ({"population": {"train": [{"name": "random", "share": 2.0}]}}, RecipeError, f"population.train: {NOBODY}"),
        ({"population": {"held_out": [{"name": "cfr"}]}}, RecipeError, f"population.held_out: {NOBODY}"),
        ({"trial": {"restart": "redeal"}}, GameError, "trial.restart = 'redeal': combination_lock"),
        ({"trial": {"seats": 1}}, GameError, "trial.seats = 1: combination_lock:depth=1,symbols=2 has seats 0 to 0"),
    ],
)
def test_what_does_not_fit_one_seat(changes, kind, words):
    with pytest.raises(kind, match=words):
        make_arena(lock(**changes))


def test_it_is_trained(run):
    rows = run.metrics()
    assert len(rows) == 4
    for row in rows:
        assert row["payoff_by_opponent"] == row["payoff_sem_by_opponent"] == row["trials_by_opponent"] == {}
        assert None not in row["payoff"] + row["payoff_sem"]
    trials = TrialFile(run.newest_trials()).read()
    assert {(turn["opponent"], turn["seat"]) for turns in trials for turn in turns} == {("", 0)}


def test_metrics_are_of_all_trials(run):
    assert trial_metrics(Collected((), ()), 2)["payoff_by_opponent"] == {}
    rewards = [turns[0]["reward"] for turns in TrialFile(run.newest_trials()).read()]
    assert run.metrics()[-1]["payoff"][0] == pytest.approx(sum(rewards) / len(rewards))


def test_it_is_evaluated_exactly_and_by_samples(run):
    exact = evaluate(run.path).as_dict()
    assert (exact["kind"], exact["opponents"], exact["limits"], exact["units"]) == (
        "exact",
        {},
        None,
        "locks opened per episode",
    )
    assert exact["pooled"]["trials"] == 1  # a greedy agent before one code
    assert all(value in (0, 1) for value in exact["pooled"]["payoff"])
    sampled = evaluate(run.path, exact=False, trials=6).as_dict()
    assert (sampled["kind"], sampled["pooled"]["trials"]) == ("sampled", 6)
    assert sampled["pooled"]["payoff"] == exact["pooled"]["payoff"]
    shown = table(exact)
    assert "all trials" in shown
    assert "opponent" not in shown


def test_codes_that_are_dealt_are_all_enumerated(run):
    """A greedy agent that is told nothing opens one of two locks; under replay there are two deals, one a code."""
    dealt = lock(game={"name": "combination_lock:code=dealt,depth=1,symbols=2"}, trial={"memory": "none"})
    result = evaluate(tiny_base(dealt), recipe=dealt).as_dict()
    assert (result["kind"], result["pooled"]["trials"], result["pooled"]["payoff"]) == ("exact", 2, (0.5, 0.5))


def test_random_play_opens_it_by_chance():
    large = lock(game={"name": "combination_lock:depth=2,symbols=3"}, eval={"trials": 3000})
    pooled = evaluate(".", recipe=large, actor="random").as_dict()["pooled"]
    assert pooled["payoff"] == pytest.approx((1 / 9, 1 / 9), abs=5 * (1 / 9 * 8 / 9 / 3000) ** 0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"opponents": ["random"]}, f"--against random: {NOBODY}"),
        ({"held_out": True}, f"--held-out: {NOBODY}"),
    ],
)
def test_nobody_can_be_asked_for(options, words, run):
    with pytest.raises(MageError, match=words):
        evaluate(run.path, **options)


def test_the_report_reads_well(run, tmp_path):
    run.write_eval("default", evaluate(run.path).as_dict())
    page = write_report(run).read_text()
    body = page[: page.index("<h2>Recipe</h2>")]
    assert "all trials" in body
    assert 'name="opponent"' not in body
    assert ">opponent<" not in body
    assert ", seat 0" not in body
    assert "<td>combination_lock:depth=1,symbols=2</td>" in page
    assert "payoff of episode 2" in body
    adaptation_figure(list(run.evals().values()))


def test_the_live_display_has_one_line(run):
    console = Console(file=io.StringIO(), width=80)
    console.print(payoff_table(run.metrics()[-1], 80))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[1].split()[:2] == ["all", "trials"]


def test_methods_are_compared(run):
    recipes = [lock(), lock(method="grpo")]
    found = evaluate(run.path).as_dict()
    spent = {"training_tokens": 9, "training_seconds": 1.0}
    results = [{**found, "method": recipe.method, "run": recipe.method, **spent} for recipe in recipes]
    rows = summarise(recipes, results)
    assert [row.mean for row in rows] == [tuple(found["pooled"]["payoff"])] * 2
    console = Console(file=io.StringIO(), width=160)
    console.print(comparison_table(rows, results[0]))
    lines = console.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["mage", "grpo"]


def test_spellings_are_one_game(run, cache):
    other = lock(game={"name": "combination_lock:depth=1,symbols=2,code=fixed"})
    assert RunFolder.open(run.path, other).recipe.game.name == "combination_lock:depth=1,symbols=2"
    folder = tiny_base(other)
    assert folder == tiny_base(lock())
    assert folder.name.rpartition("-")[0] == "combination_lock_depth_1_symbols_2"
    unknown = RunFolder.create(lock(game={"name": "combination_lock:dials=3"}), run.path.parent / "unknown")
    assert unknown.recipe.game.name == "combination_lock:dials=3"  # refused, in words, by whoever plays it


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["limit", "combination_lock"], "combination_lock has one seat: there is nobody to meet"),
        (["limit", "combination_lock", "--pool", "random"], "combination_lock has one seat: there is nobody to meet"),
        (["limit", "kuhn_poker"], "--pool: who may be met?"),
        (["play", "combination_lock", "--against", "random"], "--against random: combination_lock has one seat"),
        (["play", "combination_lock", "--seat", "1"], "--seat 1"),
        (["play", "kuhn_poker"], "--against: whom?"),
        (["eval", "RUN", "--against", "random"], f"--against random: {NOBODY}"),
        (["train", "kuhn", "game.name=combination_lock", "trial.restart=replay", "--run", "TMP"], "population.train"),
    ],
)
def test_commands_say_that_nobody_is_there(arguments, words, run, tmp_path, capsys):
    places = {"RUN": str(run.path), "TMP": str(tmp_path / "run")}
    assert cli.main([places.get(argument, argument) for argument in arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_person_plays_alone(monkeypatch, capsys):
    moves = iter(["z", "a", "a"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(moves))
    arguments = ["play", "combination_lock:depth=1,symbols=2", "--episodes", "2", "--seed", "3"]
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "You play alone: 2 episodes, seed 3." in shown
    assert "'z' is not one of the legal moves" in shown
    assert "You are at dial 1 of 1." in shown
    assert "2 episodes played" in shown


def test_games_are_listed_with_their_parameters(capsys):
    assert cli.main(["ls", "games", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["combination_lock"]["seats"] == 1
    assert rows["combination_lock"]["parameters"][0] == "depth=6: dials; an integer in 1..20"
    assert rows["kuhn_poker"]["parameters"] == []
