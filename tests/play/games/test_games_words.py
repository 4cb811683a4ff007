"""Words of the games: nothing outside the vocabulary, observations that are information states, true facts."""

import asyncio
import random

import pytest

from mage.chance import SeededDice
from mage.play.game import TERMINAL
from mage.play.games import make_game
from mage.play.games.leduc import read


def positions(node):
    """Every position from `node` on."""
    yield node
    for action in node.actions:
        yield from positions(node.child(action))


def random_lines(game, lines, seed):
    """Every position of some random games."""
    choose = random.Random(seed)
    for _ in range(lines):
        node = game.root()
        yield node
        while node.player != TERMINAL:
            node = node.child(choose.choice(node.actions))
            yield node


def words_met(game, nodes):
    met = set()
    for node in nodes:
        met.update(node.names)
        for seat in range(game.seats):
            met.update(node_text for fact in game.description.facts(node, seat) for node_text in fact.split())
            met.update(node.show(seat).split())
            if node.player == TERMINAL:
                met.update(node.outcome(seat).split())
            else:
                worst = game.min_utility
                met.update(game.wording.forfeit(node, seat, seat, worst).split())
                met.update(game.wording.forfeit(node, seat, 1 - seat, -worst).split())
    return met


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_vocabulary_is_exactly_the_words_of_the_whole_tree(name):
    game = make_game(name)
    assert words_met(game, positions(game.root())) == set(game.vocabulary())
    assert len(set(game.vocabulary())) == len(game.vocabulary())


def test_vocabulary_of_tic_tac_toe_is_exactly_the_words_of_all_boards():
    game = make_game("tic_tac_toe")
    seen = {}

    def boards(node):  # one line to each board is enough: texts depend on the board and the last move
        key = (node.show(0), node.history[-1:])
        if key not in seen:
            seen[key] = node
            for action in node.actions:
                boards(node.child(action))

    boards(game.root())
    assert len({show for show, _ in seen}) == 5478
    assert words_met(game, seen.values()) == set(game.vocabulary())


def test_vocabulary_of_connect_four_covers_random_games():
    game = make_game("connect_four")
    # Draws are too rare in random games to be met here.
    assert set(game.vocabulary()) - words_met(game, random_lines(game, 60, seed=0)) == {"drawn"}


@pytest.mark.parametrize("dialect", ["compact", "natural"])
@pytest.mark.parametrize(("name", "count"), [("kuhn_poker", 12), ("leduc_poker", 288)])  # own and other's turns
def test_shown_text_is_the_information_state(name, count, dialect):
    game = make_game(name, dialect)
    for seat in range(2):
        pairs = {
            (node.show(seat), node.native().information_state_string(seat))
            for node in positions(game.root())
            if node.player >= 0  # at the end OpenSpiel's string of Leduc tells who won, which is not seen but told
        }
        assert len(pairs) == count
        assert len({shown for shown, _ in pairs}) == len({state for _, state in pairs}) == len(pairs)


@pytest.mark.parametrize("dialect", ["compact", "natural"])
@pytest.mark.parametrize(("name", "marks"), [("tic_tac_toe", 9), ("connect_four", 42)])
def test_shown_board_is_openspiels(name, marks, dialect):
    game = make_game(name, dialect)
    shown = {}
    for node in random_lines(game, 20, seed=1):
        words = node.show(0).split("\n", 1)[1].split() if dialect == "natural" else node.show(0).split()
        named = game.description.actions if dialect == "compact" and name == "tic_tac_toe" else ()
        cells = ["." if word in named else word for word in words if word in (".", "x", "o", *named)]
        native = str(node.native()).replace("\n", "")
        assert "".join(cells) == native
        assert len(cells) == marks
        assert shown.setdefault(node.show(0), native) == native


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_no_text_tells_a_card_that_was_not_shown(name):
    """Whatever a seat reads is the same for every card of the other that it cannot tell apart."""
    game = make_game(name)
    told = {}
    for node in positions(game.root()):
        folded = node.player == TERMINAL and node.native().history()[-1] == 0 and game.name == "leduc_poker"
        if game.name == "kuhn_poker":
            folded = node.player == TERMINAL and node.history[2:] in ((1, 0), (0, 1, 0))
        if not folded:
            continue
        for seat in range(2):
            key = (seat, node.native().information_state_string(seat))
            texts = (node.show(seat), node.outcome(seat), game.description.facts(node, seat))
            assert told.setdefault(key, texts) == texts
    assert told


