"""The combination lock: by hand, its properties for locks of all sizes, and what it tells a base that is built here."""

import asyncio
import random
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL, Primer, TreeGame, units_of
from mage.play.games import game_parameters, make_game, normalise_game
from mage.play.games.lock import CombinationLock
from mage.play.opponents import make_opponent, opponents

DEPTHS, SYMBOLS = st.integers(1, 20), st.integers(2, 26)


def opened(game, letters, dice=0):
    """The episode in which `letters` are set one after the other."""

    async def play():
        episode = await game.start(SeededDice(dice))
        for letter in letters:
            await episode.step(letter)
        return episode

    return asyncio.run(play())


def code_of(game, dice=0):
    """The letters that open the lock that `dice` deal."""
    return [game.letters[letter] for letter in opened(game, [], dice).state.code]


def another(game, letter):
    return next(other for other in game.letters if other != letter)


def test_by_hand():
    game = make_game("combination_lock:depth=3,symbols=4")
    code = code_of(game)
    wrong = another(game, code[1])
    episode = opened(game, [code[0]])
    assert (episode.seat, episode.observe(0), episode.legal()) == (0, "dial 2", ("a", "b", "c", "d"))
    jammed = opened(game, [code[0], wrong])
    assert (jammed.seat, jammed.legal(), jammed.returns(), jammed.outcome(0)) == (None, (), (0.0,), f"jam -2{wrong}")
    assert game.facts(jammed, 0) == (f"-2{wrong}",)
    open_ = opened(game, code)
    assert (open_.seat, open_.returns(), open_.outcome(0)) == (None, (1.0,), "open")
    assert game.facts(open_, 0) == (f"3{code[2]}",)
    assert game.facts(opened(game, []), 0) == ()
    assert (game.rules(0), game.seats, game.has_chance, game.name) == (
        "",
        1,
        False,
        "combination_lock:depth=3,symbols=4",
    )
    assert units_of(game) == "locks opened per episode"


def test_sentences_are_true():
    game = make_game("combination_lock:depth=3,symbols=4", "natural")
    code = code_of(game)
    wrong = another(game, code[1])
    assert opened(game, code[:1]).observe(0) == "You are at dial 2 of 3."
    told = opened(game, [code[0], wrong]).outcome(0)
    assert told == f"The letter {wrong} is wrong at dial 2: the lock jammed and stays shut. You score 0."
    assert opened(game, code).outcome(0) == "The last dial clicked and the lock opened. You score 1."
    assert "3 dials" in game.rules(0)
    assert "a, b, c, d." in game.rules(0)
    assert "never changes" in game.rules(0)
    assert "never changes" not in make_game("combination_lock:code=dealt", "natural").rules(0)
    assert "one dial" in make_game("combination_lock:depth=1", "natural").rules(0)


def test_a_forfeit_scores_nothing():
    async def give_up(dialect):
        game = make_game("combination_lock:depth=2", dialect)
        episode = await game.start(SeededDice(0))
        await episode.step(game.letters[game.root().code[0]])
        await episode.forfeit(0)
        with pytest.raises(GameError, match="cannot forfeit: the episode has ended"):
            await episode.forfeit(0)
        return episode.seat, episode.returns(), episode.outcome(0), len(game.facts(episode, 0))

    assert asyncio.run(give_up("compact")) == (None, (0.0,), "forfeit", 1)
    assert asyncio.run(give_up("natural"))[2] == "You gave up, and the lock stays shut. You score 0."


def test_what_is_not_legal_is_refused():
    game = make_game("combination_lock:symbols=3")
    with pytest.raises(GameError, match="action 'd' is not legal here; legal: a, b, c"):
        opened(game, ["d"])
    with pytest.raises(GameError, match="the episode has ended"):
        opened(game, [another(game, code_of(game)[0]), "a"])
    for ask in ("returns", "outcome"):
        with pytest.raises(GameError, match=f"it has no {ask} yet"):
            getattr(opened(game, []), ask)(*[0] * (ask == "outcome"))
    for action in (3, -1):
        with pytest.raises(GameError, match=rf"action {action} is not legal here; legal: 0, 1, 2"):
            game.root().child(action)


