"""Games, opponents and methods of the user's own, named `module:attribute` in a recipe."""

import sys

import pytest

from mage.commands.limit import split_pool
from mage.errors import GameError, MageError, RecipeError
from mage.play.game import units_of
from mage.play.games import make_game
from mage.play.games.kuhn import KUHN
from mage.play.games.openspiel import OpenSpielGame
from mage.play.opponents import make_opponent, normalise
from mage.recipe_file import parse_recipe
from mage.references import is_reference, load
from mage.run.arena import make_arena

OWN = """
from mage.methods import Method
from mage.play.games.kuhn import KUHN
from mage.play.games.openspiel import OpenSpielGame
from mage.play.opponents.catalogue import Entry
from mage.play.opponents.policy import Mixed
from mage.play.opponents.specs import Parameter

NUMBER = 3
GAME = KUHN
TILTED = Entry(
    "tilted", "bets with a fixed chance", "kuhn_poker", lambda game: game.name == "kuhn_poker",
    lambda spec, game, values: Mixed(spec, lambda state: ((0, 1 - values["rate"]), (1, values["rate"]))),
    (Parameter("rate", 0.5, "chance of a bet", high=1),),
)
PATIENT = Method("patient", "trained", "none", "looks far ahead", {"credit": {"gamma_traj": 0.9}})
MISSPELT = Method("misspelt", "trained", "none", "", {"credit": {"gamma_trial": 0.9}})

def make(dialect):
    return OpenSpielGame(KUHN, dialect)

def make_nothing(dialect):
    return dialect
"""


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    (tmp_path / "own_things.py").write_text(OWN)
    (tmp_path / "needy_things.py").write_text("import no_such_package_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("own_things", None)


def test_a_game_says_what_its_returns_count():
    class Bare:
        pass

    assert units_of(make_game("own_things:GAME")) == "chips per hand"
    assert units_of(OpenSpielGame(KUHN, "compact")) == "chips per hand"
    assert units_of(make_game("connect_four")) == "points per game"
    assert units_of(Bare()) == "return per episode"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a:b", True),
        ("my_pkg.games:make_rps", True),
        ("kuhn_poker", False),
        ("a:b:c", False),
        ("a:b=1", False),
        ("a.:b", False),
        ("1a:b", False),
        ("a: b", False),
        (":b", False),
        ("a:", False),
    ],
)
def test_form_of_a_reference(name, expected):
    assert is_reference(name) is expected


@pytest.mark.parametrize("reference", ["own_things:GAME", "own_things:make"])
def test_a_game_is_a_description_or_something_that_makes_one(reference):
    game = make_game(reference, "natural")
    assert isinstance(game, OpenSpielGame)
    assert (game.name, game.dialect, game.description) == ("kuhn_poker", "natural", KUHN)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("own_thing:GAME", "game 'own_thing:GAME': there is no module 'own_thing'.*PYTHONPATH=."),
        ("own_things.deep:GAME", "there is no module 'own_things.deep'"),
        ("own_things:GAMES", "module 'own_things' has no 'GAMES'; expected a mage.play.games.wording.Description, or"),
        ("own_things:NUMBER", "module 'own_things' has a int there; expected a mage.play.games.wording.Description"),
        ("own_things:make_nothing", "made a str, which is no TreeGame: it lacks name, seats, has_chance, dialect"),
    ],
)
def test_what_is_no_game(reference, words):
    with pytest.raises(GameError, match=words):
        make_game(reference)


def test_a_module_that_lacks_a_package_says_so_itself():
    with pytest.raises(ModuleNotFoundError, match="no_such_package_at_all"):
        make_game("needy_things:GAME")


def test_an_opponent_with_parameters():
    game = make_game("kuhn_poker")
    opponent = make_opponent("own_things:TILTED: rate = 0.25", game)
    assert opponent.name == "own_things:TILTED:rate=0.25"
    assert opponent.policy(game.root().child(0).child(1)) == ((0, 0.75), (1, 0.25))
    assert normalise("own_things:TILTED") == "own_things:TILTED:rate=0.5"
    assert normalise(opponent.name) == opponent.name


@pytest.mark.parametrize(
    ("spec", "game", "words"),
    [
        ("own_things:TILTED:rate=2", "kuhn_poker", "rate = '2' is not a number in 0..1"),
        ("own_things:TILTED:rat=1", "kuhn_poker", "unknown parameter 'rat' .did you mean 'rate'"),
        ("own_things:TILTED:rate", "kuhn_poker", "expected name:param=value"),
        ("own_things:TILTED", "leduc_poker", "'own_things:TILTED' needs kuhn_poker, not leduc_poker"),
        ("own_things:GAME", "kuhn_poker", "has a Description there; expected a mage.play.opponents.catalogue.Entry"),
        ("mcts:simulations", "tic_tac_toe", "expected name:param=value"),
        ("mtcs:simulations=3", "tic_tac_toe", "unknown opponent 'mtcs' .did you mean 'mcts'"),
    ],
)
def test_what_is_no_opponent(spec, game, words):
    with pytest.raises(GameError, match=words):
        make_opponent(spec, make_game(game))


def test_pools_of_the_command_line_keep_their_parameters():
    assert split_pool("random,own_things:TILTED:rate=1,mcts:uct=2,seed=1") == [
        "random",
        "own_things:TILTED:rate=1",
        "mcts:uct=2,seed=1",
    ]


def test_a_recipe_of_things_of_ones_own():
    recipe = parse_recipe(
        {
            "method": "own_things:PATIENT",
            "game": {"name": "own_things:GAME"},
            "population": {"train": [{"name": "own_things:TILTED:rate=1"}, {"name": "random"}]},
        },
        "test",
    )
    assert recipe.credit.gamma_traj == 0.9
    arena = make_arena(recipe)
    assert arena.population.names == ("own_things:TILTED:rate=1.0", "random")
    assert set(arena.opponents) == set(arena.population.names)


def test_methods_are_checked_like_recipes():
    with pytest.raises(RecipeError, match=r"credit.gamma_trial: unknown key; known:.*gamma_traj"):
        parse_recipe({"method": "own_things:MISSPELT"}, "test")
    with pytest.raises(RecipeError, match=r"method 'own_things:GAME': .*expected a mage.methods.Method"):
        parse_recipe({"method": "own_things:GAME"}, "test")


def test_what_fits_is_up_to_the_caller():
    assert load("number", "own_things:NUMBER", wanted="three", fits=lambda found: found == 3) == 3
    with pytest.raises(MageError, match=r"number 'own_things:NUMBER': .*expected four"):
        load("number", "own_things:NUMBER", wanted="four", fits=lambda found: found == 4)
