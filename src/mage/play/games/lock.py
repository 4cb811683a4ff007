"""A combination lock: one seat, one letter to each dial, one reward when all of them are right.

Nothing in between is rewarded, so that a learner has to explore: uniform play opens it with probability
symbols^-depth. It is made for measuring exploration, and has a `Primer` for bases that are built here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase

from mage.chance import Dice, SeededDice, derive
from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL, Dialect, Episode, State
from mage.play.games.catalogue import Entry
from mage.play.games.lock_state import LockState
from mage.play.games.lock_words import WORDINGS, LockWords
from mage.play.games.solo import SoloEpisode
from mage.play.specs import Parameter, Value, spell

NAME = "combination_lock"
PAIR = re.compile(r"(?<!\S)(-?)(\d+)([a-z])(?!\S)")
"""A letter at a dial, and whether it is called wrong."""
DIALS = 20
"""Most dials of a lock."""
LARGEST_SEED = 2**31 - 1
PARAMETERS = (
    Parameter("depth", 6, "dials", low=1, high=DIALS, hidden=True),
    Parameter("symbols", 8, "letters of a dial", low=2, high=len(ascii_lowercase), hidden=True),
    Parameter("code", "fixed", "one code for ever, or dealt by chance", choices=("fixed", "dealt"), hidden=True),
    Parameter("seed", 0, "decides a fixed code", high=LARGEST_SEED, hidden=True),
)


class LockEpisode(SoloEpisode):
    """One lock being opened: `state` is where it stands."""

    __slots__ = ("_game", "state")

    def __init__(self, game: CombinationLock, dice: Dice) -> None:
        super().__init__()
        self._game = game
        self.state: LockState = game.root()
        while self.state.player == CHANCE:
            self.state = self.state.child(dice.pick(self.state.chance))

    @property
    def over(self) -> bool:
        """Whether the lock is open or jammed."""
        return self.state.player == TERMINAL

    def observe(self, seat: int) -> str:
        """The number of the dial."""
        return self._game.show(self.state, seat)

    def legal(self) -> tuple[str, ...]:
        """All letters; none when the episode has ended."""
        return () if self.seat is None else self._game.letters

    async def step(self, action: str) -> None:
        """Set the dial to a letter. Raises GameError if it is none of the lock's or the episode has ended."""
        legal = self.legal()
        if action not in legal:
            raise self.refusal(action, ", ".join(legal))
        self.state = self.state.child(legal.index(action))

    def score(self) -> float:
        """1 if the lock is open, else 0."""
        return 0.0 if self.gave_up else self.state.returns[0]

    def ending(self) -> str:
        """Open, jammed at a dial or given up."""
        return self._game.words.forfeit if self.gave_up else self._game.outcome(self.state, 0)


