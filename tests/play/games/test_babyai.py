"""BabyAI on minigrid: actions by hand, exact and interleaved restarts, and an oracle that finds its way back."""

import asyncio
import os
import random
from pathlib import Path

import numpy as np
import pytest

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.game import Game, Guided, Spoken, TreeGame
from mage.play.games import game_parameters, make_game, normalise_game
from mage.play.games.babyai_guide import MOST, Plan
from mage.play.games.babyai_words import COLOURS, DIRECTIONS, NAMES, OBJECTS, STATES

pytest.importorskip("minigrid", reason="needs pip install 'mage-rl[babyai]'")

GOLDEN = Path(__file__).parents[2] / "golden" / "babyai.natural.txt"
SOME = ("GoToRedBall", "PutNextLocalS5N3", "OpenDoorsOrderN4", "KeyCorridorS3R1", "BlockedUnlockPickup")
BEYOND_THE_BOT = ("PutNextS5N2Carrying", "KeyInBox", "UnlockToUnlock")  # by itself


def start(spec="babyai", seed=0):
    return asyncio.run(make_game(spec, "natural").start(SeededDice(seed)))


def played(episode, *answers):
    for answer in answers:
        asyncio.run(episode.step(answer))
    return episode


def with_ahead(episode, thing):
    """Puts a thing ahead of the agent, whatever was there."""
    episode._world.grid.set(*episode._world.front_pos, thing)
    return episode


def sight(episode):
    return episode.observe(0).splitlines()


def solved(spec, seed, strays=0.0):
    """What the oracle gets, who is disobeyed as often as `strays`."""
    episode, choose = start(spec, seed), random.Random(seed)
    while episode.seat is not None:
        advised = episode.gold()
        played(episode, choose.choice(NAMES) if choose.random() < strays else advised)
    return episode.returns()[0]


def test_codes_are_those_of_minigrid():
    from minigrid.core import constants
    from minigrid.core.actions import Actions

    assert [constants.OBJECT_TO_IDX[name] for name in OBJECTS] == [*range(11)]
    assert [constants.COLOR_TO_IDX[name] for name in COLOURS] == [*range(6)]
    assert [constants.STATE_TO_IDX[name] for name in STATES] == [0, 1, 2]
    assert [tuple(vector) for vector in constants.DIR_TO_VEC] == [(1, 0), (0, 1), (-1, 0), (0, -1)]
    assert DIRECTIONS == ("east", "south", "west", "north")
    assert [action.name for action in Actions][:6] == ["left", "right", "forward", "pickup", "drop", "toggle"]


def test_by_hand():
    episode = start()
    assert isinstance(episode, Spoken)
    assert isinstance(episode, Guided)
    assert sight(episode)[0] == "Mission: go to the red ball."
    played(episode, "turn left", *["move forward"] * 4)
    assert (episode.seat, episode.returns()) == (None, (1 - 0.9 * 5 / 64,))
    assert episode.outcome(0) == "The mission is done. You score 0.930."
    assert episode.legal() == ()


def test_things_are_taken_put_down_and_opened():
    from minigrid.core.world_object import Box, Door, Key

    episode = with_ahead(start(), Key("red"))
    assert "You see a red key 1 step ahead;" in sight(episode)[2]
    played(episode, "pick up")
    assert sight(episode)[1].endswith("carry a red key.")
    assert "red key" not in sight(episode)[2]
    with_ahead(episode, Door("blue", is_locked=True))
    played(episode, "toggle", "move forward")
    assert "a locked blue door 1 step ahead" in sight(episode)[2]  # the key is of another colour
    with_ahead(episode, Door("red", is_locked=True))
    played(episode, "toggle")
    assert "an open red door 1 step ahead" in sight(episode)[2]
    with_ahead(episode, None)
    played(episode, "drop")
    assert "a red key 1 step ahead" in sight(episode)[2]
    with_ahead(episode, Box("grey", contains=Key("green")))
    played(episode, "toggle")
    assert "a green key 1 step ahead" in sight(episode)[2]


def test_a_mission_can_fail():
    from minigrid.core.world_object import Ball

    episode = played(with_ahead(start("babyai:level=PickupDistDebug"), Ball("grey")), "pick up")
    assert (episode.seat, episode.returns()) == (None, (0.0,))
    assert episode.outcome(0) == "You did what the mission does not allow. You score 0."


def test_steps_run_out():
    episode = start("babyai:turns=2")
    assert sight(episode)[-1] == "Steps left: 2."
    played(episode, "turn left", "turn right")
    assert (episode.seat, episode.returns(), episode.outcome(0)) == (None, (0.0,), "No steps are left. You score 0.")
    assert played(start("babyai:turns=5"), "turn left", *["move forward"] * 4).returns()[0] == pytest.approx(0.1)


def test_several_actions_in_an_answer_end_with_the_mission():
    episode = start("babyai:moves=4")
    assert len(episode.legal()) == 6**4
    assert episode.grammar().startswith("one to 4 of turn left, turn right, move forward")
    played(episode, "turn left, move forward, move forward", "move forward, move forward, turn left, drop")
    assert episode.returns() == (1 - 0.9 * 5 / 64,)


def test_answers_that_are_read():
    episode = start("babyai:moves=2")
    assert episode.read(" Turn  LEFT; pick up ") == "turn left, pick up"
    assert [episode.read(said) for said in ("", "left", "done", "drop, drop, drop", "drop,")] == [None] * 5
    assert start().read("drop, drop") is None


