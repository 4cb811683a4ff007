"""The tiny base speaks the form, reports what is true, has no skill, and is rebuilt bit for bit."""

import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from functools import partial

import pytest
from small import small

from mage.cache import cache_folder
from mage.engine.local import LocalEngine
from mage.errors import MageError, RunError
from mage.play.collect import collect
from mage.play.games import make_game
from mage.play.games.openspiel import Node, OpenSpielGame
from mage.play.opponents.population import draw_tasks
from mage.run import base_model
from mage.run.arena import make_arena
from mage.run.base_model import build_tiny_base, starting_model, tiny_base

BUILD = """
import hashlib, json, sys
from mage.recipe_file import parse_recipe
from mage.run.base_model import tiny_base
folder = tiny_base(parse_recipe(json.loads(sys.argv[1]), "test"))
files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}
sys.stdout.write(json.dumps([str(folder), files]))
"""
# Uniformly random play by hand, as first and as second player: −1/12 and 0 against conservative, −5/12 and −1/2 against
# aggressive, −1/6 and −1/3 against intermediate
RANDOM = (-1 / 12 + 0 - 5 / 12 - 1 / 2 - 1 / 6 - 1 / 3) / 6
QUICK = {"hidden": 16, "layers": 1, "heads": 2, "warmup_steps": 3, "threads": 1}


def digests(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def built_elsewhere(cache, hash_seed):
    environment = {
        **os.environ,
        "MAGE_CACHE_DIR": str(cache),
        "PYTHONHASHSEED": str(hash_seed),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", BUILD, json.dumps({"engine": QUICK})]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_rebuilt_bit_for_bit_from_its_seed(tmp_path, monkeypatch):
    """In a process whose sets and dictionaries of strings are ordered otherwise, and in this one."""
    place, files = built_elsewhere(tmp_path / "there", hash_seed=1)
    assert "model.safetensors" in files
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path / "here"))
    folder = tiny_base(small(engine=QUICK, population={"held_out": []}))  # the population does not matter
    assert digests(folder) == files
    assert str(folder) != place


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def builds(monkeypatch):
    """Counts how often a base is built."""
    made = []

    async def counted(recipe):
        made.append(recipe)
        return await build_tiny_base(recipe)

    monkeypatch.setattr(base_model, "build_tiny_base", counted)
    return made


def test_built_once_then_taken_from_the_cache(empty_cache, builds):
    recipe = small(engine=QUICK)
    first = tiny_base(recipe)
    before = {file: file.stat().st_mtime_ns for file in first.iterdir()}
    assert tiny_base(small(engine=QUICK, seed=5, optim={"lr": 0.5}, loop={"groups": 8})) == first
    assert {file: file.stat().st_mtime_ns for file in first.iterdir()} == before
    assert len(builds) == 1
    assert cache_folder() == empty_cache
    assert [path.name for path in (empty_cache / "tiny").iterdir()] == [first.name]  # nothing half-built is left


@pytest.mark.parametrize(
    "changes",
    [
        {"engine": {**QUICK, "base_seed": 1}},
        {"engine": {**QUICK, "warmup_steps": 2}},
        {"engine": {**QUICK, "architecture": "qwen3"}},
        {"engine": {**QUICK, "hidden": 32}},
        {"engine": QUICK, "trial": {"memory": "history"}},
        {"engine": QUICK, "trial": {"episodes": 2}},
    ],
)
def test_what_it_depends_on_makes_another(changes, empty_cache, builds):
    one, other = tiny_base(small(engine=QUICK)), tiny_base(small(**changes))
    assert one != other
    assert digests(one) != digests(other)
    assert len(builds) == 2


def test_the_micro_batches_of_training_do_not_change_it(empty_cache):
    """Sums in another order differ in the last bit, and the cache would not know."""
    recipes = [small(engine={**QUICK, "max_tokens_per_batch": budget}) for budget in (16384, 300)]
    weights = [asyncio.run(build_tiny_base(recipe)).model.state_dict() for recipe in recipes]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])


def test_no_base_is_made_of_a_part_of_its_play(empty_cache, monkeypatch):
    game = make_game("kuhn_poker")
    facts, asked = game.facts, []

    def failing(episode, seat):
        asked.append(seat)
        if len(asked) == 5:
            raise LookupError("no such card")
        return facts(episode, seat)

    monkeypatch.setattr(game, "facts", failing)
    monkeypatch.setattr("mage.run.arena.make_game", lambda name, dialect: game)
    monkeypatch.setattr("mage.run.warm_up.collect", partial(collect, retries=0))
    with pytest.raises(MageError, match=r"random play of kuhn_poker failed: member 0 .*LookupError: no such card"):
        tiny_base(small(engine=QUICK))
    assert list(empty_cache.rglob("*.safetensors")) == []


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_one_that_is_damaged_is_built_anew(file, empty_cache, builds):
    recipe = small(engine=QUICK)
    folder = tiny_base(recipe)
    whole = digests(folder)
    (folder / file).write_bytes((folder / file).read_bytes()[:20])
    assert tiny_base(recipe) == folder
    assert digests(folder) == whole
    assert len(builds) == 2


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_one_that_still_opens_but_was_changed_is_built_anew(file, empty_cache, builds, caplog):
    recipe = small(engine=QUICK)
    folder = tiny_base(recipe)
    whole = digests(folder)
    path = folder / file
    if file == "config.json":
        path.write_text(path.read_text().replace('"num_hidden_layers": 1', '"num_hidden_layers": 2'))
    else:
        path.write_bytes(path.read_bytes()[:-8] + bytes(8))
    assert digests(folder) != whole
    assert tiny_base(recipe) == folder
    assert digests(folder) == whole
    assert len(builds) == 2
    assert f"was damaged and is built anew: {file} " in caplog.text


