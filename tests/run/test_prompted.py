"""Prompting methods measured end to end on the tiny base: nothing is trained, everything else is the same."""

from __future__ import annotations

import pytest
from small import Notes, StopAfter, Stopped, fingerprint, small

from mage import cli
from mage.errors import RecipeError, RunError
from mage.recall.embed import HashedNgrams
from mage.recall.store import Entry, Store
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


def test_a_memory_that_grows_is_not_enumerated_and_grows_on_in_its_file(tmp_path):
    path = tmp_path / "cases.sqlite"
    recipe = small(method="memento", recall={"scope": "game", "limit": 4, "path": str(path)})
    result = evaluate(starting_model(recipe), recipe=recipe, trials=20)
    assert (result.kind, result.why_not_exact) == ("sampled", "memory 'memento' grows from trial to trial")
    assert result.pooled.interval == (None, None, None)  # its trials depend on one another
    assert {scores.interval for scores in result.opponents.values()} == {(None, None, None)}
    first = cases(path).digest()
    evaluate(starting_model(recipe), recipe=recipe, trials=20, seed=7)
    assert cases(path).digest() != first
    before = path.read_bytes()
    evaluate(starting_model(recipe), recipe=recipe, trials=2, actor="random")
    evaluate(starting_model(recipe), recipe=recipe, trials=2, memory="none")
    assert path.read_bytes() == before


def test_a_trained_agent_is_measured_without_a_word_in_the_file(tmp_path):
    path = tmp_path / "cases.sqlite"
    recall = {"scope": "game", "path": str(path)}
    recipe = small(trial={"memory": "memento"}, recall=recall, loop={"iterations": 1}, engine={"warmup_steps": 7})
    run = RunFolder.create(recipe, tmp_path / "run")
    run_model = starting_model(recipe)
    assert not path.exists()  # warming up is no past
    train(recipe, run, progress=Silent())
    kept = path.read_bytes()
    assert cases(path).count() > 0
    evaluate(run.path, trials=2)
    evaluate(run_model, recipe=recipe, trials=2)
    assert path.read_bytes() == kept


def test_a_run_that_begins_again_begins_with_the_same_memory(tmp_path):
    """Other runs may write into the file meanwhile; and one that is stopped has written nothing."""
    path, changed = tmp_path / "cases.sqlite", tmp_path / "changed.sqlite"
    recall = {"scope": "game", "limit": 8, "count": 2, "path": str(path)}
    recipe = small(trial={"memory": "memento"}, recall=recall, loop={"iterations": 2, "checkpoint_every": 2})
    fill(path, "K first", 1.0)
    fill(changed, "J second bet", -1.0)
    begun = path.read_bytes()
    whole, broken = (RunFolder.create(recipe, tmp_path / name) for name in ("whole", "broken"))
    with pytest.raises(Stopped):
        train(recipe, broken, progress=StopAfter(1))
    assert path.read_bytes() == begun
    train(recipe, whole, progress=Silent())
    after = path.read_bytes()
    path.write_bytes(changed.read_bytes())
    train(recipe, broken, resume=True, progress=Silent())
    assert fingerprint(broken.path) == fingerprint(whole.path)
    assert path.read_bytes() == changed.read_bytes()  # of somebody else, and kept
    assert (tmp_path / "cases-2.sqlite").read_bytes() == after


def cases(path=None):
    store = Store(made={"memory": "memento", "embedder": "hashed-512"})
    if path:
        store.load(path)
    return store


def fill(path, view, score):
    store, (key,) = cases(), HashedNgrams().embed([view])
    store.add("all", Entry(f"{view} > bet : +1", score), key)
    store.save(path)


def test_a_person_plays_against_a_model_as_it_is(tmp_path, monkeypatch, capsys):
    run = RunFolder.create(small(method="memento"), tmp_path / "run")
    monkeypatch.setattr("mage.commands.play._read", lambda prompt: "q")
    assert cli.main(["play", "kuhn_poker", "--against", str(run.path), "--seat", "0"]) == 0
    assert f"against the agent of {run.path}" in capsys.readouterr().out


def test_what_an_evaluation_without_intervals_says(tmp_path, capsys):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'method = "memento"\n[recall]\nscope = "game"\n[population]\ntrain = [{ name = "conservative" }]\n'
        "[engine]\nhidden = 32\nlayers = 1\nwarmup_steps = 200\nthreads = 1\n"
    )
    model = starting_model(small(method="memento", recall={"scope": "game"}))
    assert cli.main(["eval", str(model), "--recipe", str(recipe), "--trials", "2"]) == 0
    out = capsys.readouterr().out
    assert "sampled, without intervals: trials depend on one another through the memory" in " ".join(out.split())
    assert "±" not in out


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
    assert cases(broken.latest_checkpoint().path / "memory.sqlite").count() == 8


def test_they_are_compared_with_trained_ones(tmp_path):
    recipes = [small(method=method, loop={"iterations": 1}) for method in ("mage", "reflexion")]
    results = compare(recipes, tmp_path)
    assert [(row["method"], row["iteration"]) for row in results] == [("mage", 1), ("reflexion", 0)]
    assert results[1]["training_tokens"] == 0
    assert compare(recipes, tmp_path) == results