class CombinationLock:
    """The game; a `TreeGame` and a `Primer`.

    Args:
        depth: dials, set from the first to the last.
        symbols: letters of each dial.
        dealt: whether chance draws the code anew in every deal; else `seed` has drawn it once.
        seed: of a fixed code.
        dialect: in which dialect states are shown.
    """

    seats = 1
    units = "locks opened per episode"

    def __init__(self, depth: int, symbols: int, *, dealt: bool, seed: int = 0, dialect: Dialect = "compact") -> None:
        self.depth, self.symbols = depth, symbols
        self.name = _spelled(depth, symbols, dealt=dealt, seed=seed)
        self.has_chance = dealt
        self.dialect: Dialect = dialect
        self.letters = tuple(ascii_lowercase[:symbols])
        self.words: LockWords = WORDINGS[dialect](depth, self.letters, dealt)
        dice = SeededDice(derive(seed, "code"))
        code = () if dealt else tuple(dice.pick([1.0] * symbols) for _ in range(depth))
        self._root = LockState(depth, symbols, dealt, code)

    def rules(self, seat: int) -> str:
        """The rules and the goal (empty in the compact dialect)."""
        return self.words.rules

    def vocabulary(self) -> tuple[str, ...]:
        """Every word of the compact dialect."""
        numbers = [str(number) for number in range(1, self.depth + 1)]
        pairs = [f"{number}{letter}" for number in numbers for letter in self.letters]
        return ("dial", *numbers, *self.letters, *pairs, *(f"-{pair}" for pair in pairs), "jam", "open", "forfeit")

    async def start(self, dice: Dice) -> LockEpisode:
        """A new episode; a code that is dealt comes from `dice`."""
        return LockEpisode(self, dice)

    def facts(self, episode: Episode, seat: int) -> tuple[str, ...]:
        """What the last letter has shown: it is wrong at its dial ("-3c"), or right ("8c")."""
        assert isinstance(episode, LockEpisode)
        state = episode.state
        told = self._pairs_of(state.tried)[-1:]
        return tuple(f"-{pair}" for pair in told) if state.jammed else told

    def root(self) -> LockState:
        """The initial state."""
        return self._root

    def show(self, state: State, seat: int) -> str:
        """The number of the dial at `state`, and nothing else."""
        assert isinstance(state, LockState)
        return self.words.show(min(len(state.tried), self.depth - 1) + 1)

    def outcome(self, state: State, seat: int) -> str:
        """Whether the lock opened at a terminal `state`, else which dial jammed with which letter."""
        assert isinstance(state, LockState)
        return self.words.jam(len(state.tried), self.letters[state.tried[-1]]) if state.jammed else self.words.open

    def action_name(self, state: State, action: int) -> str:
        """The letter of `action`."""
        return self.letters[action]

    def untold(self) -> str:
        """The same lock with a code that chance deals anew."""
        return _spelled(self.depth, self.symbols, dealt=True)

    def revealed(self, episode: Episode) -> tuple[str, ...]:
        """The right letter of each dial: "1a"."""
        assert isinstance(episode, LockEpisode)
        return self._pairs_of(episode.state.code)

    def intention(self, view: str, action: str) -> str:
        """Dial and letter: "3c" where "dial 3" is seen."""
        return self.words.intention(self.words.dial(view), action)

    def heeded(self, view: str, legal: tuple[str, ...], heard: Sequence[str]) -> tuple[str, ...]:
        """Letters that `heard` says are right for the dial of `view`; else those not known wrong; else all.

        A pair such as "3c" is taken as right, unless "-3c" is said anywhere. Sentences of the natural dialect are not
        understood: all letters remain.
        """
        if self.dialect != "compact":
            return legal
        dial = str(self.words.dial(view))
        said, called_wrong = _pairs(heard)
        wrong = {letter for number, letter in called_wrong if number == dial}
        right = {letter for number, letter in said if number == dial} - wrong
        return (
            tuple(letter for letter in legal if letter in right)
            or tuple(letter for letter in legal if letter not in wrong)
            or legal
        )

    def _pairs_of(self, letters: Sequence[int]) -> tuple[str, ...]:
        return tuple(f"{dial}{self.letters[letter]}" for dial, letter in enumerate(letters, start=1))


def _pairs(texts: Iterable[str]) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(number, letter) of what is said: those not called wrong ("3c"), and those called wrong ("-3c")."""
    said: set[tuple[str, str]] = set()
    wrong: set[tuple[str, str]] = set()
    for text in texts:
        for sign, number, letter in PAIR.findall(text):
            (wrong if sign else said).add((number, letter))
    return said, wrong


def _spelled(depth: int, symbols: int, *, dealt: bool, seed: int = 0) -> str:
    values = {"depth": depth, "symbols": symbols, "code": "dealt" if dealt else "fixed", "seed": seed}
    return spell(NAME, values, PARAMETERS)


def _build(spec: str, values: Mapping[str, Value], dialect: Dialect) -> CombinationLock:
    depth, symbols, seed = values["depth"], values["symbols"], values["seed"]
    assert isinstance(depth, int)
    assert isinstance(symbols, int)
    assert isinstance(seed, int)
    dealt = values["code"] == "dealt"
    if dealt and seed:
        raise GameError(f"game {spec!r}: seed = {seed} decides a fixed code; with code = dealt leave it out")
    return CombinationLock(depth, symbols, dealt=dealt, seed=seed, dialect=dialect)


COMBINATION_LOCK = Entry(
    name=NAME,
    summary="a letter to each dial; all right opens it, nothing before that is rewarded",
    parameters=PARAMETERS,
    build=_build,
)
