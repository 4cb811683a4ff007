"""A person at the terminal: plays against an opponent, or is the opponent that a trained agent meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from mage.chance import Dice, derive
from mage.errors import MageError
from mage.play.actors import Actor, match_action
from mage.play.game import TERMINAL, Episode, Game, Opponent, Spoken, State, TreeGame, opened
from mage.play.records import Task
from mage.play.trial import TreeEpisode, task_dice
from mage.run.arena import Arena

YOU = "you"


class Quit(Exception):
    """The person wants to stop."""


@dataclass(slots=True)
class Terminal:
    """Talks to a person: `read` asks with a prompt and gives a line, `write` shows text."""

    read: Callable[[str], str]
    write: Callable[[str], None]

    def choose(self, names: Sequence[str], rules: str, spoken: Spoken | None = None) -> str:
        """One of `names`, asked for until it is one; `?` shows `rules`, `q` or the end of input raises Quit.

        spoken: says what may be typed instead, where moves are more than a list.
        """
        what = spoken.grammar() if spoken else ", ".join(names)
        while True:
            try:
                line = self.read(f"  your move ({what}): ").strip()
            except EOFError:
                raise Quit from None
            if line.casefold() in ("q", "quit", "exit") and line not in names:
                raise Quit
            if line == "?":
                self.write(rules)
                continue
            found = spoken.read(line) if spoken else named(line, names)
            if found is not None:
                return found
            self.write(f"  {line!r} is not one of the legal moves. Type one of them, ? for the rules, q to stop.")


@dataclass(slots=True)
class Score:
    """What the person has won so far, by episode."""

    rewards: list[float] = field(default_factory=list)

    def add(self, reward: float) -> str:
        """Count an episode; returns it in words."""
        self.rewards.append(reward)
        return f"  {reward:+g} in this episode, {sum(self.rewards):+g} so far"

    def closing(self) -> str:
        """The last line."""
        count = len(self.rewards)
        return (
            f"{count} episode{'s' * (count != 1)} played, {sum(self.rewards):+g} in all" if count else "nothing played"
        )


def named(line: str, names: Sequence[str]) -> str | None:
    """The name that `line` means: itself whatever its case, or the only one that begins with it.

    >>> named("B", ("pass", "bet")), named("x", ("pass", "bet"))
    ('bet', None)
    """
    exact = match_action(line, names)
    if exact is not None or not line:
        return exact
    begins = [name for name in names if name.casefold().startswith(line.casefold())]
    return begins[0] if len(begins) == 1 else None


async def play_opponent(
    game: Game, opponent: Opponent | None, *, seat: int, episodes: int, seed: int, terminal: Terminal
) -> Score:
    """The person takes `seat` for some episodes, new chance in each; returns the score.

    `opponent` takes the other seats; in a game of one seat there is none (None).
    `game` should speak the natural dialect. Quitting ends the series, the score so far stands.
    """
    task = Task(0, seat, opponent.name if opponent else "", episodes, "redeal", seed)
    dice, score = task_dice(task), Score()
    try:
        for number in range(episodes):
            terminal.write(f"\nEpisode {number + 1} of {episodes}")
            async with opened(game, dice("deal", number)) as episode:
                rolls = dice("opponent", number)
                while episode.seat is not None:
                    if opponent and episode.seat != seat:
                        state = cast(TreeEpisode, episode).state
                        action = cast(TreeGame, game).action_name(state, await opponent.act(state, rolls))
                    else:
                        terminal.write("  " + episode.observe(seat).replace("\n", "\n  "))
                        spoken = episode if isinstance(episode, Spoken) else None
                        action = terminal.choose(episode.legal(), game.rules(seat), spoken)
                    await episode.step(action)
                terminal.write(f"  {episode.outcome(seat)}")
                terminal.write(score.add(episode.returns()[seat]))
    except Quit:
        pass
    return score


async def play_agent(
    arena: Arena, natural: Game, actor: Actor, *, seat: int, episodes: int, seed: int, terminal: Terminal
) -> Score:
    """A trained agent plays one trial against the person, with its own memory between the episodes.

    Args:
        arena: The agent's arena; its game may speak another dialect than the person's.
        natural: The same game as the person sees it.
        actor: The agent.
        seat: The person's seat; the agent takes the other one.
        episodes: Episodes of the trial.
        seed: Decides deals and the agent's draws.
        terminal: Where the person sits.
    """
    if arena.game.seats != 2:
        raise MageError(f"{arena.game.name} has {arena.game.seats} seats: an agent can be met in games of two")
    if not (isinstance(arena.game, TreeGame) and isinstance(natural, TreeGame)):
        raise MageError(f"{arena.game.name} has no tree, on which an agent is met")
    person, score = Person(natural, terminal), Score()
    watched = WatchedGame(
        arena.game,
        lambda number: terminal.write(f"\nEpisode {number} of {episodes}"),
        partial(_tell, person, seat, score),
    )
    table = replace(arena, game=watched, opponents={YOU: person})
    task = Task(0, 1 - seat, YOU, episodes, arena.recipe.trial.restart, derive(seed, "play"))
    try:
        trial = await table.play(task, 0, actor)
    except Quit:
        return score
    watched.finish()
    for turn in trial.turns:
        if turn.phase == "reflect":
            terminal.write(f"It noted after episode {turn.episode + 1}: {turn.said or '(nothing)'}")
    return score


@dataclass(slots=True)
class Person:
    """An opponent whose moves are typed. `natural` is the game in the dialect that the person reads."""

    natural: TreeGame
    terminal: Terminal
    name: str = YOU

    async def act(self, state: State, dice: Dice) -> int:
        """Show the position, ask for a move."""
        here = self.view(state)
        self.terminal.write("  " + self.natural.show(here, here.player).replace("\n", "\n  "))
        names = [self.natural.action_name(here, action) for action in here.actions]
        choice = self.terminal.choose(names, self.natural.rules(here.player))
        return here.actions[names.index(choice)]

    def view(self, state: State) -> State:
        """The same position in the person's dialect."""
        here = self.natural.root()
        for action in state.history:
            here = here.child(action)
        return here


class WatchedGame:
    """A game that reports each episode that begins, and the one that has ended before it; the last at `finish`."""

    def __init__(self, game: TreeGame, begins: Callable[[int], None], ended: Callable[[TreeEpisode], None]) -> None:
        self._game = game
        self._begins = begins
        self._ended = ended
        self._current: TreeEpisode | None = None
        self._number = 0
        self.name = game.name
        self.seats = game.seats
        self.has_chance = game.has_chance
        self.dialect = game.dialect
        self.rules = game.rules
        self.vocabulary = game.vocabulary
        self.facts = game.facts
        self.root = game.root
        self.show = game.show
        self.outcome = game.outcome
        self.action_name = game.action_name

    async def start(self, dice: Dice) -> Episode:
        """Start an episode of the game that is watched."""
        self.finish()
        self._number += 1
        self._begins(self._number)
        episode = cast(TreeEpisode, await self._game.start(dice))
        self._current = episode
        return episode

    def finish(self) -> None:
        """Report the episode under way as ended."""
        if self._current is not None:
            self._ended(self._current)
            self._current = None


def _tell(person: Person, seat: int, score: Score, episode: TreeEpisode) -> None:
    if episode.state.player == TERMINAL:
        person.terminal.write("  " + person.natural.outcome(person.view(episode.state), seat).replace("\n", "\n  "))
    else:
        person.terminal.write("  The agent gave no legal move and forfeited.")
    person.terminal.write(score.add(episode.returns()[seat]))
