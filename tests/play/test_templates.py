from __future__ import annotations

import asyncio
import re
from importlib.resources import files
from itertools import product
from string import Formatter
from typing import get_args

import pytest

from mage.chance import SeededDice
from mage.play.games import game_names, make_game
from mage.play.memory import MEMORIES
from mage.play.records import Restart, Result
from mage.play.templates import Series, compact_words, fill, make_prompts, template

NATURAL, COMPACT = make_prompts("natural"), make_prompts("compact")
LEGAL = ("pass", "bet")
NAMES = sorted(entry.name.removesuffix(".txt") for entry in files("mage.play").joinpath("prompts").iterdir())


def test_natural_opening_tells_the_series_and_what_is_remembered():
    text = NATURAL.system("RULES {x}", Series(3, True, "redeal", "reflection"))
    assert text.startswith("RULES {x}\n")
    assert "3 episodes" in text
    assert "same opponent" in text
    assert "afresh" in text
    assert "remarks and nothing else" in text


@pytest.mark.parametrize(
    ("opponent", "restart", "memory"),
    list(product((True, False), get_args(Restart), [memory.name for memory in MEMORIES])),
)
def test_every_series_has_its_words(opponent, restart, memory):
    text = NATURAL.system("R", Series(2, opponent, restart, memory))
    assert ("opponent" in text) is opponent
    assert ("same situation" in text) is (restart == "replay")
    assert ("remark" in text) is ("reflection" in memory)
    assert "{" not in text


def test_natural_messages_of_an_episode():
    text = NATURAL.start(2, 3, "HEAD", "STATE", LEGAL)
    assert text.startswith("HEAD\n\nEpisode 2 of 3.\n\nSTATE\n\n")
    assert "pass, bet" in text
    assert "<action>your action</action>" in text
    assert NATURAL.start(1, 3, "", "STATE", LEGAL).startswith("Episode 1 of 3.")
    assert NATURAL.turn("STATE", LEGAL) == text.removeprefix("HEAD\n\nEpisode 2 of 3.\n\n")


def test_natural_reprompt_names_the_legal_actions_and_the_mistake():
    text = NATURAL.illegal("fly {up}", "STATE", LEGAL)
    assert '"fly {up}"' in text
    assert "pass, bet" in text
    assert "STATE" in text
    assert "no action" in NATURAL.illegal(None, "STATE", LEGAL)


@pytest.mark.parametrize("result", get_args(Result))
def test_reflection_is_true_to_the_result(result):
    words = {"won": "You won it.", "lost": "You lost it.", "drawn": "It was drawn"}
    for text in (NATURAL.reflect(1, 3, result, "OUTCOME"), NATURAL.over(1, result, "OUTCOME")):
        assert words[result] in text
        assert not any(told in text for other, told in words.items() if other != result)
        assert "OUTCOME" in text
        assert "not completed" not in text.lower()
    assert "<remark>" in NATURAL.reflect(1, 3, result, "OUTCOME")
    assert "went wrong" not in NATURAL.reflect(1, 3, "won", "OUTCOME")


def test_natural_remarks_keep_their_episodes():
    assert NATURAL.remarks(["it folds", ""]).endswith("After episode 1: it folds\nAfter episode 2: (nothing)")


def test_compact_messages():
    assert COMPACT.system("", Series(3, True, "redeal", "reflection")) == ""
    assert COMPACT.start(1, 3, "", "K first", LEGAL) == "ep1 K first"
    assert COMPACT.start(3, 3, COMPACT.remarks(["call Q", "bet K"]), "K", LEGAL) == "note call Q note bet K ep3 K"
    assert COMPACT.remarks(["", "bet K"]) == "note note bet K"
    assert COMPACT.turn("K pass bet", LEGAL) == "K pass bet"
    assert COMPACT.illegal("fly", "K", LEGAL) == COMPACT.illegal(None, "K", LEGAL) == "illegal pass bet"
    assert COMPACT.reflect(1, 3, "lost", "-1 Q") == "-1 Q reflect"
    assert COMPACT.over(1, "lost", "-1 Q") == "-1 Q"


@pytest.mark.parametrize("name", game_names(extras=False))
def test_compact_words_are_all_that_the_prompts_add(name):
    game = make_game(name)
    known = {*game.vocabulary(), *compact_words(3)}
    episode = asyncio.run(game.start(SeededDice(0)))
    legal, view = episode.legal(), episode.observe(0)
    texts = [
        COMPACT.system(game.rules(0), Series(3, True, "replay", "reflection")),
        *(COMPACT.start(n, 3, COMPACT.remarks(["", ""]), view, legal) for n in (1, 2, 3)),
        COMPACT.illegal("fly", view, legal),
        COMPACT.reflect(1, 3, "won", ""),
    ]
    assert {word for text in texts for word in text.split()} <= known


def test_every_template_is_used_and_filled_by_name_only():
    fields = {
        name: [field for _, field, _, _ in Formatter().parse(template(name)) if field is not None] for name in NAMES
    }
    assert all(re.fullmatch(r"[a-z]+", field) for used in fields.values() for field in used)
    ends = "won|lost|drawn|replay|redeal|opponent|alone|said|none|plans|cases|notes|failure|success"
    memories = "history.*|reflection|reflexion|a-mem|memento|strategies|tips|other"
    stems = {re.sub(rf"_({ends}|{memories})$", "", name) for name in NAMES}
    pages = ("templates.py", "memories/amem.py")
    source = "".join(files("mage.play").joinpath(page).read_text(encoding="utf-8") for page in pages)
    assert all(f'"{stem}' in source for stem in stems)


def test_a_missing_value_is_an_error():
    with pytest.raises(KeyError, match="outcome"):
        fill("over", number=1, result="won")