@pytest.mark.parametrize(
    ("owner", "text"), [(Node, "show"), (Node, "outcome"), (OpenSpielGame, "facts"), (OpenSpielGame, "rules")]
)
def test_other_texts_of_a_game_make_another(owner, text, empty_cache, monkeypatch):
    """Words that the game has anyway, in another place."""
    one, whole = tiny_base(small(engine=QUICK)), getattr(owner, text)

    def changed(self, *arguments):
        told = whole(self, *arguments)
        return ("call Q",) if text == "facts" else f"{told} call"

    monkeypatch.setattr(owner, text, changed)
    assert tiny_base(small(engine=QUICK)) != one


def test_one_that_was_cut_short_is_built_anew(empty_cache, builds):
    recipe = small(engine=QUICK)
    folder = tiny_base(recipe)
    whole = digests(folder)
    (folder / "config.json").unlink()
    assert tiny_base(recipe) == folder
    assert digests(folder) == whole
    assert len(builds) == 2


def test_a_failure_leaves_nothing_behind(empty_cache, monkeypatch):
    def full(self, folder):
        (folder / "config.json").write_text("{")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalEngine, "save_model", full)
    with pytest.raises(RunError, match="the disk is full"):
        tiny_base(small(engine=QUICK))
    assert list((empty_cache / "tiny").iterdir()) == []


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(RunError, match="cannot be written"):
        tiny_base(small(engine=QUICK))


def test_a_model_of_ones_own(tmp_path):
    assert starting_model(small(engine={"model": str(tmp_path)})) == tmp_path


def test_no_global_generator_is_drawn_from(empty_cache):
    import numpy as np
    import torch

    before = random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002
    tiny_base(small(engine=QUICK))
    after = random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002
    assert before == after


class Watched:
    """Sees whether each remark of an actor is one of the facts."""

    def __init__(self, actor):
        self.actor, self.renderer, self.fits, self.act = actor, actor.renderer, actor.fits, actor.act
        self.true = []

    async def reflect(self, context, facts, seed):
        response = await self.actor.reflect(context, facts, seed)
        self.true.append(response.said in facts())
        return response


@pytest.fixture(scope="module")
def played(cache):
    """2,000 trials of the base at temperature 1 against the pool; and for each remark whether it was true."""
    recipe = small()
    arena, engine = make_arena(recipe), LocalEngine.open(tiny_base(recipe))
    actor = Watched(arena.actor(engine, 1.0))
    tasks = draw_tasks(arena.population, groups=2000, seats=(0, 1), episodes=3, restart="redeal", seed=11, iteration=0)
    collected = asyncio.run(collect(tasks, 1, arena.player(actor)))
    return collected.trials, actor.true


def test_it_speaks_the_form(played):
    trials, _ = played
    turns = [turn for trial in trials for turn in trial.turns]
    assert sum(turn.legal for turn in turns) / len(turns) >= 0.99
    assert sum(episode.forfeited for trial in trials for episode in trial.episodes) / (3 * len(trials)) < 0.005


def test_its_remarks_are_true(played):
    _, true = played
    assert len(true) == 4000
    assert sum(true) / len(true) >= 0.95


def test_its_remarks_are_varied(played):
    """It reports what it saw, and more than one thing."""
    trials, _ = played
    said = Counter(turn.said for trial in trials for turn in trial.turns if turn.phase == "reflect" and turn.legal)
    assert {"call Q", "call K", "fold hidden", "bet K", "bet Q"} <= set(said)


def test_it_plays_like_chance(played):
    """Payoff is that of uniformly random legal play, within 4.4 standard errors (by chance once in 90,000)."""
    trials, _ = played
    for episode in range(3):
        rewards = [trial.episodes[episode].reward for trial in trials]
        mean = sum(rewards) / len(rewards)
        error = (sum((reward - mean) ** 2 for reward in rewards) / len(rewards) / len(rewards)) ** 0.5
        assert abs(mean - RANDOM) < 4.4 * error


def test_it_bets_half_the_time_whatever_it_holds(played):
    trials, _ = played
    bets = {}
    for trial in trials:
        for turn in trial.turns:
            if turn.phase == "act" and turn.legal:
                bets.setdefault(turn.anchor, []).append(turn.said == "bet")
    assert len(bets) == 12  # all information states of Kuhn poker
    for flags in bets.values():
        assert abs(sum(flags) / len(flags) - 0.5) < 0.1 + 4.4 * 0.5 / len(flags) ** 0.5
