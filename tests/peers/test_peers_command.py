"""`mage peers`, as its function."""

import json

import pytest

from mage.commands.peers import peers_command, split_seeds
from mage.errors import MageError

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


@pytest.mark.parametrize(
    ("setting", "change", "message"),
    [
        ("evidense", {}, "did you mean 'evidence'"),
        ("evidence", {"selectors": "linucb,"}, "unknown selector ''"),
        ("evidence", {"seeds": "0,x"}, "--seeds '0,x': expected"),
        ("evidence", {"trial_rounds": 13}, "expected 0 to rounds = 12"),
    ],
)
def test_mistakes(setting, change, message):
    with pytest.raises(MageError, match=message):
        peers_command(setting, **{**ASKED, **change})


def test_seeds_twice():
    with pytest.raises(MageError, match="different whole numbers"):
        split_seeds("1,1")
