"""Sokoban: rooms by hand, the searches against each other, and rooms of all sizes that can be solved as asked."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.game import Game, Guided, Spoken, TreeGame
from mage.play.games import make_game, normalise_game
from mage.play.games.sokoban import SokobanEpisode
from mage.play.games.sokoban_room import Position, Room
from mage.play.games.sokoban_rooms import Sizes, make_room
from mage.play.games.sokoban_search import lengths, solution

ROOM = """
######
#_P__#
#_XO_#
#____#
######
"""


def drawn(text):
    """Room and position of a map."""
    rows = text.split()
    columns = len(rows[0])
    at = {(row * columns + column): sign for row, line in enumerate(rows) for column, sign in enumerate(line)}

    def cells(signs):
        return frozenset(cell for cell, sign in at.items() if sign in signs)

    (player,) = cells("PS")
    return Room(len(rows), columns, frozenset(at) - cells("#"), cells("O*S")), Position(player, cells("X*"))


def episode_of(text, spec="sokoban", dialect="compact"):
    return SokobanEpisode(make_game(spec, dialect), *drawn(text))


def played(episode, *answers):
    for answer in answers:
        asyncio.run(episode.step(answer))
    return episode


def test_by_hand():
    episode = episode_of(ROOM)
    assert episode.observe(0) == "b2_ c2P d2_ e2_ b3_ c3X d3O e3_ b4_ c4_ d4_ e4_"
    played(episode, "left down right")
    assert (episode.seat, episode.returns(), episode.outcome(0)) == (None, (1.0,), "solved")
    assert episode.observe(0) == "b2_ c2_ d2_ e2_ b3_ c3P d3* e3_ b4_ c4_ d4_ e4_"


def test_walls_and_boxes_are_in_the_way():
    episode = played(episode_of(ROOM), "up")
    assert episode.position == drawn(ROOM)[1]  # a wall; the turn is used
    assert episode.turns == 1
    played(episode, "down")
    assert episode.observe(0) == "b2_ c2_ d2_ e2_ b3_ c3P d3O e3_ b4_ c4X d4_ e4_"
    before = episode.position
    played(episode, "down")
    assert episode.position == before  # a box against a wall
    two = episode_of("#######\n#PXXO_#\n#___O_#\n#######")
    played(two, "right")
    assert two.position == drawn("#######\n#PXXO_#\n#___O_#\n#######")[1]  # two boxes are not pushed at once


def test_turns_run_out_and_nothing_says_that_a_box_is_stuck():
    episode = episode_of(ROOM, "sokoban:turns=2,moves=1")
    played(episode, "down")
    assert (episode.seat, episode.observe(0)) == (0, "b2_ c2_ d2_ e2_ b3_ c3P d3O e3_ b4_ c4X d4_ e4_")
    played(episode, "up")
    assert (episode.seat, episode.legal(), episode.returns(), episode.outcome(0)) == (None, (), (0.0,), "late")


def test_an_answer_ends_where_the_room_is_solved():
    episode = played(episode_of("#####\n#PXO#\n#___#\n#####"), "right left up")
    assert (episode.seat, episode.position.player) == (None, 7)


def test_answers_that_are_read():
    natural = episode_of(ROOM, dialect="natural")
    assert isinstance(natural, Spoken)
    assert natural.grammar() == "one to 3 of up, down, left, right (separated by commas)"
    assert natural.read("Up,LEFT ; down") == "up, left, down"
    assert [natural.read(said) for said in ("", "up up up up", "fly", "up, fly")] == [None] * 4
    assert episode_of(ROOM).read("up  left") == "up left"
    assert len(natural.legal()) == 64


def test_what_is_not_legal_is_refused():
    episode = episode_of(ROOM)
    with pytest.raises(GameError, match="action 'fly' is not legal here; legal: up down left right"):
        played(episode, "fly")
    with pytest.raises(GameError, match="it has no returns yet"):
        episode.returns()
    asyncio.run(episode.forfeit(0))
    assert (episode.returns(), episode.outcome(0)) == ((0.0,), "forfeit")
    with pytest.raises(GameError, match=r"legal: none \(the episode has ended\)"):
        played(episode, "up")


def test_sentences_are_true():
    episode = episode_of(ROOM, dialect="natural")
    assert episode.observe(0).splitlines()[1] == "# _ P _ _ #"
    assert episode.observe(0).endswith("Turns left: 7.")
    rules = make_game("sokoban:boxes=1", "natural").rules(0)
    assert "push the box onto the target." in rules
    assert "7 turns of up to 3 moves" in rules


def test_a_shortest_solution_by_hand():
    room, position = drawn(ROOM)
    assert solution(room, position, 1000) == (2, 1, 3)
    stuck = drawn("######\n#P___#\n#___O#\n#X___#\n######")
    assert solution(*stuck, 1000) is None
    assert lengths(room, 10_000)[position] == 3


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_both_searches_agree(seed, boxes):
    sizes = Sizes(6, 6, boxes, 3, 20, 20_000)
    room, position = make_room(sizes, seed)
    length = lengths(room, 10**6)[position]
    path = solution(room, position, 10**6)
    assert 3 <= len(path) == length <= 20
    assert position.boxes.isdisjoint(room.targets)
    assert len(position.boxes) == len(room.targets) == boxes
    for move in path:
        assert not room.solved(position)
        position = room.move(position, room.steps[move])
    assert room.solved(position)


@settings(max_examples=20)
@given(st.integers(4, 9), st.integers(5, 9), st.integers(0, 100))
def test_rooms_of_all_sizes(rows, columns, seed):
    game = make_game(f"sokoban:rows={rows},columns={columns},boxes=1,shortest=1,longest=30")
    assert isinstance(game, Game)
    assert not isinstance(game, TreeGame)
    first, second = (asyncio.run(game.start(SeededDice(seed))) for _ in range(2))
    assert isinstance(first, Guided)
    assert {*first.observe(0).split()} <= {*game.vocabulary()}
    played(first, "up")  # interleaved with a second episode of the same deal
    assert second.observe(0) == asyncio.run(game.start(SeededDice(seed))).observe(0)


@pytest.mark.parametrize("boxes", [1, 2, 3])
def test_the_oracle_solves_every_room(boxes):
    game = make_game(f"sokoban:boxes={boxes}")

    async def solve(seed):
        episode = await game.start(SeededDice(seed))
        while episode.seat is not None:
            await episode.step(episode.gold())
        return episode.returns()[0]

    assert [asyncio.run(solve(seed)) for seed in range(60)] == [1.0] * 60


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("sokoban:shortest=9,longest=3", "shortest = 9 is more than longest = 3"),
        ("sokoban:boxes=0", "boxes = '0' is not an integer in 1..6"),
        ("sokoban:rows=3", "rows = '3' is not an integer in 4..20"),
    ],
)
def test_specs_that_are_refused(spec, words):
    with pytest.raises(GameError, match=words):
        make_game(spec)


def test_rooms_that_cannot_be():
    game = make_game("sokoban:rows=4,columns=4,boxes=1,shortest=50,longest=60")
    with pytest.raises(GameError, match="no room of Sokoban in 1000 has a shortest solution of 50 to 60 moves"):
        asyncio.run(game.start(SeededDice(0)))


def test_one_spelling():
    assert normalise_game("sokoban: moves=3, boxes=1") == "sokoban:boxes=1"
