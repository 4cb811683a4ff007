"""Counting by hand: what a state is, which are alike, what is forgotten, and that a saved count goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from walks import walk

from mage.errors import RunError
from mage.explore import make_novelty
from mage.explore.novelty import FILE, Counts, Novelty, states
from mage.explore.rnd import Distillation
from mage.play.records import Trial
from mage.recipe import NoveltySection


def rewards(novelty: Novelty, *trials: Trial) -> list[list[float]]:
    return [turns.tolist() for turns in novelty.rewards(trials)]


def test_a_state_is_what_the_episode_showed_and_what_was_done() -> None:
    trial = walk([("hall", "left"), ("den", "up?"), ("den", "up"), ("", "remark")], [("hall", "right"), ("den", "up")])
    assert states(trial) == [
        "hall\n> left\nden",
        None,  # what is not legal leads nowhere
        "hall\n> left\nden\n> up\nend",
        None,
        "hall\n> right\nden",  # the same view by another way
        "hall\n> right\nden\n> up\nend",
    ]


def test_counts_by_hand() -> None:
    novelty = Counts()
    assert rewards(novelty, walk([("a", "x")]), walk([("a", "x")]), walk([("a", "x"), ("b", "x")])) == [
        [1 / 2],
        [1 / 2],  # the same behaviour is worth the same, whoever comes first
        [1, 1],
    ]
    # goes on in the next call; reflections have nothing, an illegal action makes nothing new
    assert rewards(novelty, walk([("a", "x?"), ("a", "x"), ("b", "x"), ("", "new")], [("c", "x")])) == [
        [0, 1 / 2, 1 / 2, 0, 1]
    ]
    assert rewards(Counts(weight=0.5), walk([("a", "x")], [("a", "x")])) == [[0.25, 0.25]]
    assert rewards(novelty) == []
    assert rewards(novelty, walk([])) == [[]]


def test_another_last_action_is_another_state() -> None:
    assert rewards(Counts(), walk([("a", "x")]), walk([("a", "y")])) == [[1], [1]]


def test_alike_states_are_counted_together() -> None:
    first, near, far = ("the red door is shut now", "the red door is shut", "a dragon sleeps on gold")
    walks = [walk([(view, "go")]) for view in (first, near, far, first, near)]
    assert rewards(Counts(), *walks) == [[1 / 2], [1 / 2], [1], [1 / 2], [1 / 2]]
    assert rewards(Counts(similar=0.7), *walks) == [[1 / 4], [1 / 4], [1], [1 / 4], [1 / 4]]
    assert rewards(Counts(similar=0.99), *walks) == [[1 / 2], [1 / 2], [1], [1 / 2], [1 / 2]]
    assert rewards(Counts(similar=0.5), walk([("", "r")]), walk([("...", "x")])) == [[0], [1]]


@pytest.mark.parametrize("similar", [1.0, 0.99])
def test_what_was_not_seen_for_longest_is_forgotten(similar: float) -> None:
    novelty = Counts(similar=similar, limit=2)
    views = ["a b", "c d", "a b", "e f", "a b", "c d", "e f"]  # e f takes the room of c d, c d that of e f, and back
    found = [rewards(novelty, walk([(view, "x")]))[0] for view in views]
    assert found == [[1], [1], [1 / 2], [1], [1 / 3], [1], [1]]


def test_what_is_forgotten_before_it_is_paid_counts_once() -> None:
    novelty = Counts(limit=1)
    assert rewards(novelty, walk([("a", "x")]), walk([("b", "x")])) == [[1], [1]]


def kinds() -> dict[str, NoveltySection]:
    return {
        "counts": NoveltySection(kind="counts", limit=5),
        "alike": NoveltySection(kind="counts", similar=0.7, limit=5),
        "rnd": NoveltySection(kind="rnd"),
    }


def made(name: str) -> Novelty:
    novelty = make_novelty(kinds()[name], seed=3)
    assert novelty is not None
    return novelty


def wander(seed: int) -> list[Trial]:
    draws = np.random.default_rng(seed)
    words = ["red", "blue", "door", "key", "gold"]
    return [
        walk([(" ".join(draws.choice(words, 3)), "go") for _ in range(draws.integers(1, 4))], [("red key", "go")])
        for _ in range(12)
    ]


@pytest.mark.parametrize("name", kinds())
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been(name: str, tmp_path: Path) -> None:
    novelty, other = made(name), made(name)
    novelty.save(tmp_path)  # nothing seen
    other.load(tmp_path)
    assert rewards(novelty, *wander(0)) == rewards(other, *wander(0))
    novelty.save(tmp_path)
    back = made(name)
    back.load(tmp_path)
    for seed in range(1, 4):
        assert rewards(novelty, *wander(seed)) == rewards(back, *wander(seed))
    assert rewards(made(name), *wander(3)) != rewards(novelty, *wander(3))


@pytest.mark.parametrize("name", kinds())
def test_a_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=FILE):
        made(name).load(tmp_path)
    novelty = made(name)
    novelty.rewards(wander(0))
    novelty.save(tmp_path)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(RunError, match=rf"{FILE}: cannot be read"):
        made(name).load(tmp_path)
    made({"counts": "alike", "alike": "rnd", "rnd": "counts"}[name]).save(tmp_path)
    with pytest.raises(RunError, match=rf"{FILE}: written by novelty of another kind"):
        made(name).load(tmp_path)


def test_by_the_recipe() -> None:
    assert make_novelty(NoveltySection()) is None
    assert isinstance(made("counts"), Counts)
    assert isinstance(made("rnd"), Distillation)
    novelty = make_novelty(NoveltySection(kind="counts", weight=0.25))
    assert novelty is not None
    assert rewards(novelty, walk([("a", "x")])) == [[0.25]]
