"""Runs: regret by hand, selectors, determinism, models as peers and as selectors."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine.base import Sample
from mage.errors import MageError
from mage.peers.answering import Question, SamplerPeer, SkilledPeer
from mage.peers.evidence import Evidence
from mage.peers.features import FEATURES, Round
from mage.peers.play import SETTINGS, PeerRun, make_world, play_rounds, run_peers, trial_length
from mage.peers.regret import growth_exponent, regrets
from mage.peers.selectors import (
    SELECTORS,
    PromptedSelector,
    check_selectors,
)
from mage.peers.simple import GreedySelector, LockedInSelector, RandomSelector, RingSelector, UCB1Selector
from mage.peers.summary import summarise
from mage.peers.world import Referee

NOW = Round(0, 10, "Name the seat of the guild Bo.", "I know nothing")
NO_FEATURES = np.zeros((3, 9))


class Characters:
    """A renderer whose tokens are code points."""

    def encode(self, text):
        return tuple(map(ord, text))

    system = user = encode

    def close(self, sampled):
        return ()


class Scripted:
    """A sampler that says what a function makes of the prompt and the seed."""

    renderer = Characters()
    context_length = 4096

    def __init__(self, say):
        self.say, self.prompts = say, []

    async def sample(self, prompt, params, seed):
        self.prompts.append("".join(map(chr, prompt)))
        text = self.say(self.prompts[-1], seed)
        return Sample((), (), "stop", text)


class Watched(RandomSelector):
    """Asks anybody and keeps what it was shown."""

    def __init__(self, peers=2, seed=0):
        super().__init__(peers, seed)
        self.features = []

    async def choose(self, now, features, phase):
        self.features.append(features)
        return await super().choose(now, features, phase)


def play(setting="delegation", selector="linucb", seed=0, **more):
    return asyncio.run(run_peers(setting, selector, seed, **more))


def choose(selector, number=0, phase="trial", features=NO_FEATURES):
    return asyncio.run(selector.choose(Round(number, 10, NOW.question, NOW.own), features, phase))


def test_regret_by_hand():
    """Best 0.9, 0.6, 0.5; chosen 0.2, 0.6, 0.25: 0.7, 0, 0.25, cumulative 0.7, 0.7, 0.95; two rounds are trial."""
    expected = np.array([[0.9, 0.2], [0.1, 0.6], [0.5, 0.25]])
    run = PeerRun("delegation", "random", 0, 2, (1, 1, 1), (0.0, 1.0, 0.0), expected, 1 / 3)
    assert run.regret == pytest.approx([0.7, 0, 0.25])
    assert run.cumulative == pytest.approx([0.7, 0.7, 0.95])
    kept = run.as_dict()
    assert (kept["regret"], kept["regret_trial"], kept["regret_exploit"]) == pytest.approx((0.95, 0.7, 0.25))


@given(st.integers(2, 5), st.integers(1, 30), st.integers(0, 2**32))
def test_regret_is_never_negative(peers, rounds, seed):
    generator = np.random.default_rng(seed)
    expected = generator.random((rounds, peers))
    assert (regrets(expected, generator.integers(0, peers, rounds).tolist()) >= 0).all()
    assert not regrets(expected, expected.argmax(axis=1).tolist()).any()


def test_growth_is_the_power():
    assert growth_exponent(3 * np.arange(1.0, 101.0) ** 0.7) == pytest.approx(0.7)
    with pytest.raises(MageError, match="each above 0"):
        growth_exponent(np.zeros(100))
    with pytest.raises(MageError, match="2 or more"):
        growth_exponent(np.ones(20))


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_oracle_regrets_nothing(setting):
    assert not play(setting, "oracle", 3).regret.any()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("selector", SELECTORS)
def test_the_same_seed_is_the_same_run(setting, selector):
    first, again, other = (play(setting, selector, seed, rounds=20).as_dict() for seed in (0, 0, 1))
    assert first == again
    assert first["cumulative"] != other["cumulative"] or selector == "oracle"


def test_all_selectors_meet_the_same_rounds():
    """In delegation the questions do not depend on what was chosen; in evidence on how far a question has got."""
    tables = [play("parametric", selector, 5, rounds=30).expected for selector in SELECTORS]
    assert all((table == tables[0]).all() for table in tables)
    tables = [play("evidence", selector, 5, rounds=30).expected for selector in SELECTORS]
    assert all((table[0] == tables[0][0]).all() for table in tables)
    assert any((table != tables[0]).any() for table in tables)


def test_all_selectors_meet_the_same_questions_in_evidence():
    """One agent finds every fact, the other none: the first facts of their questions are the same, in order."""
    finds, fails = Evidence(3), Evidence(3)
    assert [len(world.peers) for world in (finds, fails)] == [9, 9]
    for _ in range(10):
        assert finds.question == fails.question
        for world, answer in ((finds, "{}"), (fails, "nothing")):
            begun = world.ended
            while world.ended == begun:
                world.hear(answer.format(f"<answer>{world.question.gold}</answer>"))


def test_an_agent_that_knows_nothing_agrees_with_peers_that_do_not_either():
    """`agreement` tells peers apart in every setting."""
    for setting in SETTINGS:
        seen = Watched()
        world = make_world(setting, 0)
        asyncio.run(play_rounds(world, seen, Referee(world, 0), 40, 24, 0))
        column = np.array(seen.features)[:, :, FEATURES.index("agreement")]
        assert len(np.unique(column[-1])) > 1


def test_linucb_learns_whom_to_ask():
    """Ten seeds that are neither tuned on nor evaluated on: at most 75% of random's regret (the bench is sharper)."""
    for setting in SETTINGS:
        mean = {
            name: np.mean([play(setting, name, seed).regret.sum() for seed in range(500, 510)])
            for name in ("linucb", "random", "in_context", "fixed")
        }
        assert mean["linucb"] < 0.75 * min(mean["random"], mean["in_context"], mean["fixed"])


