"""What a trial needs of a world (`Game`, `Episode`); what analysis and search need besides (`TreeGame`, `State`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal, Protocol, runtime_checkable

from mage.chance import Dice

Dialect = Literal["natural", "compact"]
CHANCE = -1
TERMINAL = -4
UNITS = "return per episode"


class Episode(Protocol):
    """One episode under way: mutable, owned by one trial, text in and text out."""

    @property
    def seat(self) -> int | None:
        """The seat to move, or None when the episode has ended."""
        ...

    def observe(self, seat: int) -> str:
        """What `seat` may see now, in the game's dialect."""
        ...

    def legal(self) -> tuple[str, ...]:
        """Names of the legal actions of the seat to move."""
        ...

    async def step(self, action: str) -> None:
        """Play a legal action by name; chance that follows is resolved. Raises GameError if it is not legal."""
        ...

    async def forfeit(self, seat: int) -> None:
        """End the episode by the game's forfeit rule: `seat` gets its worst possible return."""
        ...

    def returns(self) -> tuple[float, ...]:
        """Return of each seat at the end, in the game's own units (chips, ±1, score)."""
        ...

    def outcome(self, seat: int) -> str:
        """How the episode ended as `seat` may know it: true, in the dialect (result, score, cards shown)."""
        ...


@runtime_checkable
class Game(Protocol):
    """A turn-based world for one or more seats, restartable: the same dice give the same episode."""

    name: str
    seats: int
    has_chance: bool
    """Whether chance decides anything: without it `redeal` makes no sense."""
    dialect: Dialect

    def rules(self, seat: int) -> str:
        """The rules and the goal, told once at the start of a context (may be empty in the compact dialect)."""
        ...

    def vocabulary(self) -> tuple[str, ...]:
        """Every word the compact dialect can show, action names included (the tiny tokenizer is built from it)."""
        ...

    async def start(self, dice: Dice) -> Episode:
        """A new episode; chance draws come from `dice`."""
        ...

    def facts(self, episode: Episode, seat: int) -> tuple[str, ...]:
        """True remarks that `seat` could write about an episode that has ended, in the compact dialect ("call Q")."""
        ...


def units_of(game: Game) -> str:
    """What a return of `game` counts, for captions: its attribute `units` if it has one, else "return per episode"."""
    return str(getattr(game, "units", UNITS))


class State(Protocol):
    """An immutable position of a game tree. Children are memoized, so a state is built once and then looked up."""

    @property
    def player(self) -> int:
        """Seat to move, or CHANCE, or TERMINAL."""
        ...

    @property
    def history(self) -> tuple[int, ...]:
        """All actions since the root, chance included."""
        ...

    @property
    def actions(self) -> tuple[int, ...]:
        """Legal actions (at a chance node: the outcomes)."""
        ...

    @property
    def chance(self) -> tuple[float, ...]:
        """Probabilities aligned with `actions` at a chance node; empty elsewhere."""
        ...

    @property
    def returns(self) -> tuple[float, ...]:
        """Return of each seat at a terminal state."""
        ...

    def child(self, action: int) -> State:
        """The state after `action`; GameError if it is not legal."""
        ...


@runtime_checkable
class TreeGame(Game, Protocol):
    """A game whose tree can be walked: what search, equilibria, exact limits and exact evaluation work on."""

    def root(self) -> State:
        """The initial state."""
        ...

    def show(self, state: State, seat: int) -> str:
        """What `seat` sees at `state`; equal texts are one information state."""
        ...

    def outcome(self, state: State, seat: int) -> str:
        """What `seat` is told at a terminal state."""
        ...

    def action_name(self, state: State, action: int) -> str:
        """The word for `action`."""
        ...


@runtime_checkable
class Spoken(Protocol):
    """What an episode has besides where its actions are more than a list: several moves in one answer, free text."""

    def grammar(self) -> str:
        """What may be said, in the dialect; shown where legal actions are listed otherwise."""
        ...

    def read(self, said: str) -> str | None:
        """The action that `said` means, as `step` takes it; None if it means none."""
        ...


@runtime_checkable
class Guided(Protocol):
    """What an episode has besides where somebody knows how it is won: who plays so is the `oracle` of evaluations."""

    def gold(self) -> str:
        """The next action of play that is as good as any that knows what is hidden."""
        ...


@runtime_checkable
class Judged(Protocol):
    """What an episode has besides where a return above 0 does not mean that it was won: scores that come in parts."""

    def won(self) -> bool:
        """Whether an episode that has ended reached its goal."""
        ...


def is_won(episode: Episode, seat: int) -> bool:
    """Whether `seat` won an episode that has ended: what a `Judged` one says, else whether its return is above 0."""
    return episode.won() if isinstance(episode, Judged) else episode.returns()[seat] > 0


@runtime_checkable
class Closing(Protocol):
    """What an episode has besides where it holds something that others wait for: a process, a page, a connection."""

    async def close(self) -> None:
        """Give it back. Called once, when the episode has ended or its trial failed or was cancelled."""
        ...


@asynccontextmanager
async def opened(game: Game, dice: Dice) -> AsyncIterator[Episode]:
    """A new episode of `game`, which gives back what it holds however the block ends; its texts can be read on."""
    episode = await game.start(dice)
    try:
        yield episode
    finally:
        if isinstance(episode, Closing):
            await episode.close()


@runtime_checkable
class Primer(Protocol):
    """What a game brings besides, so that a base that is built here can read advice about it without its solution."""

    def untold(self) -> str:
        """Name of the game on which such a base is warmed up: this one with its secret dealt anew in every trial."""
        ...

    def revealed(self, episode: Episode) -> tuple[str, ...]:
        """Facts that tell the secret of an episode of the game it was dealt in, in the order in which they matter."""
        ...

    def intention(self, view: str, action: str) -> str:
        """A strategy of a few words that leads to `action` where `view` is seen."""
        ...

    def heeded(self, view: str, legal: tuple[str, ...], heard: Sequence[str]) -> tuple[str, ...]:
        """The legal actions that remain to somebody who believes what was `heard` (tips, strategies, outcomes)."""
        ...


class Opponent(Protocol):
    """Somebody who plays a seat: stationary during a trial."""

    name: str

    async def act(self, state: State, dice: Dice) -> int:
        """The action played at `state`; any chance in it comes from `dice`."""
        ...


@runtime_checkable
class PolicyOpponent(Opponent, Protocol):
    """An opponent whose mixture over actions can be told: what exact limits and exact evaluation need."""

    def policy(self, state: State) -> Sequence[tuple[int, float]]:
        """(action, probability) pairs that sum to 1; zero-probability actions may be left out."""
        ...