@given(DEPTHS, SYMBOLS, st.booleans(), st.integers(0, 9), st.integers(0, 9))
def test_locks_of_all_sizes(depth, symbols, dealt, seed, dice):
    game = CombinationLock(depth, symbols, dealt=dealt, seed=seed * (not dealt))
    assert isinstance(game, TreeGame)
    assert isinstance(game, Primer)
    assert make_game(game.name).name == game.name
    code = code_of(game, dice)
    assert code == code_of(make_game(game.name), dice)
    assert opened(game, code, dice).returns() == (1.0,)
    place = random.Random(dice).randrange(depth)
    jammed = opened(game, [*code[:place], another(game, code[place])], dice)
    assert (jammed.seat, jammed.returns()) == (None, (0.0,))
    words = {*game.vocabulary()}
    for episode in (opened(game, code, dice), jammed, opened(game, code[:place], dice)):
        texts = [*game.facts(episode, 0), episode.observe(0) if episode.seat == 0 else episode.outcome(0)]
        assert {word for text in texts for word in text.split()} <= words
    assert len(game.vocabulary()) == len(words) == 4 + depth + symbols + 2 * depth * symbols


@given(st.integers(1, 4), st.integers(2, 3), st.booleans())
def test_uniform_play_opens_it_rarely(depth, symbols, dealt):
    """The whole tree: every deal and every play, weighed by its probability, comes to symbols^-depth."""
    game = CombinationLock(depth, symbols, dealt=dealt)

    def value(state):
        if state.player == TERMINAL:
            return state.returns[0]
        assert (len(state.chance) == symbols) == (state.player == CHANCE)
        return sum(value(state.child(action)) for action in state.actions) / symbols

    assert value(game.root()) == pytest.approx(symbols**-depth)


@given(st.integers(0, 10_000))
def test_a_dealt_code_is_the_dice_s(dice):
    game = make_game("combination_lock:code=dealt")
    assert game.has_chance
    state = opened(game, [], dice).state
    assert state.history == state.code
    assert code_of(game, dice) == code_of(game, dice)


def test_codes_differ():
    assert len({tuple(code_of(make_game(f"combination_lock:seed={seed}"))) for seed in range(20)}) == 20
    game = make_game("combination_lock:code=dealt")
    assert len({tuple(code_of(game, dice)) for dice in range(20)}) == 20
    firsts = [code_of(make_game(f"combination_lock:symbols=2,depth=1,seed={seed}"))[0] for seed in range(400)]
    assert abs(firsts.count("a") - 200) < 50  # five standard deviations


def test_what_is_seen_is_the_dial_alone():
    game = make_game("combination_lock:code=dealt,depth=2,symbols=2")
    assert {opened(game, code_of(game, dice)[:1], dice).observe(0) for dice in range(9)} == {"dial 2"}


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("combination_lock", "combination_lock"),
        ("combination_lock: symbols = 8,code=fixed", "combination_lock"),
        ("combination_lock:symbols=6,depth=8", "combination_lock:depth=8,symbols=6"),
        ("combination_lock:seed=3,code=fixed", "combination_lock:seed=3"),
        ("combination_lock:code=dealt,seed=0", "combination_lock:code=dealt"),
        ("kuhn_poker", "kuhn_poker"),
        ("my_games:GAME", "my_games:GAME"),  # its code is not run to know how it is spelled
    ],
)
def test_one_spelling(spec, name):
    assert normalise_game(spec) == name


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("combination_lock:depth=0", "game 'combination_lock:depth=0': depth = '0' is not an integer in 1..20"),
        ("combination_lock:depth=21", "is not an integer in 1..20"),
        ("combination_lock:symbols=1", "is not an integer in 2..26"),
        ("combination_lock:symbols=x", "is not an integer in 2..26"),
        ("combination_lock:code=open", "code = 'open' is not one of fixed, dealt"),
        ("combination_lock:dials=3", "unknown parameter 'dials'"),
        ("combination_lock:depth", "game 'combination_lock:depth': expected name:param=value"),
        ("combination_lock:depth=2,depth=3", "depth is given twice"),
        ("combination_lock:code=dealt,seed=3", "seed = 3 decides a fixed code; with code = dealt leave it out"),
        ("kuhn_poker:depth=3", "game 'kuhn_poker:depth=3': takes no parameters, found 'depth'"),
        ("combination_lok", "unknown game 'combination_lok' .did you mean 'combination_lock'"),
    ],
)
def test_specs_that_are_refused(spec, words):
    with pytest.raises(GameError, match=words):
        make_game(spec)