def test_locked_in_asks_around_until_one_does_well():
    selector = LockedInSelector(3, seed=0)
    asked = []
    for _ in range(3):
        asked.append(choose(selector))
        selector.learn(asked[-1], NO_FEATURES[0], 0.0)
    assert sorted(asked) == [0, 1, 2]
    selector.learn(1, NO_FEATURES[0], 1.0)
    for _ in range(10):
        assert choose(selector) == 1
        selector.learn(1, NO_FEATURES[0], 0.0)


def test_greedy_by_hand():
    """relevance + similar_success: 0.5 + 0.5, 0.2 + 0.9, 0.75 + 0.25; high success alone does not count."""
    features = np.zeros((3, 9))
    features[:, FEATURES.index("relevance")] = 0.5, 0.2, 0.75
    features[:, FEATURES.index("similar_success")] = 0.5, 0.9, 0.25
    features[:, FEATURES.index("success")] = 1, 0, 1
    assert {choose(GreedySelector(seed), features=features) for seed in range(5)} == {1}
    assert {choose(GreedySelector(seed)) for seed in range(50)} == {0, 1, 2}


def test_ucb1_by_hand():
    """Means 1, ½, 0 of 4, 2, 1 asks, t = 7: bonuses 0.986, 1.395, 1.973, bounds 1.986, 1.895, 1.973."""
    selector, asked = UCB1Selector(3, seed=0), []
    for _ in range(3):
        asked.append(choose(selector))
        selector.learn(asked[-1], NO_FEATURES[0], [1.0, 1.0, 0.0][asked[-1]])
    assert sorted(asked) == [0, 1, 2]
    for peer, reward in ((0, 1.0), (0, 1.0), (0, 1.0), (1, 0.0)):
        selector.learn(peer, NO_FEATURES[0], reward)
    assert choose(selector) == 0
    selector.learn(0, NO_FEATURES[0], 1.0)  # t = 8: 1.912, 1.942, 2.039
    assert choose(selector) == 2
    assert choose(selector, phase="exploit") == 0


def test_ring_and_random():
    assert [choose(RingSelector(9, 0), number) for number in range(4)] == [0, 8, 0, 8]
    assert [choose(RingSelector(2, 0), number) for number in range(3)] == [0, 0, 0]
    selector = RandomSelector(3, seed=0)
    assert np.bincount([choose(selector) for _ in range(600)]).min() > 150


def test_a_model_chooses_by_what_its_prompt_shows():
    sampler = Scripted(lambda prompt, seed: "I trust <peer>Peer 2</peer>")
    selector = PromptedSelector(sampler, 3, seed=0)
    selector.learn(1, NO_FEATURES[0], 1.0)
    selector.learn(1, NO_FEATURES[0], 0.0)
    assert choose(selector) == 1
    prompt = sampler.prompts[0]
    assert "peer 2: asked 2 times, right 1 times" in prompt
    assert NOW.question in prompt
    assert NOW.own in prompt


