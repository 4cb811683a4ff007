"""The novice: it does what it reads, says where an action leads, and reports truly."""

from __future__ import annotations

import asyncio
from collections import Counter

from counting import CharacterRenderer, CountingGame, text

from mage.play.games import make_game
from mage.play.novice import HEED, Novice

LOCK = make_game("combination_lock:depth=3,symbols=4")
LETTERS = ("a", "b", "c", "d")


def said(read, *, strategic=False, game=LOCK, legal=LETTERS, known=(), draws=2000):
    player = Novice(game, CharacterRenderer(), text, strategic=strategic).knowing(known)
    context = CharacterRenderer().encode(f"{read} >")

    async def answers():
        return [(await player.act(context, legal, seed)).text for seed in range(draws)]

    return Counter(asyncio.run(answers()))


def test_without_advice_all_actions_are_alike():
    counts = said("ep1 dial 1")
    assert set(counts) == {f"<action>{letter}</action>" for letter in LETTERS}
    assert max(counts.values()) - min(counts.values()) < 130


def test_it_heeds_what_it_reads_nearly_always():
    right = said("tip 2c dial 2")["<action>c</action>"] / 2000
    assert abs(right - (HEED + (1 - HEED) / 4)) < 0.02
    wrong = said("tip -2c tip -2a dial 2")
    assert wrong["<action>c</action>"] + wrong["<action>a</action>"] < 2000 * (1 - HEED)


def test_it_reads_only_its_last_message_as_the_state():
    assert said("dial 1 > <action>a</action> tip 2b tip 1d dial 2")["<action>b</action>"] > 1800


def test_a_strategy_leads_to_the_action():
    for answer in said("dial 3", strategic=True, draws=50):
        letter = answer[-10]
        assert answer == f"<strategy>3{letter}</strategy><action>{letter}</action>"


def test_a_scout_knows_besides():
    assert said("dial 2", known=["1a", "2d"])["<action>d</action>"] > 1800
    assert said("dial 2")["<action>d</action>"] < 700


def test_other_games_have_no_advice_and_their_strategies_are_actions():
    counts = said("tip up at 0", game=CountingGame(), legal=("up", "stop"), strategic=True)
    assert set(counts) == {f"<strategy>{name}</strategy><action>{name}</action>" for name in ("up", "stop")}
    assert abs(counts["<strategy>up</strategy><action>up</action>"] - 1000) < 120


def test_a_remark_is_a_true_fact_or_nothing():
    player = Novice(LOCK, CharacterRenderer(), text, strategic=False)
    remarks = {asyncio.run(player.reflect([], lambda: ("1a", "-2b"), seed)).said for seed in range(40)}
    assert remarks == {"1a", "-2b"}
    assert asyncio.run(player.reflect([], tuple, 0)).said == ""
