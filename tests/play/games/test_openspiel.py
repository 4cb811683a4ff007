"""The adapter: trees, episodes, forfeits, replays, memory."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL, TreeGame
from mage.play.games import describe_game, game_names, make_game
from mage.play.games.kuhn import KUHN
from mage.play.games.openspiel import OpenSpielGame

OPENSPIEL = [name for name in game_names(extras=False) if isinstance(make_game(name), OpenSpielGame)]


def positions(node):
    yield node
    for action in node.actions:
        yield from positions(node.child(action))


async def play_random(game, seed):
    """Yields what happens, one action at a time, so that several episodes can be stepped in turn."""
    choose = random.Random(seed)
    episode = await game.start(SeededDice(seed))
    while episode.seat is not None:
        action = choose.choice(episode.legal())
        yield episode.seat, episode.observe(episode.seat), episode.legal(), action
        await episode.step(action)
    yield episode.returns(), episode.outcome(0), episode.outcome(1)


async def gather(stream):
    return [event async for event in stream]


async def interleaved(*streams):
    """The events of each stream, all stepped in turn."""
    events = [[] for _ in streams]
    running = list(enumerate(streams))
    while running:
        for index, stream in list(running):
            try:
                events[index].append(await anext(stream))
            except StopAsyncIteration:
                running.remove((index, stream))
    return events


@pytest.mark.parametrize("name", game_names(extras=False))
def test_interleaved_episodes_replay_exactly(name):
    game = make_game(name)
    alone = [asyncio.run(gather(play_random(make_game(name), seed))) for seed in range(6)]
    together = asyncio.run(interleaved(*(play_random(game, seed) for seed in [*range(6), *range(6)])))
    assert together == alone + alone
    assert len({str(events) for events in alone}) > 1


@pytest.mark.parametrize("name", OPENSPIEL)
def test_games_say_what_they_are(name):
    game = make_game(name)
    assert isinstance(game, TreeGame)
    assert (game.name, game.seats, game.dialect) == (name, 2, "compact")
    assert game.has_chance == ("poker" in name)
    assert game.rules(0) == ""
    rules = [make_game(name, "natural").rules(seat) for seat in range(2)]
    assert "first" in rules[0].split("\n")[0]
    assert "second" in rules[1].split("\n")[0]
    assert describe_game(name)


def test_kuhn_tree_has_its_58_positions_and_fair_deals():
    nodes = list(positions(make_game("kuhn_poker").root()))
    assert len(nodes) == 58
    assert sum(node.player == TERMINAL for node in nodes) == 30
    for node in nodes:
        assert bool(node.chance) == (node.player == CHANCE)
        if node.chance:
            assert sum(node.chance) == pytest.approx(1)
        if node.player == TERMINAL:
            assert node.returns[0] == -node.returns[1]


def test_nodes_agree_with_openspiel():
    for name in ("kuhn_poker", "leduc_poker"):
        for node in positions(make_game(name).root()):
            native = node.native()
            assert node.player == native.current_player()
            assert node.history == tuple(native.history())
            assert list(node.actions) == native.legal_actions()
            assert node.returns == (tuple(native.returns()) if native.is_terminal() else ())


def test_children_are_built_once_and_native_states_are_copies():
    root = make_game("kuhn_poker").root()
    child = root.child(0)
    assert root.child(0) is child
    native = child.native()
    native.apply_action(1)
    assert child.history == (0,)
    assert child.native().history() == [0]
    node = child.child(1)
    assert node.after("bet") is node.child(1)


def test_memory_is_bounded_and_play_is_the_same_without_it():
    game = OpenSpielGame(KUHN, "compact", memo_limit=3)
    root = game.root()
    kept = [root.child(action) for action in root.actions]
    assert all(root.child(action) is node for action, node in zip(root.actions, kept, strict=True))
    assert kept[0].child(1) is not kept[0].child(1)
    ample = make_game("kuhn_poker")
    for seed in range(10):
        assert asyncio.run(gather(play_random(game, seed))) == asyncio.run(gather(play_random(ample, seed)))


@pytest.mark.parametrize("action", [99, -1, 2])
def test_illegal_action_numbers_are_refused(action):
    node = make_game("kuhn_poker").root().child(0).child(1)
    with pytest.raises(GameError, match=rf"action {action} is not legal here; legal: 0, 1"):
        node.child(action)


def test_chance_outcomes_are_checked_too():
    with pytest.raises(GameError, match="action 99 is not legal"):
        make_game("kuhn_poker").root().child(99)


def run(script):
    async def go():
        return await script(await make_game("kuhn_poker").start(SeededDice(0)))  # deals K, J

    return asyncio.run(go())


def test_illegal_names_are_refused_and_change_nothing():
    async def script(episode):
        before = episode.state
        with pytest.raises(GameError, match=r"action 'raise' is not legal here; legal: pass, bet"):
            await episode.step("raise")
        assert episode.state is before
        await episode.step("pass")
        await episode.step("pass")
        assert episode.seat is None
        assert episode.legal() == ()
        with pytest.raises(GameError, match="episode has ended"):
            await episode.step("pass")
        assert episode.returns() == (1.0, -1.0)

    run(script)


@pytest.mark.parametrize(
    ("loser", "returns", "told"), [(0, (-2.0, 2.0), "-2 forfeit pass"), (1, (2.0, -2.0), "+2 forfeit pass")]
)
def test_forfeit_costs_the_worst_return(loser, returns, told):
    async def script(episode):
        await episode.step("pass")
        await episode.forfeit(loser)
        assert episode.seat is None
        assert episode.legal() == ()
        assert episode.returns() == returns
        assert episode.outcome(0) == told
        assert episode.observe(0) == "first K pass"
        assert make_game("kuhn_poker").facts(episode, 1) == ("check hidden",)
        with pytest.raises(GameError):
            await episode.step("pass")
        with pytest.raises(GameError):
            await episode.forfeit(0)

    run(script)


def test_leduc_forfeit_costs_13_chips():
    async def go():
        episode = await make_game("leduc_poker", "natural").start(SeededDice(0))
        await episode.forfeit(1)
        return episode.returns(), episode.outcome(1)

    returns, told = asyncio.run(go())
    assert returns == (13.0, -13.0)
    assert told.endswith("You forfeited the hand. You lose 13 chips.")


def test_returns_and_outcome_only_at_the_end():
    async def script(episode):
        with pytest.raises(GameError):
            episode.returns()
        with pytest.raises(GameError):
            episode.outcome(0)

    run(script)


@given(st.integers(0, 2**63 - 1))
def test_same_dice_same_deal(seed):
    game = make_game("leduc_poker")

    async def deal():
        return (await game.start(SeededDice(seed))).state

    assert asyncio.run(deal()) is asyncio.run(deal())


def test_deals_are_uniform():
    game = make_game("kuhn_poker")

    async def deals():
        return [(await game.start(SeededDice(seed))).state.history for seed in range(3000)]

    history = asyncio.run(deals())
    counts = [history.count(deal) for deal in set(history)]
    assert len(counts) == 6
    assert max(abs(count - 500) for count in counts) < 5 * (500 * 5 / 6) ** 0.5


def test_unknown_names_say_what_exists():
    with pytest.raises(GameError, match=r"unknown game 'kuhn_pocker' \(did you mean 'kuhn_poker'\?\); known: .*comb"):
        make_game("kuhn_pocker")
    with pytest.raises(GameError, match="unknown dialect 'latin'; known: compact, natural"):
        make_game("kuhn_poker", "latin")