def test_a_model_that_names_nobody_asks_anybody():
    selector = PromptedSelector(Scripted(lambda prompt, seed: "hm"), 3, seed=0)
    assert {choose(selector) for _ in range(50)} == {0, 1, 2}


def test_models_as_peers():
    """One model is always right about sums; its expected reward is estimated from its own answers."""
    question = Question("Add the numbers 1 and 2 to one sum.", "add", "3", "4")
    sampler = Scripted(lambda prompt, seed: "So <answer>3</answer>" if "1 and 2" in prompt else "?")
    peer = SamplerPeer(sampler, notes="The seat of the guild Bo is Ka.")
    assert asyncio.run(peer.answer(question, 0)) == "So <answer>3</answer>"
    assert "The seat of the guild Bo is Ka." in sampler.prompts[0]
    assert asyncio.run(peer.expected(question, 0)) == 1
    odd = SamplerPeer(Scripted(lambda prompt, seed: f"<answer>{3 + seed % 2}</answer>"), draws=400)
    assert asyncio.run(odd.expected(question, 0)) == pytest.approx(0.5, abs=0.08)


def test_a_run_among_models():
    peers = [
        SamplerPeer(Scripted(lambda prompt, seed: "<answer>no</answer>")),
        SkilledPeer(dict.fromkeys(("add", "multiply", "reverse", "count days"), 1.0)),
    ]
    run = play(
        "delegation",
        "in_context",
        0,
        rounds=10,
        peers=peers,
        sampler=Scripted(lambda prompt, seed: "<peer>peer 2</peer>"),
    )
    assert run.chosen == (1,) * 10
    assert not run.regret.any()


def test_summary_by_hand():
    """Regrets 1, 2 and 2, 4: differences −1, −2, mean −1.5 ± 12.706·0.7071/√2; share 1.5/3."""

    def run(name, seed, regret):
        return PeerRun("delegation", name, seed, 1, (1,), (0.0,), np.array([[regret, 0.0]]), 0.5)

    rows = summarise([run("linucb", 0, 1), run("linucb", 1, 2), run("random", 0, 2), run("random", 1, 4)])
    assert [row.selector for row in rows] == ["linucb", "random"]
    assert (rows[0].regret, rows[0].difference, rows[0].share) == pytest.approx((1.5, -1.5, 0.5))
    assert [row.share_trial for row in rows] == [pytest.approx(0.5), None]
    assert rows[0].difference_interval == pytest.approx((-7.853, 4.853), abs=1e-3)
    assert rows[1].difference is None
    alone = summarise([run("linucb", 0, 1)])[0]
    assert (alone.regret_interval, alone.difference, alone.share, alone.share_trial) == (None,) * 4


def test_the_share_of_the_trial_phase_leaves_exploitation_out():
    """Regrets 1 + 0 of a selector that exploits, 2 + 2 of random: ½ and ¼."""

    def run(name, regrets):
        table = np.array([[regret, 0.0] for regret in regrets])
        return PeerRun("delegation", name, 0, 1, (1, 1), (0.0, 0.0), table, 0.5)

    row = summarise([run("linucb", (1, 0)), run("random", (2, 2))])[0]
    assert (row.share, row.share_trial) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: play("delegatoin"), r"unknown setting 'delegatoin' \(did you mean 'delegation'\?\)"),
        (lambda: play(selector="linucv"), r"unknown selector 'linucv' \(did you mean 'linucb'\?\)"),
        (lambda: play(rounds=0), "rounds = 0: expected at least 1"),
        (lambda: play(rounds=5, trial_rounds=6), "trial_rounds = 6: expected 0 to rounds = 5"),
        (lambda: play(alpha=-1.0), "alpha = -1.0"),
        (lambda: play(peers=[SkilledPeer({})]), "leave nothing to choose"),
        (lambda: check_selectors(["random", "best"]), "unknown selector 'best'"),
        (lambda: check_selectors(["random", "random"]), "'random' twice"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(MageError, match=message):
        call()


def test_three_fifths_are_trial():
    assert [trial_length(50, None), trial_length(50, 0), trial_length(5, 5)] == [30, 0, 5]
