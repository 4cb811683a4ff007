"""`mage peers`, as its function."""

import json

import pytest

from mage.commands.peers import peer_folders, peers_command
from mage.commands.tables import numbers
from mage.engine.local import LocalEngine
from mage.engine.tiny import tiny_model, tiny_tokenizer
from mage.errors import EngineError, MageError
from mage.recipe_file import parse_recipe
from mage.run.folder import RunFolder

ASKED = {
    "selectors": "linucb,random",
    "rounds": 12,
    "trial_rounds": None,
    "seeds": "0,1",
    "alpha": None,
    "ridge": None,
    "json": False,
}


def test_table(capsys):
    peers_command("delegation", **ASKED)
    printed = capsys.readouterr().out
    assert "delegation: two peers" in printed
    assert "÷ random" in printed
    assert "12 rounds, 7 of them the trial phase; 2 seeds" in printed


def test_json(capsys):
    peers_command("evidence", **{**ASKED, "json": True, "seeds": "3"})
    found = json.loads(capsys.readouterr().out)
    assert [row["selector"] for row in found["selectors"]] == ["linucb", "random"]
    assert found["selectors"][0]["regret_interval"] is None
    assert [len(run["cumulative"]) for run in found["runs"]] == [12, 12]
    assert (found["alpha"], found["ridge"], found["trial_rounds"]) == (4.0, 0.4, 7)
    assert (found["models"], found["selector_model"]) == ([], None)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a model of width 16 that says words of this game at random."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = tiny_tokenizer(["<answer>", "</answer>", "unknown", "<peer>", "</peer>", "peer", "1", "2"])
    network = tiny_model(
        len(tokenizer), hidden=16, layers=1, heads=2, architecture="llama", pad_token=tokenizer.pad_token_id, seed=0
    )
    LocalEngine(network, tokenizer).save_model(folder)
    return str(folder)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run folder of a method that trains nothing: its model is the tiny base."""
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path))
    engine = {"hidden": 16, "layers": 1, "heads": 2, "warmup_steps": 1}
    recipe = parse_recipe({"method": "react", "engine": engine, "game": {"name": "kuhn_poker"}}, "test")
    return str(RunFolder.create(recipe, tmp_path / "run").path)


def asked(capsys, setting, **change):
    peers_command(setting, **{**ASKED, "rounds": 2, "seeds": "0", "json": True, **change})
    return json.loads(capsys.readouterr().out)


def test_folders_of_models_are_peers(capsys, model, run):
    """A model folder and a run folder: two peers of unlike skills, and a model that chooses between them."""
    found = asked(capsys, "parametric", models=f"{model},{run}", selectors="linucb,in_context", selector_model=model)
    assert (found["models"], found["selector_model"]) == ([model, run], model)
    assert all(set(each["chosen"]) <= {0, 1} for each in found["runs"])
    assert [len(each["chosen"]) for each in found["runs"]] == [2, 2]


def test_one_model_is_many_peers_by_what_they_hold(capsys, model):
    found = asked(capsys, "evidence", models=model, peers=9, selectors="random", rounds=8)
    assert found["models"] == [model] * 9
    assert set(found["runs"][0]["chosen"]) <= set(range(9))
    assert max(found["runs"][0]["chosen"]) > 1
    assert found == asked(capsys, "evidence", models=model, peers=9, selectors="random", rounds=8)


def test_notes_that_do_not_fit_the_model(model):
    """Two peers hold all facts of eight kinds: more than the 512 tokens of the model."""
    with pytest.raises(EngineError, match=r"do not fit the model's context of 512"):
        peers_command("evidence", **{**ASKED, "models": model, "peers": 2})


@pytest.mark.parametrize(
    ("setting", "change", "message"),
    [
        ("evidense", {}, "did you mean 'evidence'"),
        ("evidence", {"selectors": "linucb,"}, "unknown selector ''"),
        ("evidence", {"seeds": "0,x"}, "--seeds '0,x': expected"),
        ("evidence", {"trial_rounds": 13}, "expected 0 to rounds = 12"),
        ("evidence", {"peers": 3}, "goes with --models FOLDER"),
        ("evidence", {"models": "a"}, "--models a: one peer leaves nothing to choose"),
        ("evidence", {"models": "a", "peers": 1}, "--models a --peers 1: one peer leaves nothing to choose"),
        ("parametric", {"models": "a", "peers": 4}, "one model is one peer in parametric"),
        ("evidence", {"models": "a,b", "peers": 3}, "--peers 3: 2 models are 2 peers"),
        ("evidence", {"models": "a,b"}, "a: .*no"),
        ("evidence", {"selector_model": "a"}, "goes with the selector in_context"),
    ],
)
def test_mistakes(setting, change, message):
    with pytest.raises(MageError, match=message):
        peers_command(setting, **{**ASKED, **change})


def test_seeds_twice():
    with pytest.raises(MageError, match="different whole numbers"):
        numbers("seeds", "1,1")


def test_several_models_are_a_peer_each():
    assert peer_folders("parametric", "a, b,a", None) == ["a", "b", "a"]
