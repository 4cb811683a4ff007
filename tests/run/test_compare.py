import io
import json
import os
import sys

import pytest
from small import small

from mage import cli
from mage.commands.compare import show_comparison
from mage.commands.recipes import recipe_path
from mage.errors import RecipeError, RunError
from mage.recipe_file import read_recipe
from mage.run.compare import compare, contenders, run_name
from mage.run.compared import summarise
from mage.run.folder import RunFolder, locked


def results_of(recipes, *payoffs, tokens=(10, 10, 10, 10), kind="exact", **pooled):
    """A row for each recipe, as `compare` gives them."""
    return [
        {
            "method": recipe.method,
            "run": run_name(recipe),
            "kind": kind,
            "units": "chips",
            "pooled": {"payoff": payoff, **{key: values[number] for key, values in pooled.items()}},
            "training_tokens": spent,
            "training_seconds": 1.0,
        }
        for number, (recipe, payoff, spent) in enumerate(zip(recipes, payoffs, tokens, strict=False))
    ]


def test_each_method_keeps_its_own_settings_and_all_share_the_rest():
    methods, seeds = ["mage", "grpo"], [3, 1]
    recipes = contenders(recipe_path("kuhn_history"), ["loop.groups=32"], methods, seeds)
    assert [(recipe.method, recipe.seed) for recipe in recipes] == [("mage", 3), ("mage", 1), ("grpo", 3), ("grpo", 1)]
    mage, _, grpo, _ = recipes
    # what kuhn_history says of memory and baseline is of its own method: the other has its own
    assert (mage.trial.memory, mage.credit.returns) == ("history", "differential")
    assert (grpo.trial.memory, grpo.credit.returns, grpo.credit.std) == ("none", "episode", True)
    assert mage.credit == read_recipe(recipe_path("kuhn_history")).credit
    assert grpo.credit.baseline == ("group", "opponent", "episode")
    for recipe in recipes:
        assert (recipe.optim.kl, recipe.loop.groups, recipe.population) == ("full", 32, mage.population)


def test_how_one_method_divides_and_weighs_does_not_reach_into_another(tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'method = "grpo"\n[population]\ntrain = [{ name = "random" }]\n'
        "[credit]\nstd = true\nstep_weight = 3.0\ntrial_weight = 3.0\ngae_lambda = 0.1\n"
    )
    own = {"mage": False, "lamer": False, "gigpo": False, "rloo": False, "reinforce": False, "grpo": True, "ppo": True}
    for one in contenders(recipe, [], list(own), [0]):
        assert one.credit.std == own[one.method]
        if one.credit.advantage == "gigpo":
            assert (one.credit.step_weight, one.credit.trial_weight) == (1.0, 1.0)
        if one.method == "ppo":
            assert one.credit.gae_lambda == 0.95
    assert contenders(recipe, ["credit.std=true"], ["rloo"], [0])[0].credit.std


def test_overrides_are_of_all_methods():
    recipes = contenders(recipe_path("kuhn"), ["trial.memory=history"], ["mage", "rloo"], [0])
    assert [recipe.trial.memory for recipe in recipes] == ["history", "history"]


@pytest.mark.parametrize(
    ("methods", "seeds", "words"),
    [
        (["mage", "mage"], [0], "--methods: 'mage' is named twice"),
        (["mage"], [1, 2, 1], "--seeds: 1 is named twice"),
        (["mage"], [], "--seeds: expected at least one"),
        (["mage", "grop"], [0], "did you mean 'grpo'?"),
    ],
)
def test_what_cannot_be_compared(methods, seeds, words):
    with pytest.raises(RecipeError) as error:
        contenders(recipe_path("kuhn"), [], methods, seeds)
    assert words in str(error.value)


def test_differences_are_paired_by_seed():
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "grpo"], [0, 1])
    results = results_of(recipes, [0.1, 0.3], [0.2, 0.5], [0.1, 0.1], [0.1, 0.3], tokens=(10, 20, 30, 30))
    mage, grpo = summarise(recipes, results)
    assert mage.mean == pytest.approx((0.15, 0.4))
    assert (mage.difference, mage.improvement, mage.tokens) == (None, None, 15)
    assert grpo.difference == pytest.approx(-0.2)  # of both seeds, though each alone varies by 0.2
    assert grpo.difference_interval == pytest.approx((-0.2, -0.2))
    assert grpo.improvement == 0.125  # of four pairs none is better and 0.3 = 0.3 counts half


