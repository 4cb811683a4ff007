"""Prompting methods measured end to end on the tiny base: nothing is trained, everything else is the same."""

from __future__ import annotations

import pytest
from small import Notes, StopAfter, Stopped, fingerprint, small

from mage.errors import RecipeError, RunError
from mage.recall.store import Store
from mage.run.base_model import starting_model
from mage.run.compare import compare
from mage.run.evaluate import evaluate
from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.run.train import train


@pytest.mark.parametrize("method", ["react", "reflexion", "a-mem", "memento"])
def test_a_model_is_measured_as_it_is(method):
    recipe = small(method=method)
    result = evaluate(starting_model(recipe), recipe=recipe, exact=False, trials=6)
    assert result.pooled.trials == 18
    assert result.pooled.invalid_share < 0.5
    assert evaluate(starting_model(recipe), recipe=recipe, exact=False, trials=6).pooled == result.pooled


def test_trials_that_are_enumerated_do_not_see_one_another():
    recipe = small(method="memento")
    exact = evaluate(starting_model(recipe), recipe=recipe)
    assert exact.kind == "exact"
    assert evaluate(starting_model(recipe), recipe=recipe).pooled == exact.pooled


def test_a_memory_that_grows_is_not_enumerated(tmp_path):
    recipe = small(method="memento", recall={"scope": "game", "path": str(tmp_path / "cases.sqlite")})
    result = evaluate(starting_model(recipe), recipe=recipe, trials=20)
    assert (result.kind, result.why_not_exact) == ("sampled", "memory 'memento' grows from trial to trial")
    assert (tmp_path / "cases.sqlite").stat().st_size > 0


def test_there_is_nothing_to_train(tmp_path):
    recipe = small(method="reflexion")
    with pytest.raises(RunError, match="method = 'reflexion' prompts a model and trains nothing"):
        train(recipe, RunFolder.create(recipe, tmp_path / "run"), progress=Silent())


def test_an_advantage_that_is_none_is_refused_before_anything_starts(tmp_path):
    recipe = small(credit={"advantage": "math:pi"})
    folder = RunFolder.create(recipe, tmp_path / "run")
    notes = Notes()
    with pytest.raises(RecipeError, match="expected a function"):
        train(recipe, folder, progress=notes)
    assert not notes.notes


def test_a_memory_that_grows_is_resumed_as_it_was(tmp_path):
    """With little room the store turns over in every iteration: a resumed run with another one would differ."""
    recall = {"scope": "game", "limit": 8, "count": 2}
    recipe = small(trial={"memory": "memento"}, recall=recall, loop={"iterations": 3, "checkpoint_every": 1})
    whole = RunFolder.create(recipe, tmp_path / "whole")
    train(recipe, whole, progress=Silent())
    broken = RunFolder.create(recipe, tmp_path / "broken")
    with pytest.raises(Stopped):
        train(recipe, broken, progress=StopAfter(2))
    train(recipe, broken, resume=True, progress=Silent())
    assert fingerprint(broken.path) == fingerprint(whole.path)
    assert Store(broken.latest_checkpoint().path / "memory.sqlite").count() == 8


def test_they_are_compared_with_trained_ones(tmp_path):
    recipes = [small(method=method, loop={"iterations": 1}) for method in ("mage", "reflexion")]
    results = compare(recipes, tmp_path)
    assert [(row["method"], row["iteration"]) for row in results] == [("mage", 1), ("reflexion", 0)]
    assert results[1]["training_tokens"] == 0
    assert compare(recipes, tmp_path) == results
