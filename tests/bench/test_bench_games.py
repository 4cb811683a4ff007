"""Both sides of `bench/games.py` are shown the same words and play the same games; no Ray needed."""

import argparse
import asyncio
import json

import pytest

import common
import games
from mage.chance import scramble
from mage.play.games import make_game


@pytest.mark.parametrize("name", games.OPPONENTS)
@pytest.mark.parametrize("dialect", ["compact", "natural"])
def test_the_peer_shows_what_mage_shows(name, dialect):
    game = make_game(name, dialect)
    ours, peer = games.MageGames(game, 4, 32), games.TextGame(name, dialect)
    tasks = games.bench_tasks(game, 12)
    assert {(task.opponent, task.seat) for task in tasks} == {(o, s) for o in games.OPPONENTS[name] for s in (0, 1)}
    for task in tasks:
        trial = asyncio.run(ours.play(task, 0))
        shown = peer.reset(task)
        for turn in trial.turns:
            text, legal = shown
            assert text == turn.observation
            assert turn.said in legal
            shown = peer.step(turn.text)
        assert shown is None


def test_the_peer_refuses_what_is_not_legal():
    peer = games.TextGame("kuhn_poker", "compact")
    peer.reset(games.bench_tasks(make_game("kuhn_poker"), 1)[0])
    with pytest.raises(ValueError, match="not a legal answer"):
        peer.step("<action>castle</action>")


def test_mage_side_counts_decisions():
    assert games.MageGames(make_game("kuhn_poker"), 8, 64).measure() > 100


def test_answers_are_uniform():
    said = [games.answer(("a", "b", "c"), seed) for seed in range(3000)]
    assert all(abs(said.count(f"<action>{letter}</action>") - 1000) < 120 for letter in "abc")
    assert games.answer(("a", "b"), 5) == f"<action>{'ab'[scramble(5) % 2]}</action>"


def test_results_say_where_they_come_from(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(common, "RESULTS", tmp_path / "results")
    path = common.write("some", common.machine(), {"repeat": 1}, [1.5])
    written = json.loads(path.read_text())
    assert written["result"] == [1.5]
    assert written["machine"]["cores"] >= 1
    assert written["versions"]["mage-rl"]
    assert written["versions"]["open-spiel"]
    assert written["date"].endswith("+00:00")
    common.show("Title", ("name", "number"), [("one", 1234.5), ("two", 0.5)])
    shown = capsys.readouterr().out
    assert "1,234" in shown
    assert "0.50" in shown


def test_only_a_run_as_it_is_recorded_replaces_what_is_kept(capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--parallel", type=int, default=1)
    assert common.as_recorded(parser, parser.parse_args(["--parallel", "2"]))
    assert not capsys.readouterr().out
    assert not common.as_recorded(parser, parser.parse_args(["--seeds", "0"]))
    assert "what is kept stays as it is" in capsys.readouterr().out
