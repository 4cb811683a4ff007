"""What a tiny base is warmed up on: not the secret, nobody it will meet, and advice that is true."""

import asyncio
import re
from collections import Counter

import pytest
from small import small

from mage.engine.render import ChatRenderer
from mage.recipe import Recipe
from mage.run.base_model import _tokenizer, _words
from mage.run.warm_up import READERS, WORLDS, WarmUp, warm_up_arena

LOCK = {
    "game": {"name": "combination_lock:depth=3,symbols=4,seed=5"},
    "population": {"train": [{"name": "random"}], "held_out": []},
    "trial": {"episodes": 1, "restart": "replay", "max_action_tokens": 3, "max_remark_tokens": 5},
}


def lock(method: str, **changes) -> Recipe:
    return small(**{**LOCK, "method": method, **changes})


def played(recipe, step=0):
    tokenizer = _tokenizer(recipe, _words(recipe, warm_up_arena(recipe).game))
    warm_up = WarmUp.of(recipe, ChatRenderer(tokenizer), tokenizer.decode)
    trials = asyncio.run(warm_up.trials(step))
    return trials, [tokenizer.decode(context) for trial in trials for context in trial.contexts]


def mean_turns(trials):
    return sum(trial.episodes[0].turns for trial in trials) / len(trials)


@pytest.mark.parametrize("method", ["grpo", "sge", "empo2"])
def test_the_code_is_dealt_anew_and_the_recipe_s_own_does_not_matter(method):
    arena = warm_up_arena(lock(method))
    assert arena.game.name == "combination_lock:depth=3,symbols=4,code=dealt"
    trials, texts = played(lock(method))
    assert len({trial.task.seed for trial in trials}) >= WORLDS
    assert texts == played(lock(method, game={"name": "combination_lock:depth=3,symbols=4,seed=6"}))[1]
    assert texts != played(lock(method), step=1)[1]
    assert "<unk>" not in "".join(texts)


def test_plain_bases_see_random_play_alone():
    trials, texts = played(lock("grpo"))
    opened = sum(trial.episodes[0].reward for trial in trials)
    assert opened <= 8  # 128 trials at 1/64
    assert not any("tip" in text or "tried" in text or "strategy" in text for text in texts)


def test_readers_of_strategies_see_what_scouts_tried():
    trials, texts = played(lock("sge"))
    assert len(trials) == WORLDS * READERS
    shown = [text for text in texts if text.startswith("<bos> tried")]
    assert abs(len(shown) / len(texts) - 0.9) < 0.09
    opened = [text for text in shown if " open ep1" in text]
    assert len(opened) > 20
    assert all("<strategy>" in text for text in texts)
    won = [trial.episodes[0].reward for trial, text in zip(trials, texts, strict=True) if " open ep1" in text]
    assert sum(won) / len(won) > 0.75  # 0.98 at each of three dials


def test_most_readers_of_tips_are_helped_and_they_do_as_they_read():
    trials, texts = played(lock("empo2"))
    helped = [trial for trial in trials if trial.unaided is not None]
    assert len(helped) == len(trials) * 3 / 4
    assert all("<remark>" in text for text in texts)
    acts = [turn for trial in helped for turn in trial.turns if turn.phase == "act"]
    seen = [(turn.said, re.findall(rf"tip -{turn.anchor[-1]}(.)", turn.observation)) for turn in acts]
    warned = [said not in wrong for said, wrong in seen if wrong]
    assert len(warned) > 0.5 * len(helped)
    assert sum(warned) / len(warned) > 0.95


def test_some_readers_come_as_far_as_the_last_dial_without_being_helped():
    trials, _ = played(lock("empo2"))
    alone = [trial.episodes[0].turns for trial in trials if trial.unaided is None]
    assert sum(turns == 3 for turns in alone) > len(alone) / 4  # 1/16 by chance


def test_what_readers_know_and_do_not_read_is_uniform():
    counts = Counter(
        trial.turns[0].said for step in range(12) for trial in played(lock("empo2"), step)[0] if trial.unaided is None
    )
    assert len(counts) == 4
    total = sum(counts.values())
    for count in counts.values():
        assert abs(count / total - 1 / 4) < 0.11  # three trials of a world may share its letter
