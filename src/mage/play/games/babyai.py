"""BabyAI: missions in a grid of rooms, told in words; the levels are minigrid's, drawn from a seed of the deal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from mage.chance import Dice
from mage.errors import GameError
from mage.play.game import Dialect, Episode
from mage.play.games.babyai_guide import Guide
from mage.play.games.babyai_levels import EXTRA, Level
from mage.play.games.babyai_words import JOINT, NAMES, describe, ended, rules
from mage.play.games.catalogue import Entry
from mage.play.games.solo import SoloEpisode
from mage.play.specs import Parameter, Value, spell

NAME = "babyai"


@dataclass(frozen=True, slots=True)
class LevelName(Parameter):
    """The name of a level: which there are is minigrid's to say, when the game is made."""

    def accepts(self) -> str:
        """In words, what may be given."""
        return "an id of BabyAI without prefix and version, such as GoToLocal, PickupLoc or BossLevel"

    def read(self, text: str) -> Value:
        """The name itself."""
        return text


PARAMETERS = (
    LevelName("level", "GoToRedBall", "which level", hidden=True),
    Parameter("turns", None, "steps in an episode, left out: the level's own number", low=1, high=100_000, hidden=True),
    Parameter("moves", 1, "actions that an answer may have", low=1, high=4, hidden=True),
)


class BabyAIEpisode(SoloEpisode):
    """A mission under way."""

    __slots__ = ("_done", "_game", "_guide", "_score", "_seed", "_taken", "_world")

    def __init__(self, game: BabyAI, seed: int) -> None:
        super().__init__()
        self._game, self._seed = game, seed
        self._world = game.level.world(seed)
        self._guide: Guide | None = None
        self._taken: list[int] = []
        self._done = False
        self._score = 0.0

    @property
    def over(self) -> bool:
        """Whether the mission is done or failed, or the steps are used up."""
        return self._done or self._left == 0

    @property
    def _left(self) -> int:
        return int(self._world.max_steps) - len(self._taken)

    def observe(self, seat: int) -> str:
        """The mission and the view."""
        return describe(self._world.gen_obs(), self._left)

    def legal(self) -> tuple[str, ...]:
        """All answers of the most actions (those with fewer are legal too); none when the episode has ended."""
        return () if self.seat is None else self._game.answers

    def grammar(self) -> str:
        """How many actions, and which."""
        several = self._game.moves > 1
        count = f"one to {self._game.moves} of " if several else "one of "
        return f"{count}{', '.join(NAMES)}" + (" (separated by commas)" if several else "")

    def read(self, said: str) -> str | None:
        """The actions in `said`, between commas; None for other words, none or too many."""
        actions = [" ".join(part.casefold().split()) for part in said.replace(";", ",").split(",")]
        if len(actions) > self._game.moves or not {*actions} <= {*NAMES}:
            return None
        return JOINT.join(actions)

    async def step(self, action: str) -> None:
        """Act until the mission is over. Raises GameError for other words, too many, or if the episode has ended."""
        read = None if self.seat is None else self.read(action)
        if read is None:
            raise self.refusal(action, self.grammar())
        for name in read.split(JOINT):
            number = NAMES.index(name)
            self._taken.append(number)
            _, reward, self._done, _, _ = self._world.step(self._world.actions(number))
            self._score = float(reward)
            if self.seat is None:
                break

    def score(self) -> float:
        """BabyAI's reward: 1 − 0.9 · steps / limit if the mission is done, else 0."""
        return self._score

    def ending(self) -> str:
        """Done, failed, given up or out of steps."""
        return ended(self._score, failed=self._done and not self._score, gave_up=self.gave_up)

    def gold(self) -> str:
        """The next action of minigrid's bot."""
        if self._guide is None:
            self._guide = Guide(partial(self._game.level.world, self._seed))
        return NAMES[self._guide.advise(self._taken)]


class BabyAI:
    """The game, for one seat. Raises GameError where minigrid or the level is missing, and for the compact dialect.

    Args:
        spec: as it was asked for, for messages.
        values: by the names of `PARAMETERS`.
        dialect: `natural`; there is no other.
    """

    seats = 1
    has_chance = True
    units = "reward per episode"

    def __init__(self, spec: str, values: Mapping[str, Any], dialect: Dialect = "natural") -> None:
        if dialect != "natural":
            raise GameError(f"game {spec!r} is told in sentences: game.dialect = {dialect!r} should be 'natural'")
        self.name = spell(NAME, values, PARAMETERS)
        self.dialect: Dialect = dialect
        self.turns, self.moves = values["turns"], values["moves"]
        self.level = Level(spec, values["level"], self.turns)
        self.answers = tuple(JOINT.join(actions) for actions in product(NAMES, repeat=self.moves))

    def rules(self, seat: int) -> str:
        """What the world is and what the actions do; the mission is told with the view."""
        return rules(self.turns, self.moves)

    def vocabulary(self) -> tuple[str, ...]:
        """Nothing: there is no compact dialect."""
        return ()

    async def start(self, dice: Dice) -> BabyAIEpisode:
        """A new mission, drawn from a seed of `dice`."""
        return BabyAIEpisode(self, dice.seed())

    def facts(self, episode: Episode, seat: int) -> tuple[str, ...]:
        """Nothing: these would be remarks in the compact dialect."""
        return ()


BABYAI = Entry(
    name=NAME,
    summary="missions in a grid of rooms (minigrid's levels of BabyAI), in sentences; one view at a time is seen",
    parameters=PARAMETERS,
    build=BabyAI,
    extra=EXTRA,
)
