import asyncio
from functools import partial

import pytest

from mage.errors import MageError
from mage.play.actors import RandomActor
from mage.play.games import make_game
from mage.play.opponents import make_opponent
from mage.recipe_file import parse_recipe
from mage.run.arena import make_arena
from mage.show.terminal_play import Terminal, named, play_agent, play_opponent


class Typist:
    """Types given lines, or always the first legal move; keeps what is shown."""

    def __init__(self, lines=None):
        self.lines = None if lines is None else iter(lines)
        self.shown = []
        self.terminal = Terminal(read=self.read, write=self.shown.append)

    def read(self, prompt):
        self.shown.append(prompt)
        if self.lines is None:
            return prompt.partition("(")[2].partition(",")[0].rstrip("): ")
        try:
            return next(self.lines)
        except StopIteration:
            raise EOFError from None

    @property
    def text(self):
        return "\n".join(self.shown)


def against(opponent, typist, *, game="kuhn_poker", seat=0, episodes=3, seed=5):
    world = make_game(game, "natural")
    player = make_opponent(opponent, world)
    play = play_opponent(world, player, seat=seat, episodes=episodes, seed=seed, terminal=typist.terminal)
    return asyncio.run(play)


def test_a_series_with_its_score():
    typist = Typist()
    score = against("aggressive", typist)
    assert score.rewards == [-1.0, -1.0, -1.0]  # checks, is bet at, folds
    assert "Episode 3 of 3" in typist.text
    assert "-1 in this episode, -3 so far" in typist.text
    assert score.closing() == "3 episodes played, -3 in all"


def test_illegal_input_is_explained_and_rules_are_shown():
    typist = Typist(["raise", "", "?", "Pass", "p", "q"])
    score = against("aggressive", typist)
    assert "'raise' is not one of the legal moves" in typist.text
    assert "Kuhn poker" in typist.text
    assert score.rewards == [-1.0]


def test_the_end_of_input_quits():
    assert against("random", Typist([])).closing() == "nothing played"


def test_the_same_seed_deals_the_same_cards():
    first, again, other = Typist(), Typist(), Typist()
    against("random", first, seed=1, episodes=5)
    against("random", again, seed=1, episodes=5)
    against("random", other, seed=2, episodes=5)
    assert first.text == again.text != other.text


def test_names_and_beginnings():
    cells = ("a1", "a2", "b1")
    assert named("B", cells) == "b1"
    assert named("a", cells) is None
    assert named("A2", cells) == "a2"


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four", "leduc_poker"])
def test_every_game_can_be_played_to_its_end(game):
    assert len(against("random", Typist(), game=game, seat=1, episodes=2).rewards) == 2


def agent_series(typist, *, game="kuhn_poker", seat=0, restart="redeal", actor=None):
    trial = {"restart": restart, "memory": "reflection"}
    arena = make_arena(parse_recipe({"game": {"name": game}, "trial": trial}, "test"))
    natural = make_game(game, "natural")
    actor = actor or RandomActor(reports=True)
    play = partial(play_agent, arena, natural, actor, seat=seat, episodes=3, seed=4)
    return asyncio.run(play(terminal=typist.terminal))


def test_an_agent_is_met_with_its_own_memory():
    typist = Typist()
    score = agent_series(typist)
    assert len(score.rewards) == 3
    assert "Your card is" in typist.text  # sentences for the person, though the agent reads the compact dialect
    assert [typist.text.count(f"Episode {number} of 3") for number in (1, 2, 3)] == [1, 1, 1]
    assert "It noted after episode 2:" in typist.text
    assert "It noted after episode 3:" not in typist.text


def test_boards_are_shown_to_the_person_too():
    typist = Typist()
    score = agent_series(typist, game="tic_tac_toe", seat=1, restart="replay")
    assert len(score.rewards) == 3
    assert "a b c" in typist.text


def test_quitting_an_agent_keeps_the_score():
    typist = Typist(["bet"])
    score = agent_series(typist)
    assert len(score.rewards) == 1
    assert score.closing().startswith("1 episode played")


def test_an_agent_that_gives_no_legal_move_forfeits():
    class Mute(RandomActor):
        async def act(self, context, legal, seed):
            return await super().act(context, ("nothing",), seed)

    typist = Typist()
    score = agent_series(typist, actor=Mute())
    assert score.rewards == [2.0, 2.0, 2.0]
    assert "The agent gave no legal move and forfeited" in typist.text


def test_one_seat_is_no_place_for_two(monkeypatch):
    arena = make_arena(parse_recipe({}, "test"))
    monkeypatch.setattr(arena.game, "seats", 1)
    with pytest.raises(MageError, match="games of two"):
        asyncio.run(
            play_agent(arena, arena.game, RandomActor(), seat=0, episodes=1, seed=0, terminal=Typist().terminal)
        )
