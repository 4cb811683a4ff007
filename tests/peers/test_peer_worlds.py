"""The two settings: questions that have the answers they say, peers that keep to their skills."""

import asyncio
from collections import Counter

import numpy as np
import pytest

from mage.errors import MageError
from mage.peers.answering import NotesPeer, Question, SkilledPeer, is_right, said_answer
from mage.peers.delegation import KINDS, Delegation, draw_question, draw_skills
from mage.peers.evidence import ASKS, RELATIONS, Evidence, Facts, draw_recall
from mage.peers.world import Referee

QUESTION = Question("Add the numbers 1 and 2 to one sum.", "add", "3", "4", ease=0.5)


def ask(peer, question=QUESTION, times=2000):
    async def all_answers():
        return [await peer.answer(question, seed) for seed in range(times)]

    return asyncio.run(all_answers())


def test_answers_are_read():
    assert said_answer("so <answer>4</answer> no <answer> Five. </answer>") == "five"
    assert said_answer(" Five! ") == "five"
    assert is_right("I say <answer>Rome</answer>", "rome")
    assert not is_right("I say <answer>Rome or Paris</answer>", "rome")


def test_skilled_peers_keep_to_their_skill():
    """0.8 · 0.5 = 0.4 right; 2000 draws: ± 3·0.011."""
    answers = ask(SkilledPeer({"add": 0.8}))
    assert asyncio.run(SkilledPeer({"add": 0.8}).expected(QUESTION, 0)) == pytest.approx(0.4)
    assert np.mean([is_right(answer, "3") for answer in answers]) == pytest.approx(0.4, abs=0.033)
    assert {said_answer(answer) for answer in answers} == {"3", "4"}


def test_peers_without_notes_are_never_right():
    peer = NotesPeer({"multiply": 0.9}, guesses=0.25)
    counts = Counter(said_answer(answer) for answer in ask(peer))
    assert set(counts) == {"4", "unknown"}
    assert counts["4"] / 2000 == pytest.approx(0.25, abs=0.03)
    assert asyncio.run(peer.expected(QUESTION, 0)) == 0


def test_questions_have_the_answers_they_say():
    found = [draw_question(np.random.default_rng(seed)) for seed in range(400)]
    assert {question.kind for question in found} == set(KINDS)
    for question in found:
        words = question.text.replace(":", "").replace(",", "").replace("?", "").split()
        if question.kind == "add":
            assert int(words[3]) + int(words[5]) == int(question.gold)
        elif question.kind == "multiply":
            assert int(words[1]) * int(words[3]) == int(question.gold)
        elif question.kind == "reverse":
            assert words[3] == question.gold[::-1]
        assert question.wrong != question.gold
    assert np.mean([question.ease < 1 for question in found]) == pytest.approx(0.3, abs=0.07)


@pytest.mark.parametrize("peers", [2, 3, 4])
def test_every_peer_is_the_best_at_something_and_none_at_all(peers):
    for seed in range(20):
        skills = draw_skills(peers, np.random.default_rng(seed))
        best = {max(range(peers), key=lambda peer, kind=kind: skills[peer][kind]) for kind in KINDS}
        assert best == set(range(peers))


def test_every_fact_is_held_by_two_peers_of_unlike_recall():
    for seed in range(20):
        recall = draw_recall(9, np.random.default_rng(seed))
        assert min(map(len, recall)) >= 1
        for kind in RELATIONS:
            held = sorted(notes[kind] for notes in recall if kind in notes)
            assert len(held) == 2
            assert held[0] <= 0.65 < 0.85 <= held[1]


def test_hops_follow_each_other():
    generator = np.random.default_rng(0)
    facts = Facts(generator)
    for _ in range(50):
        first, second = facts.draw_hops(generator)
        assert second.subject == facts.objects[first]
        question = facts.question(second, generator)
        assert question.gold == facts.objects[second] != question.wrong
    notes = facts.notes(["the mayor of the town"]).splitlines()
    assert len(notes) == 12
    assert all(note.startswith("The mayor of the town ") for note in notes)


def test_two_hops_are_found_one_by_one():
    world = Evidence(0)
    first = world.question
    assert first.text.removeprefix("Name ").removesuffix(".") in world.own
    assert world.hear("<answer>nobody</answer>") == 0
    assert (world.question, world.score()) == (first, 0)
    assert world.hear(f"<answer>{first.gold}</answer>") == 1
    assert world.question != first


def test_a_question_is_left_after_so_many_asks():
    world = Evidence(1)
    first = world.question
    for _ in range(ASKS):
        world.hear("nothing")
    assert world.question != first
    assert world.score() == 0


def test_always_right_is_a_full_score():
    for world in (Evidence(2), Delegation(2)):
        for _ in range(30):
            assert world.hear(f"<answer>{world.question.gold}</answer>") == 1
        assert world.score() == 1


def test_the_agent_never_asks_for_what_it_holds():
    for seed in range(10):
        world = Evidence(seed)
        for number in range(40):
            assert world.question.kind != world.held
            world.hear(f"<answer>{world.question.gold}</answer>" if number % 3 else "nothing")


def test_referee_knows_every_peer():
    world = Delegation(0)
    found = asyncio.run(Referee(world, 0).expected(0))
    assert found == pytest.approx([peer.skills[world.question.kind] * world.question.ease for peer in world.peers])


@pytest.mark.parametrize("world", [Delegation, Evidence])
def test_one_peer_is_no_choice(world):
    with pytest.raises(MageError, match=r"1 peer\(s\) leave nothing to choose"):
        world(0, count=1)