def test_one_seed_has_no_interval():
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "grpo"], [0])
    rows = summarise(recipes, results_of(recipes, [0.1], [0.2]))
    assert [row.interval for row in rows] == [None, None]
    assert rows[1].difference_interval is None


def test_runs_are_trained_and_evaluated_once_and_failures_named(tmp_path):
    recipes = [small(method=method, loop={"iterations": 1}) for method in ("mage", "grpo")]
    first = compare(recipes, tmp_path, parallel=1)
    assert [row["method"] for row in first] == ["mage", "grpo"]
    assert all(row["training_tokens"] > 0 for row in first)
    notes = []
    assert compare(recipes, tmp_path, note=notes.append) == first
    assert not any("training" in note for note in notes)
    (tmp_path / run_name(recipes[1]) / "recipe.json").write_text("{}")
    good, failed = compare(recipes, tmp_path)
    assert good == first[0]
    assert isinstance(failed, RunError)
    assert "not the recipe of a run" in str(failed)


def test_a_method_is_the_same_in_any_company():
    path = recipe_path("kuhn")
    alone = contenders(path, [], ["mage"], [0])[0]
    assert contenders(path, [], ["mage", "grpo", "reinforce++"], [0])[0] == alone


def test_seeds_and_methods_are_no_settings():
    with pytest.raises(RecipeError, match="seed=7: methods and seeds of a comparison are those of"):
        contenders(recipe_path("kuhn"), ["seed=7"], ["mage"], [0])


def test_episodes_that_no_run_came_to():
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "grpo"], [0])
    mage, grpo = summarise(recipes, results_of(recipes, [0.1, None], [0.2, None]))
    assert mage.mean == (0.1, None)
    assert grpo.difference == pytest.approx(0.1)


def test_an_evaluation_of_an_unfinished_run_does_not_count(tmp_path):
    (recipe,) = [small(loop={"iterations": 2, "checkpoint_every": 1})]
    folder = RunFolder.create(recipe, tmp_path / run_name(recipe))
    early = {"actor": "model", "episodes": 3, "pooled": {"payoff": [9.0, 9.0, 9.0]}, "opponents": {}, "iteration": 1}
    folder.write_eval("default", early)
    (row,) = compare([recipe], tmp_path)
    assert row["iteration"] == 2
    assert row["pooled"]["payoff"] != [9.0, 9.0, 9.0]


def test_all_methods_are_compared_at_the_same_episode():
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "grpo"], [0])
    mage, grpo = summarise(recipes, results_of(recipes, [0.1, 0.9, None], [0.2, 0.3, 5.0]))
    assert grpo.difference == pytest.approx(0.3 - 0.9)
    assert (mage.mean, grpo.mean) == ((0.1, 0.9, None), (0.2, 0.3, 5.0))


def test_where_trials_stop_at_a_success_the_share_won_is_compared():
    recipes = contenders(recipe_path("kuhn"), ["trial.stop_at_success=true"], ["mage", "grpo"], [0])
    # grpo wins nearly always at once; the few that come to the last episode are lost
    results = results_of(recipes, [0.0, 1.0], [0.9, -1.0], pass_at_k=[[0.5, 0.7], [0.95, 0.96]], kind="sampled")
    mage, grpo = summarise(recipes, results)
    assert (mage.measure, mage.mean, grpo.mean) == ("pass_at_k", (0.5, 0.7), (0.95, 0.96))
    assert grpo.difference == pytest.approx(0.26)
    text = shown([mage, grpo], results)
    assert "won within so many episodes" in text
    assert "within 2" in text
    assert "share of trials; evaluated in sampled trials;" in text


def test_the_line_below_says_how_each_was_evaluated(capsys):
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "grpo"], [0])
    results = results_of(recipes, [0.1], [0.2])
    assert "chips; evaluated exactly;" in shown(summarise(recipes, results), results)
    results[1]["kind"] = "sampled"
    text = shown(summarise(recipes, results), results)
    assert "chips; mage evaluated exactly, grpo evaluated in sampled trials;" in text


def shown(rows, results):
    with pytest.MonkeyPatch.context() as patch:
        out = io.StringIO()
        patch.setattr(sys, "stdout", out)
        show_comparison(rows, results)
    return " ".join(out.getvalue().split())


def test_each_seed_has_its_own_evaluation_tasks_and_methods_share_them():
    recipes = contenders(recipe_path("kuhn"), ["eval.seed=100"], ["mage", "reflexion"], [0, 3])
    assert [recipe.eval.seed for recipe in recipes] == [100, 103, 100, 103]


