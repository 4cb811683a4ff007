from __future__ import annotations

import asyncio
import re
from collections import Counter

import pytest
from counting import CharacterRenderer, LineSampler
from hypothesis import given
from hypothesis import strategies as st

from mage.play.actors import CachedRenderer, PlainActor, RandomActor, StrategyFirst, match_action, parse_block


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("<action>bet</action>", "bet", ""),
        ("  it folds  <action>\n bet </action>", "bet", "it folds"),
        ("<action>pass</action> no, <action>bet</action> ok", "bet", "<action>pass</action> no, ok"),
        ("<action>a <action>bet</action>", "bet", "<action>a"),
        ("<action>bet</action></action>", "bet", "</action>"),
        ("<action>bet</action> then <action>pass", "bet", "then <action>pass"),
        ("</action>bet<action>", None, "</action>bet<action>"),
        ("<remark>bet</remark>", None, "<remark>bet</remark>"),
        ("<action></action>", "", ""),
        ("bet", None, "bet"),
        ("", None, ""),
    ],
)
def test_the_last_well_formed_block_counts(text, said, thought):
    assert parse_block(text, "action") == (said, thought)


pieces = st.lists(st.sampled_from(["<action>", "</action>", "bet", "pass", " ", "<remark>"]), max_size=12)


@given(pieces, st.sampled_from(["bet", "all in", "é"]))
def test_a_block_at_the_end_always_counts(before, word):
    assert parse_block("".join(before) + f"<action>{word}</action>", "action")[0] == word


@given(pieces)
def test_parsing_agrees_with_a_regular_expression(parts):
    text = "".join(parts)
    blocks = re.findall(r"<action>((?:(?!</?action>).)*)</action>", text)
    assert parse_block(text, "action")[0] == (blocks[-1].strip() if blocks else None)


@pytest.mark.parametrize(
    ("said", "legal", "action"),
    [
        ("bet", ("pass", "bet"), "bet"),
        ("BET", ("pass", "bet"), "bet"),
        (" move   Up ", ("move up", "move down"), "move up"),
        ("raise", ("pass", "bet"), None),
        ("", ("pass", "bet"), None),
        (None, ("pass", "bet"), None),
        ("A", ("a", "A"), "A"),
        ("move A", ("move a", "Move a"), None),
    ],
)
def test_actions_are_matched_to_legal_names(said, legal, action):
    assert match_action(said, legal) == action


def test_plain_actor_passes_on_what_was_sampled():
    actor = PlainActor(LineSampler(["so <action>bet</action>", "x" * 9]), max_action_tokens=8, max_remark_tokens=9)
    acted = asyncio.run(actor.act([1], ("bet",), 3))
    assert (acted.said, acted.text, acted.truncated) == ("bet", "so <action>bet</action>", False)
    assert acted.tokens == CharacterRenderer().encode(acted.text)
    assert acted.logprobs == (-0.5,) * len(acted.tokens)
    reflected = asyncio.run(actor.reflect([1], tuple, 4))
    assert (reflected.said, reflected.truncated) == (None, True)


def test_plain_actor_knows_its_room():
    actor = PlainActor(LineSampler([], context_length=100), max_action_tokens=8, max_remark_tokens=20)
    assert actor.fits(92, "act")
    assert not actor.fits(93, "act")
    assert actor.fits(80, "reflect")
    assert not actor.fits(81, "reflect")


def test_plain_actor_settings_reach_the_sampler():
    sampler = LineSampler(["", ""])
    actor = PlainActor(sampler, max_action_tokens=8, max_remark_tokens=9, temperature=0.7, top_p=0.8, top_k=20)
    asyncio.run(actor.act([1], ("bet",), 3))
    asyncio.run(actor.reflect([1], tuple, 4))
    assert [(p.max_tokens, p.temperature, p.top_p, p.top_k) for p in sampler.params] == [
        (8, 0.7, 0.8, 20),
        (9, 0.7, 0.8, 20),
    ]
    assert sampler.seeds == [3, 4]


def test_a_strategy_first_has_a_temperature_and_room_of_its_own():
    sampler = LineSampler(["<strategy>s</strategy><action>bet</action>", "", ""])
    strategy = StrategyFirst(temperature=1.2, max_tokens=5)
    actor = PlainActor(sampler, max_action_tokens=8, max_remark_tokens=9, temperature=0.7, strategy=strategy)
    assert asyncio.run(actor.act([1], ("bet",), 3)).said == "bet"
    asyncio.run(actor.reflect([1], tuple, 4))
    asyncio.run(actor.say("why", 6, 5))
    act, reflect, say = sampler.params
    assert (act.max_tokens, act.temperature, act.then) == (13, 1.2, ("</strategy>", 0.7))
    assert (reflect.temperature, reflect.then) == (0.7, None)
    assert (say.max_tokens, say.temperature, say.then, say.stop) == (6, 0.7, None, ())
    even = PlainActor(sampler, max_action_tokens=8, max_remark_tokens=9, strategy=StrategyFirst(1.0, 5))
    sampler.lines = iter([""])
    asyncio.run(even.act([1], ("bet",), 3))
    assert sampler.params[-1].then is None


def test_random_actor_draws_uniformly_and_repeats_by_seed():
    actor = RandomActor(reports=True)

    async def draw(seed):
        return (await actor.act([], ("a", "b", "c"), seed)).said, (
            await actor.reflect([], lambda: ("x", "y"), seed)
        ).said

    async def many():
        return [await draw(seed) for seed in range(6000)]

    draws = asyncio.run(many())
    assert draws == asyncio.run(many())
    for index, kinds in ((0, 3), (1, 2)):
        counts = Counter(draw[index] for draw in draws)
        assert len(counts) == kinds
        assert all(abs(count - 6000 / kinds) < 5 * (6000 / kinds) ** 0.5 for count in counts.values())


def test_random_actor_without_reports_never_asks_for_facts():
    response = asyncio.run(RandomActor().reflect([], lambda: 1 / 0, 0))
    assert (response.said, response.text, response.tokens) == ("", "<remark></remark>", ())


def test_cached_renderer_asks_once():
    asked = []

    class Counted(CharacterRenderer):
        def user(self, text):
            asked.append(text)
            return super().user(text)

    renderer = CachedRenderer(Counted())
    assert renderer.user("a") == renderer.user("a") == CharacterRenderer().user("a")
    assert asked == ["a"]
    assert renderer.system("s") == CharacterRenderer().system("s")
    assert renderer.close((1,)) == (ord("."),)


def test_remarks_may_have_a_temperature_of_their_own_and_say_so():
    sampler = LineSampler(["<action>bet</action>", "<remark>x</remark>"])
    actor = PlainActor(sampler, max_action_tokens=30, max_remark_tokens=30, remark_temperature=0.5)
    assert asyncio.run(actor.act([1], ("bet",), 3)).temperatures == ()
    remark = asyncio.run(actor.reflect([1], tuple, 4))
    assert [params.temperature for params in sampler.params] == [1.0, 0.5]
    assert remark.temperatures == (0.5,) * len(remark.tokens)