def kuhn_end(*history):
    node = make_game("kuhn_poker").root()
    for action in history:
        node = node.child(action)
    return node


@pytest.mark.parametrize(
    ("history", "seat", "shown", "outcome", "facts"),
    [
        ((2, 1, 1, 1), 0, "first K bet bet", "+2 Q bet bet", ("call Q",)),
        ((2, 1, 1, 1), 1, "second Q bet bet", "-2 K bet bet", ("bet K",)),
        ((0, 1, 0, 1, 0), 1, "second Q pass bet pass", "+1 hidden pass bet pass", ("check hidden", "fold hidden")),
        ((0, 1, 0, 1, 1), 1, "second Q pass bet bet", "+2 J pass bet bet", ("check J", "call J")),
        ((0, 1, 0, 1, 1), 0, "first J pass bet bet", "-2 Q pass bet bet", ("bet Q",)),
        ((0, 2, 0, 0), 0, "first J pass pass", "-1 K pass pass", ("check K",)),
        ((1, 2, 1, 0), 0, "first Q bet pass", "+1 hidden bet pass", ("fold hidden",)),
    ],
)
def test_kuhn_by_hand(history, seat, shown, outcome, facts):
    node = kuhn_end(*history)
    assert node.player == TERMINAL
    assert (node.show(seat), node.outcome(seat)) == (shown, outcome)
    assert make_game("kuhn_poker").description.facts(node, seat) == facts


def test_leduc_by_hand():
    game = make_game("leduc_poker")
    node = game.root()
    for action in (2, 1, 1, 2, 1, 1, 1, 2, 2, 1):  # K, Q; check bet call; public Q; check bet raise call
        node = node.child(action)
    assert node.player == TERMINAL
    assert node.show(0) == "first K call raise call Q call raise raise call"
    assert node.outcome(0) == "-11 Q call raise call Q call raise raise call"
    assert game.description.facts(node, 0) == ("bet Q r1", "bet Q r2", "call Q r2")
    assert game.description.facts(node, 1) == ("check K r1", "call K r1", "check K r2", "raise K r2")


def test_leduc_moves_are_read_with_the_right_seat_and_public_card():
    for node in positions(make_game("leduc_poker").root()):
        if node.player < 0:
            continue
        for action in node.actions:
            moves, public = read(node.child(action).history)
            assert (moves[-1].seat, moves[-1].action) == (node.player, action)
            facing = 0 in node.actions
            assert (
                moves[-1].verb
                == {
                    False: {1: "check", 2: "bet"},
                    True: {0: "fold", 1: "call", 2: "raise"},
                }[facing][action]
            )
            text = node.native().information_state_string(0)
            assert (public is not None) == ("Round 2" in text)
            if public is not None:
                assert f"[Public: {public}]" in text


async def _play(game, seed, actions):
    episode = await game.start(SeededDice(seed))
    for action in actions:
        await episode.step(action)
    return episode


async def _facts_of_board():
    game = make_game("tic_tac_toe")
    episode = await _play(game, 0, ["b2", "a1", "a3", "b1", "c1"])
    return game.facts(episode, 0), game.facts(episode, 1), episode.outcome(1)


def test_tic_tac_toe_facts_by_hand():
    assert asyncio.run(_facts_of_board()) == (
        ("took a1", "took b1", "won"),
        ("took b2", "took a3", "took c1", "lost"),
        "lost c1",
    )