def test_what_is_not_legal_is_refused():
    episode = start()
    with pytest.raises(GameError, match="action 'fly' is not legal here; legal: one of turn left, turn right, move"):
        played(episode, "fly")
    with pytest.raises(GameError, match="it has no returns yet"):
        episode.returns()
    asyncio.run(episode.forfeit(0))
    assert (episode.returns(), episode.outcome(0)) == ((0.0,), "You gave up. You score 0.")
    with pytest.raises(GameError, match=r"legal: none \(the episode has ended\)"):
        played(episode, "drop")
    with pytest.raises(GameError, match="cannot forfeit"):
        asyncio.run(episode.forfeit(0))


def walk(spec, seed, episodes):
    """What the first of some episodes of one deal shows, all stepped in turn by the same dice."""
    running = [start(spec, seed) for _ in range(episodes)]
    choose, shown = random.Random(seed), []
    for _ in range(25):
        for number, episode in enumerate(running):
            shown += [episode.observe(0)] * (number == 0)
            if number:  # others go other ways, and one asks for advice
                played(episode, episode.gold() if number == 1 else "move forward")
            elif episode.seat is not None:
                played(episode, choose.choice(NAMES))
        running = [episode for number, episode in enumerate(running) if number == 0 or episode.seat is not None]
    return shown


@pytest.mark.parametrize("level", SOME)
def test_restarts_replay_exactly_also_when_interleaved(level):
    spec = f"babyai:level={level}"
    states = random.getstate(), str(np.random.get_state())  # noqa: NPY002 (that it is left alone)
    assert walk(spec, 7, 1) == walk(spec, 7, 1) == walk(spec, 7, 3)
    assert start(spec, 7).observe(0) != start(spec, 8).observe(0)
    assert (random.getstate(), str(np.random.get_state())) == states  # noqa: NPY002


@pytest.mark.parametrize("level", [*SOME, *BEYOND_THE_BOT])
def test_the_oracle_does_every_mission(level):
    scores = [solved(f"babyai:level={level}", seed) for seed in range(3)]
    assert min(scores) > 0.5, scores


@pytest.mark.parametrize("level", ["GoToRedBall", "KeyCorridorS3R1", "BlockedUnlockPickup"])
def test_the_oracle_finds_back_where_it_was_left(level):
    scores = [solved(f"babyai:level={level}", seed, strays=0.3) for seed in range(3)]
    assert min(scores) > 0.1, scores


def test_the_oracle_does_not_repeat_what_is_done():
    episode = start("babyai:level=OpenRedBlueDoors,turns=200", 1)
    while getattr(episode._world.instrs, "a_done", None) != "success":
        played(episode, episode.gold())
    taken = len(episode._taken)
    played(episode, *["turn left"] * 3)
    while episode.seat is not None:
        played(episode, episode.gold())
    assert episode.returns()[0] > 0
    assert len(episode._taken) - taken < 30


def test_advice_changes_nothing():
    episode = start()
    assert episode.gold() == episode.gold() == "turn left"
    assert episode._world.step_count == 0


def test_a_bot_that_goes_in_circles_is_stopped():
    plan = Plan(())
    for _ in range(MOST):
        plan.append(None)
    with pytest.raises(RuntimeError, match="circles"):
        plan.append(None)


def test_nothing_is_printed(capsys):
    for seed in range(10):  # some of these draw worlds that are rejected
        start("babyai:level=PutNextLocal", seed)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("babyai:level=GoToRedBal", r"level = 'GoToRedBal' is none of the \d+ levels of BabyAI; near: GoToRedBall,"),
        ("babyai:level=BabyAI-GoToRedBall-v0", "near: GoToRedBall"),
        ("babyai:level=xyzzy", "known: ActionObjDoor, BlockedUnlockPickup"),
        ("babyai:turns=0", r"turns = '0' is not an integer in 1..100000"),
        ("babyai:moves=5", r"moves = '5' is not an integer in 1..4"),
        ("babyai:doors=3", "unknown parameter 'doors'"),
    ],
)
def test_specs_that_are_refused(spec, words):
    with pytest.raises(GameError, match=words):
        make_game(spec, "natural")


def test_the_compact_dialect_is_refused():
    with pytest.raises(GameError, match=r"game\.dialect = 'compact' should be 'natural'"):
        make_game("babyai", "compact")


def test_a_setting_that_no_recipe_says_is_refused(monkeypatch):
    monkeypatch.setattr("minigrid.envs.babyai.core.verifier.use_done_actions", "1")
    with pytest.raises(GameError, match="BABYAI_DONE_ACTIONS is set"):
        make_game("babyai", "natural")


def test_one_spelling():
    game = make_game("babyai: moves=1 , level=GoToLocal", "natural")
    assert isinstance(game, Game)
    assert not isinstance(game, TreeGame)
    assert game.name == normalise_game("babyai:level=GoToLocal,moves=1") == "babyai:level=GoToLocal"
    assert game_parameters("babyai")[0] == (
        "level=GoToRedBall: which level; an id of BabyAI without prefix and version, such as GoToLocal, PickupLoc or "
        "BossLevel"
    )


def test_playthrough_is_the_recorded_one():
    lines = [make_game("babyai", "natural").rules(0)]
    for level, seed in (("PutNextLocalS5N3", 0), ("UnlockLocal", 1)):
        episode = start(f"babyai:level={level}", seed)
        lines.append(f"=== {level}, seed {seed} ===")
        while episode.seat is not None:
            action = episode.gold()
            lines += [episode.observe(0), f"--- {action}"]
            played(episode, action)
        lines += [f"--- returns {episode.returns()}", episode.outcome(0)]
    text = "\n".join(lines) + "\n"
    if os.environ.get("MAGE_REGENERATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
