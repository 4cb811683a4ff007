"""MineSweeper: a board by hand, what holds on boards of all sizes, and that the deal alone lays the mines."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.game import Game, Guided, TreeGame
from mage.play.games import make_game, normalise_game
from mage.play.games.minesweeper import MineEpisode, MineSweeper

SIDES = st.integers(1, 8)


def board(*mines: str, rows=3, columns=3, turns=10, dialect="compact"):
    """An episode with mines where they are said to be."""
    game = MineSweeper(rows, columns, len(mines), turns, dialect=dialect)
    return MineEpisode(game, frozenset(map(game.cells.index, mines)))


def opened(episode, *cells):
    for cell in cells:
        asyncio.run(episode.step(cell))
    return episode


def test_by_hand():
    episode = board("a1")
    assert episode.observe(0) == "a1 b1 c1 a2 b2 c2 a3 b3 c3"
    opened(episode, "b1")
    assert episode.observe(0) == "a1 b1=1 c1 a2 b2 c2 a3 b3 c3"
    assert episode.legal() == ("a1", "c1", "a2", "b2", "c2", "a3", "b3", "c3")
    opened(episode, "c3")  # no mine around it: everything that can be is opened with it, and that is all
    assert (episode.seat, episode.returns(), episode.outcome(0)) == (None, (1.0,), "clear")
    assert episode.numbers == [None, 1, 0, 1, 1, 0, 0, 0, 0]


def test_a_mine_ends_it_and_only_that_one_is_told():
    episode = opened(board("a1", "c3"), "b2", "c3")
    assert (episode.seat, episode.legal(), episode.returns(), episode.outcome(0)) == (None, (), (0.0,), "c3=mine")
    game = MineSweeper(3, 3, 2, 10)
    assert game.facts(episode, 0) == ("c3=mine",)
    assert game.facts(board("a1", "b1"), 0) == ()


def test_turns_run_out():
    episode = opened(board("b2", turns=2), "a1", "b1")
    assert (episode.seat, episode.returns(), episode.outcome(0)) == (None, (0.0,), "late")
    won = opened(board("a1", turns=2), "b1", "c3")
    assert won.returns() == (1.0,)  # with the last turn


def test_sentences_are_true():
    episode = board("a1", turns=4, dialect="natural")
    opened(episode, "b1")
    assert episode.observe(0) == "   a b c\n 1 ? 1 ?\n 2 ? ? ?\n 3 ? ? ?\nTurns left: 3."
    assert opened(episode, "a1").outcome(0) == "There was a mine at a1: you lost. You score 0."
    rules = make_game("minesweeper", "natural").rules(0)
    assert "6 rows and 6 columns with 3 mines" in rules
    assert "10 turns" in rules


def test_giving_up():
    episode = board("a1")
    asyncio.run(episode.forfeit(0))
    assert (episode.seat, episode.returns(), episode.outcome(0)) == (None, (0.0,), "forfeit")
    with pytest.raises(GameError, match="cannot forfeit: the episode has ended"):
        asyncio.run(episode.forfeit(0))


def test_what_is_not_legal_is_refused():
    episode = opened(board("a1"), "b1")
    for action in ("b1", "d1", ""):
        with pytest.raises(GameError, match=rf"action '{action}' is not legal here; legal: a1, c1"):
            opened(episode, action)
    for ask in (episode.returns, lambda: episode.outcome(0)):
        with pytest.raises(GameError, match="the episode has not ended"):
            ask()
    with pytest.raises(GameError, match=r"legal: none \(the episode has ended\)"):
        opened(board("a1"), "a1", "b1")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("minesweeper:rows=2,columns=2,mines=4", "mines = 4 leaves no cell of 4 to open"),
        ("minesweeper:rows=0", "rows = '0' is not an integer in 1..20"),
        ("minesweeper:bombs=3", "unknown parameter 'bombs'"),
    ],
)
def test_specs_that_are_refused(spec, words):
    with pytest.raises(GameError, match=words):
        make_game(spec)


def test_one_spelling():
    assert normalise_game("minesweeper: mines=3, rows=4") == "minesweeper:rows=4"


@given(SIDES, SIDES, st.data())
def test_boards_of_all_sizes(rows, columns, data):
    if rows * columns == 1:
        return
    mines = data.draw(st.integers(1, rows * columns - 1))
    game = MineSweeper(rows, columns, mines, 400)
    assert isinstance(game, Game)
    assert not isinstance(game, TreeGame)
    seed = data.draw(st.integers(0, 1000))
    episode = asyncio.run(game.start(SeededDice(seed)))
    assert len(episode.mines) == mines
    assert isinstance(episode, Guided)
    words = {*game.vocabulary()}
    while episode.seat is not None:
        before = len(episode.opened)
        assert {*episode.observe(0).split()} <= words
        opened(episode, episode.gold())
        assert len(episode.opened) > before
        assert not episode.opened & episode.mines
    assert episode.returns() == (1.0,)
    again = asyncio.run(game.start(SeededDice(seed)))
    assert again.mines == episode.mines


@given(st.integers(0, 1000), st.integers(0, 35), st.integers(0, 35))
def test_whatever_is_opened_first_the_mines_are_where_they_are(seed, one, other):
    """Interleaved: two episodes of the same deal, opened elsewhere, have the same mines, and so does a third."""
    game = make_game("minesweeper")
    first, second = (asyncio.run(game.start(SeededDice(seed))) for _ in range(2))
    opened(first, game.cells[one])
    opened(second, game.cells[other])
    third = asyncio.run(game.start(SeededDice(seed)))
    assert first.mines == second.mines == third.mines
    assert (game.cells[one] == first.met) == (one in third.mines)


def test_layouts_are_alike():
    game = MineSweeper(2, 2, 1, 4)
    places = [next(iter(asyncio.run(game.start(SeededDice(seed))).mines)) for seed in range(2000)]
    for cell in range(4):
        assert abs(places.count(cell) - 500) < 100  # five standard deviations


def test_the_oracle_clears_nearly_every_board():
    """Not all: some boards have more than ten separate places to open."""

    async def clear(seed):
        game = make_game("minesweeper")
        episode = await game.start(SeededDice(seed))
        while episode.seat is not None:
            await episode.step(episode.gold())
        return episode.returns()[0]

    assert sum(asyncio.run(clear(seed)) for seed in range(300)) / 300 > 0.95
