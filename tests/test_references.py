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
from mage.play.specs import Parameter

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

def fail(dialect):
    raise ValueError("no such\\n dialect")

def entry(fits, build):
    return Entry("bad", "", "any game", fits, build)

class Sync:
    name = "sync"
    def act(self, state, dice):
        return 0

NONE = entry(lambda game: True, lambda spec, game, values: None)
SYNC = entry(lambda game: True, lambda spec, game, values: Sync())
BUILD = entry(lambda game: True, lambda spec, game, values: 1 / 0)
FITS = entry(lambda game: 1 / 0, None)
NO_DEFAULTS = Method("none", "trained", "none", "", None)
NO_TABLE = Method("none", "trained", "none", "", {"seed": 5})
"""
BROKEN = {
    "needy_things": ("import no_such_package_at_all", "ModuleNotFoundError: No module named 'no_such_package_at_all'"),
    "lacking_things": ("from mage import nothing_of_it", "ImportError: cannot import name 'nothing_of_it'"),
    "misspelt_things": ("def x(:", "SyntaxError: invalid syntax .misspelt_things.py, line 1"),
    "leaving_things": ("import sys; sys.exit(0)", "SystemExit: 0 .leaving_things.py, line 1"),
    "failing_things": ("1 / 0", "ZeroDivisionError: division by zero .failing_things.py, line 1"),
}


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    (tmp_path / "own_things.py").write_text(OWN)
    for name, (text, _) in BROKEN.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\n")
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
        ("own_things:make_nothing", "made a str, which is no Game: it lacks name, seats, has_chance, dialect"),
        ("own_things:fail", "game 'own_things:fail', made for dialect 'compact': ValueError: no such dialect .own_"),
        ("builtins:int", "game 'builtins:int', made for dialect 'compact': ValueError: invalid literal"),
    ],
)
def test_what_is_no_game(reference, words):
    with pytest.raises(GameError, match=words):
        make_game(reference)


@pytest.mark.parametrize("name", BROKEN)
def test_a_module_that_cannot_be_imported_is_named_with_the_reason(name):
    with pytest.raises(GameError, match=f"game '{name}:GAME': importing '{name}' failed: {BROKEN[name][1]}"):
        make_game(f"{name}:GAME")
    with pytest.raises(RecipeError, match=f"method '{name}:X': importing '{name}' failed"):
        parse_recipe({"method": f"{name}:X"}, "test")


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
        ("own_things:NONE", "kuhn_poker", "its entry built a NoneType, which is no opponent; expected an object with"),
        ("own_things:SYNC", "kuhn_poker", "its entry built a Sync, which is no opponent.*async def act"),
        ("own_things:BUILD", "kuhn_poker", "opponent 'own_things:BUILD': ZeroDivisionError: division by zero"),
        ("own_things:FITS", "kuhn_poker", "opponent 'own_things:FITS': ZeroDivisionError: division by zero"),
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
    with pytest.raises(RecipeError, match=r"method 'own_things:NO_DEFAULTS': defaults = None: should be tables"):
        parse_recipe({"method": "own_things:NO_DEFAULTS"}, "test")
    with pytest.raises(RecipeError, match=r"method 'own_things:NO_TABLE': defaults = {'seed': 5}: should be tables"):
        parse_recipe({"method": "own_things:NO_TABLE"}, "test")


def test_what_fits_is_up_to_the_caller():
    assert load("number", "own_things:NUMBER", wanted="three", fits=lambda found: found == 3) == 3
    with pytest.raises(MageError, match=r"number 'own_things:NUMBER': .*expected four"):
        load("number", "own_things:NUMBER", wanted="four", fits=lambda found: found == 4)