@pytest.mark.parametrize(("kind", "runs"), [("exact", [0]), ("sampled", [0, 1, 2])])
def test_a_method_that_trains_nothing_has_one_run_where_it_is_exact(tmp_path, monkeypatch, kind, runs):
    played = []

    def run(recipe, parent, children, note):
        played.append((recipe.method, recipe.seed))
        (row,) = results_of([recipe], [0.1 * recipe.seed], kind=kind, tokens=(0,))
        return {**row, "seed": recipe.seed, "training_seconds": 0, "tokens": 70 + recipe.seed, "seconds": 2.0}

    monkeypatch.setattr("mage.run.compare._run", run)
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "reflexion"], [0, 1, 2])
    results = compare(recipes, tmp_path, parallel=1)
    assert played == [("mage", 0), ("mage", 1), ("mage", 2), *(("reflexion", seed) for seed in runs)]
    assert [row["seed"] for row in results] == [0, 1, 2, 0, 1, 2]
    mage, reflexion = summarise(recipes, results)
    assert (reflexion.interval is None) == (kind == "exact")
    assert reflexion.difference_interval is not None  # the seeds of the other differ
    assert (reflexion.tokens, reflexion.seconds) == (70 if kind == "exact" else 71, 2.0)
    assert mage.interval is not None


def test_stores_are_not_shared():
    recall = ["recall.scope=game", "recall.path=cases.sqlite"]
    with pytest.raises(RecipeError, match=r"recall\.path = 'cases\.sqlite': the runs of a comparison would share"):
        contenders(recipe_path("kuhn"), recall, ["memento", "a-mem"], [0])


def test_references_have_folders_of_their_own():
    recipe = contenders(recipe_path("kuhn"), [], ["reinforce++"], [0])[0]
    names = {run_name(recipe.model_copy(update={"method": method})) for method in ("a_b:c", "a:b_c", "a.b:c", "a_b_c")}
    assert len(names) == 4
    assert run_name(recipe) == "reinforce__-seed0"


def test_a_folder_in_use_is_left_alone(tmp_path):
    recipes = contenders(recipe_path("kuhn"), [], ["mage"], [0])
    log = tmp_path / "mage-seed0.log"
    log.write_text("of the other")
    with locked(tmp_path), pytest.raises(RunError, match=f"is in use by process {os.getpid()}: wait for it"):
        compare(recipes, tmp_path)
    assert log.read_text() == "of the other"


def test_what_a_killed_start_has_left_is_taken_up(tmp_path):
    (recipe,) = contenders(recipe_path("kuhn"), [], ["mage"], [0])
    for name in ("checkpoints", "trials"):
        (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / ".recipe.json.partial").write_text("{")
    assert RunFolder.create(recipe, tmp_path / "run").recipe == recipe
    (tmp_path / "other" / "trials").mkdir(parents=True)
    (tmp_path / "other" / "trials" / "mine.parquet").touch()
    with pytest.raises(RunError, match="is not empty"):
        RunFolder.create(recipe, tmp_path / "other")


def test_the_table_is_shown_for_those_that_did_not_fail(tmp_path, monkeypatch, capsys):
    def run(recipe, parent, children, note):
        if recipe.method == "grpo" or (recipe.method, recipe.seed) == ("rloo", 1):
            return RunError(f"{run_name(recipe)} broke")
        (row,) = results_of([recipe], [0.1])
        return {**row, "seed": recipe.seed, "episodes": 1, "pooled": {"payoff": [0.1], "interval": [[0.1, 0.1]]}}

    monkeypatch.setattr("mage.run.compare._run", run)
    command = ["compare", "kuhn", "--methods", "grpo,rloo,lamer,mage", "--seeds", "0,1", "--run", str(tmp_path)]
    assert cli.main(command) == 2
    out, error = capsys.readouterr()
    assert "− lamer" in out
    assert "rloo" not in out
    assert "3 of 8 runs failed: grpo-seed0 broke; grpo-seed1 broke; rloo-seed1 broke" in error
    assert [row["method"] for row in json.loads((tmp_path / "compare.json").read_text())["methods"]] == [
        "lamer",
        "mage",
    ]


def test_the_recipe_s_own_method_keeps_the_recipe_s_settings_of_it():
    own, other = contenders(recipe_path("lock"), [], ["sge", "grpo"], [0])
    assert (own.strategies.failure, own.actor.strategy_temperature) == (0.65, 1.5)
    assert (other.method, other.actor.kind, other.trial.memory) == ("grpo", "plain", "none")
