"""Sokoban: push every box onto a target. Rooms are made from the deal; that a box is stuck for good is not told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import product

from mage.chance import Dice
from mage.errors import GameError
from mage.play.game import Dialect, Episode
from mage.play.games.catalogue import Entry
from mage.play.games.sokoban_room import Position, Room
from mage.play.games.sokoban_rooms import Sizes, make_room
from mage.play.games.sokoban_search import solution
from mage.play.games.sokoban_words import NAMES, SYMBOLS, WORDINGS, SokobanWords, cell_name
from mage.play.games.solo import SoloEpisode
from mage.play.specs import Parameter, Value, spell

NAME = "sokoban"
PARAMETERS = (
    Parameter("rows", 6, "rows, outer walls included", low=4, high=20, hidden=True),
    Parameter("columns", 6, "columns, outer walls included", low=4, high=20, hidden=True),
    Parameter("boxes", 2, "boxes and targets", low=1, high=6, hidden=True),
    Parameter("turns", 7, "answers in an episode", low=1, high=1000, hidden=True),
    Parameter("moves", 3, "moves that an answer may have", low=1, high=4, hidden=True),
    Parameter("shortest", 5, "fewest moves of a shortest solution", low=1, high=1000, hidden=True),
    Parameter("longest", 15, "most moves of a shortest solution", low=1, high=1000, hidden=True),
    Parameter("search", 20_000, "positions nearest to solved among which the first is drawn", low=100, hidden=True),
)
WORD = re.compile(r"[^\s,;]+")


class SokobanEpisode(SoloEpisode):
    """A room being solved."""

    __slots__ = ("_game", "_room", "position", "turns")

    def __init__(self, game: Sokoban, room: Room, position: Position) -> None:
        super().__init__()
        self._game, self._room = game, room
        self.position = position
        self.turns = 0

    @property
    def solved(self) -> bool:
        """Whether every box is on a target."""
        return self._room.solved(self.position)

    @property
    def over(self) -> bool:
        """Whether the room is solved or the turns are used up."""
        return self.solved or self.turns == self._game.turns

    def observe(self, seat: int) -> str:
        """The room."""
        return self._game.words.show(self._room, self.position, self._game.turns - self.turns)

    def legal(self) -> tuple[str, ...]:
        """All answers of the most moves (those with fewer are legal too); none when the episode has ended."""
        return () if self.seat is None else self._game.answers

    def grammar(self) -> str:
        """How many moves, and which."""
        return self._game.words.grammar()

    def read(self, said: str) -> str | None:
        """The moves in `said`, between commas or spaces; None for another word, none or too many."""
        moves = [word.casefold() for word in WORD.findall(said)]
        if not 1 <= len(moves) <= self._game.moves or not set(moves) <= {*NAMES}:
            return None
        return self._game.words.joint.join(moves)

    async def step(self, action: str) -> None:
        """Move until the room is solved. Raises GameError for other words, too many, or if the episode has ended."""
        read = None if self.seat is None else self.read(action)
        if read is None:
            raise self.refusal(action, self.grammar())
        self.turns += 1
        for word in WORD.findall(read):
            self.position = self._room.move(self.position, self._room.steps[NAMES.index(word)])
            if self.solved:
                break

    def score(self) -> float:
        """1 if the room is solved, else 0."""
        return float(self.solved)

    def ending(self) -> str:
        """Solved, given up or out of turns."""
        words = self._game.words
        return words.solved if self.solved else words.forfeit if self.gave_up else words.out_of_turns

    def gold(self) -> str:
        """The next moves of a shortest solution; any where none is known."""
        path = solution(self._room, self.position, self._game.search)
        moves = [NAMES[move] for move in (path or (0,))[: self._game.moves]]
        return self._game.words.joint.join(moves)


class Sokoban:
    """The game, for one seat.

    Args:
        values: by the names of `PARAMETERS`.
        dialect: in which dialect rooms are shown.
    """

    seats = 1
    has_chance = True
    units = "rooms solved per episode"

    def __init__(self, values: Mapping[str, int], dialect: Dialect = "compact") -> None:
        self.name = spell(NAME, values, PARAMETERS)
        self.dialect: Dialect = dialect
        self.turns, self.moves, self.search = values["turns"], values["moves"], values["search"]
        self._sizes = Sizes(*(values[name] for name in ("rows", "columns", "boxes", "shortest", "longest", "search")))
        if self._sizes.shortest > self._sizes.longest:
            raise GameError(
                f"game {self.name!r}: shortest = {self._sizes.shortest} is more than longest = {self._sizes.longest}"
            )
        shape = (self._sizes.rows, self._sizes.columns, self._sizes.boxes)
        self.words: SokobanWords = WORDINGS[dialect](*shape, self.turns, self.moves)
        self.answers = tuple(self.words.joint.join(moves) for moves in product(NAMES, repeat=self.moves))
        self._made = lru_cache(maxsize=1024)(lambda seed: make_room(self._sizes, seed))

    def rules(self, seat: int) -> str:
        """The rules and the goal (empty in the compact dialect)."""
        return self.words.rules

    def vocabulary(self) -> tuple[str, ...]:
        """Every word of the compact dialect."""
        rows, columns = self._sizes.rows, self._sizes.columns
        inner = [row * columns + column for row in range(1, rows - 1) for column in range(1, columns - 1)]
        signs = [sign for sign in SYMBOLS.values() if sign != SYMBOLS["wall"]]
        shown = [f"{cell_name(cell, columns)}{sign}" for cell in inner for sign in signs]
        return (*NAMES, *shown, "solved", "late", "forfeit")

    async def start(self, dice: Dice) -> SokobanEpisode:
        """A new room, made from a seed of `dice`. Raises GameError where none is found that fits the parameters."""
        return SokobanEpisode(self, *self._made(dice.seed()))

    def facts(self, episode: Episode, seat: int) -> tuple[str, ...]:
        """Nothing: what a room teaches is a way, which is more than a word."""
        return ()


def _build(spec: str, values: Mapping[str, Value], dialect: Dialect) -> Sokoban:
    return Sokoban({name: value for name, value in values.items() if isinstance(value, int)}, dialect)


SOKOBAN = Entry(
    name=NAME,
    summary="push all boxes onto targets, several moves in an answer; rooms come from the deal and can be solved",
    parameters=PARAMETERS,
    build=_build,
)
