"""Games and opponents of a user's own that are unsound: refused by exact analysis always, in play where it is met."""

import asyncio
from dataclasses import dataclass

import pytest

from mage.analysis.limits import exact_limits
from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.actors import RandomActor
from mage.play.game import CHANCE, TERMINAL
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.opponents.policy import Mixed
from mage.play.records import Task
from mage.play.soundness import check_start
from mage.play.trial import play_trial

KUHN = make_game("kuhn_poker")
BAD_MIXTURES = {
    "too little": (lambda state: ((0, 0.5), (1, 0.4)), r"after history \(.*\): \(0, 0.5\), \(1, 0.4\), sum 0.9;"),
    "negative": (lambda state: ((0, -1.0), (1, 2.0)), "sum 1; expected probabilities of legal actions"),
    "no number": (lambda state: ((0, float("nan")), (1, 1.0)), "sum nan"),
    "nothing": (lambda state: (), "none, sum 0"),
    "half of one": (lambda state: ((0, 0.5),), "sum 0.5"),
    "illegal": (lambda state: ((99, 1.0),), r"\(99, 1.0\), sum 1; expected probabilities of legal actions \(0, 1\)"),
}


@dataclass(frozen=True)
class Coin:
    """A coin falls, the first seat says heads or tails, the second too."""

    odds: tuple = (0.5, 0.5)
    prize: object = 1.0
    history: tuple = ()

    @property
    def player(self):
        return (CHANCE, 0, 1, TERMINAL)[len(self.history)]

    @property
    def actions(self):
        return (0, 1) if len(self.history) < 3 else ()

    @property
    def chance(self):
        return self.odds if self.player == CHANCE else ()

    @property
    def returns(self):
        return (self.prize, 0.0) if self.player == TERMINAL else ()

    def child(self, action):
        return Coin(self.odds, self.prize, (*self.history, action))


class CoinGame:
    name, seats, has_chance, dialect = "coin", 2, True, "compact"

    def __init__(self, root=Coin()):
        self.root = lambda: root

    def start(self, dice): ...

    vocabulary = rules = facts = start

    def show(self, state, seat):
        return str(state.history[1:])

    outcome = show

    def action_name(self, state, action):
        return str(action)


BAD_GAMES = [
    (Coin(odds=(0.45, 0.45)), r"chance after history \(\) has probabilities 0.45, 0.45, sum 0.9"),
    (Coin(odds=(1.5, -0.5)), "probabilities 1.5, -0.5, sum 1"),
    (Coin(odds=(float("nan"), 0.5)), "sum nan"),
    (Coin(odds=(1.0,)), "expected one for each of 2 outcomes"),
    (Coin(prize=float("nan")), r"after history \([01], 0, [01]\) the returns are nan, 0.0; expected a finite number"),
    (Coin(prize=float("inf")), "the returns are inf, 0.0"),
    (Coin(prize="one"), "the returns are one, 0.0"),
]


@pytest.mark.parametrize(("start", "words"), BAD_GAMES)
def test_an_unsound_game_is_refused_before_it_is_played(start, words):
    with pytest.raises(GameError, match=f"game 'coin': .*{words}"):
        check_start(CoinGame(start))
    check_start(CoinGame())


@pytest.mark.parametrize("restart", ["redeal", "replay"])
@pytest.mark.parametrize(("start", "words"), BAD_GAMES)
def test_an_unsound_game_has_no_exact_values(start, words, restart):
    opponent = Mixed("even", lambda state: ((0, 0.5), (1, 0.5)))
    with pytest.raises(GameError, match=f"game 'coin': .*{words}"):
        exact_limits(CoinGame(start), [opponent], [1], episodes=2, restart=restart)


@pytest.mark.parametrize(("rule", "words"), BAD_MIXTURES.values(), ids=BAD_MIXTURES)
def test_what_is_no_mixture_is_refused_with_its_place_and_sum(rule, words):
    opponent = Mixed("tilted", rule)
    state = KUHN.root().child(0).child(1)
    with pytest.raises(GameError, match=f"opponent 'tilted' is no mixture .*{words}"):
        asyncio.run(opponent.act(state, SeededDice(0)))
    with pytest.raises(GameError, match=f"opponent 'tilted' is no mixture .*{words}"):
        exact_limits(KUHN, [opponent], [1], episodes=1)


def test_the_mixture_of_an_opponent_without_a_rule_is_checked_too():
    class Told(Mixed):
        def policy(self, state):
            return ((0, 0.3), (1, 0.3))

    with pytest.raises(GameError, match=r"'told' is no mixture .*sum 0\.6"):
        exact_limits(KUHN, [Told("told", None)], [1], episodes=1)


def test_a_mixture_is_checked_once_for_each_position():
    seen = []

    def rule(state):
        seen.append(state.history)
        return ((0, 0.5), (1, 0.5)) if len(seen) == 1 else ((0, 0.5), (1, 0.6))

    opponent, root = Mixed("even", rule), KUHN.root()
    opponent.policy(root.child(0).child(1))
    opponent.policy(root.child(0).child(1))
    with pytest.raises(GameError, match=r"sum 1\.1"):
        opponent.policy(root.child(0).child(2))


class Chooses:
    def __init__(self, choice):
        self.name, self.choice = "odd", choice

    async def act(self, state, dice):
        return self.choice


class Kuhn:
    """Kuhn poker whose episodes are spoilt."""

    def __init__(self, **spoilt):
        self.spoilt = spoilt

    def __getattr__(self, name):
        return getattr(KUHN, name)

    async def start(self, dice):
        return Spoilt(await KUHN.start(dice), self.spoilt)


class Spoilt:
    def __init__(self, episode, spoilt):
        self._episode, self._spoilt = episode, spoilt

    def __getattr__(self, name):
        if name in self._spoilt:
            return lambda *_: self._spoilt[name]
        return getattr(self._episode, name)


def play(game=KUHN, choice=0):
    task = Task(0, 1, "odd", 1, "redeal", 1)
    actor = RandomActor()
    return asyncio.run(
        play_trial(task, 0, game=game, opponent=Chooses(choice), actor=actor, memory=make_memory("none"))
    )


@pytest.mark.parametrize("choice", [99, "bet", None])
def test_a_choice_that_is_not_legal_names_the_opponent_and_what_is(choice):
    with pytest.raises(GameError, match=rf"opponent 'odd' chose {choice!r} after history .*; legal: 0 \(pass\), 1 \(b"):
        play(choice=choice)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), "a", None])
def test_a_return_that_is_no_number_fails_the_trial(value):
    with pytest.raises(ValueError, match=rf"'kuhn_poker': the return of seat 1 is {value!r}; expected a finite number"):
        play(Kuhn(returns=(value, value)))


def test_a_move_without_a_legal_action_fails_the_trial():
    with pytest.raises(ValueError, match="'kuhn_poker' has seat 1 move where no action is legal"):
        play(Kuhn(legal=()))