def test_unknown_dialects_are_refused():
    with pytest.raises(GameError, match="unknown dialect 'latin'"):
        make_game("combination_lock", "latin")


def test_its_parameters_are_listed():
    assert [line.partition("=")[0] for line in game_parameters("combination_lock")] == [
        "depth",
        "symbols",
        "code",
        "seed",
    ]
    assert game_parameters("kuhn_poker") == ()


def test_nobody_can_be_met():
    with pytest.raises(GameError, match="opponent 'random': combination_lock has one seat: there is nobody to meet"):
        make_opponent("random", make_game("combination_lock"))
    assert opponents("combination_lock") == ()


LETTERS = tuple("abcd")


@pytest.mark.parametrize(
    ("view", "heard", "remain"),
    [
        ("dial 3", [], "abcd"),
        ("dial 3", ["tip -3c tip 2a"], "abd"),
        ("dial 2", ["tip -3c tip 2a"], "a"),
        ("dial 1", ["tip -3c tip 2a"], "abcd"),
        ("dial 1", ["tried 1a 2b 3c jam -3c ep1 dial 1"], "a"),
        ("dial 2", ["tried 1a 2b 3c jam -3c ep1 dial 1"], "b"),
        ("dial 3", ["tried 1a 2b 3c jam -3c ep1 dial 1"], "abd"),
        ("dial 3", ["3c", "jam -3c"], "abd"),  # in whichever text
        ("dial 3", ["jam -3c", "3d"], "d"),
        ("dial 3", ["3d 3a"], "ad"),  # who contradict one another leave both
        ("dial 3", ["-3a -3b", "-3c -3d"], "abcd"),
        ("dial 1", ["jam -11c 12a"], "abcd"),  # pairs are whole words
        ("dial 3", ["3z 3 c -3", "dial 3"], "abcd"),
    ],
)
def test_what_is_heeded(view, heard, remain):
    game = CombinationLock(20, 4, dealt=False)
    assert game.heeded(view, LETTERS, heard) == tuple(remain)


def test_sentences_are_not_heeded():
    game = CombinationLock(3, 4, dealt=False, dialect="natural")
    assert game.heeded("You are at dial 3 of 3.", LETTERS, ["jam -3c", "3d"]) == LETTERS


def test_intentions_lead_to_the_action():
    game = make_game("combination_lock:depth=4")
    assert game.intention("dial 3", "c") == "3c"
    assert game.heeded("dial 3", game.letters, [game.intention("dial 3", "c")]) == ("c",)
    natural = make_game("combination_lock:depth=4", "natural")
    assert natural.intention("You are at dial 3 of 4.", "c") == "At dial 3 set the letter c."


def test_the_lock_without_its_code():
    game = make_game("combination_lock:depth=4,seed=7")
    assert game.untold() == "combination_lock:depth=4,code=dealt"
    untold = make_game(game.untold())
    assert untold.untold() == untold.name
    assert untold.vocabulary() == game.vocabulary()
    assert not isinstance(make_game("kuhn_poker"), Primer)


def test_all_letters():
    game = make_game("combination_lock:symbols=26,depth=20")
    assert "".join(game.letters) == ascii_lowercase
    assert opened(game, code_of(game)).returns() == (1.0,)
