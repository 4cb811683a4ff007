import pytest
from small import small

from mage.commands.recipes import recipe_path
from mage.errors import RecipeError, RunError
from mage.run.compare import compare, contenders, run_name, summarise
from mage.run.folder import RunFolder


def result(payoff, tokens=10, seconds=1.0):
    return {"pooled": {"payoff": payoff}, "training_tokens": tokens, "training_seconds": seconds}


def test_each_method_keeps_its_own_settings_and_all_share_the_rest():
    methods, seeds = ["mage", "grpo"], [3, 1]
    recipes = contenders(recipe_path("kuhn_history"), ["loop.groups=32"], methods, seeds)
    assert [(recipe.method, recipe.seed) for recipe in recipes] == [("mage", 3), ("mage", 1), ("grpo", 3), ("grpo", 1)]
    mage, _, grpo, _ = recipes
    # kuhn_history says memory and baseline for itself: both methods have their own
    assert (mage.trial.memory, mage.credit.returns) == ("reflection", "differential")
    assert (grpo.trial.memory, grpo.credit.returns, grpo.credit.std) == ("none", "episode", True)
    assert (mage.credit.baseline, grpo.credit.baseline) == (("group", "opponent"), ("group", "opponent", "episode"))
    for recipe in recipes:
        assert (recipe.optim.kl, recipe.loop.groups, recipe.population) == ("full", 32, mage.population)


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
    results = [result([0.1, 0.3], 10), result([0.2, 0.5], 20), result([0.1, 0.1], 30), result([0.1, 0.3], 30)]
    mage, grpo = summarise(recipes, results)
    assert mage.mean == pytest.approx((0.15, 0.4))
    assert (mage.difference, mage.improvement, mage.tokens) == (None, None, 15)
    assert grpo.difference == pytest.approx(-0.2)  # of both seeds, though each alone varies by 0.2
    assert grpo.difference_interval == pytest.approx((-0.2, -0.2))
    assert grpo.improvement == 0.125  # of four pairs none is better and 0.3 = 0.3 counts half


def test_one_seed_has_no_interval():
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "grpo"], [0])
    rows = summarise(recipes, [result([0.1]), result([0.2])])
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
    with pytest.raises(RunError, match="not the recipe of a run"):
        compare(recipes, tmp_path)


def test_a_method_is_the_same_in_any_company():
    path = recipe_path("kuhn")
    alone = contenders(path, [], ["mage"], [0])[0]
    assert contenders(path, [], ["mage", "grpo", "reinforce++"], [0])[0] == alone


def test_seeds_and_methods_are_no_settings():
    with pytest.raises(RecipeError, match="seed=7: methods and seeds of a comparison are those of"):
        contenders(recipe_path("kuhn"), ["seed=7"], ["mage"], [0])


def test_episodes_that_no_run_came_to():
    recipes = contenders(recipe_path("kuhn"), [], ["mage", "grpo"], [0])
    mage, grpo = summarise(recipes, [result([0.1, None]), result([0.2, None])])
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
