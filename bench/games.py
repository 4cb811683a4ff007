"""Agent decisions per second, text in and text out, beside one Ray actor per game. The goal is a factor of 100.

    pip install "mage-rl[bench]"
    python bench/games.py

Both sides do the same work: N games at once, trials of three episodes with memory `history`, the same tasks (game,
seat, deals, scripted opponent), the same prompts in the same dialect. An agent that picks a legal action at random
answers each prompt in text (`<action>…</action>`); the answer is parsed, the action checked, the opponent moves.
One decision is one prompt read and one answer given. (That the texts are the same is a test: `tests/bench`.)

- **mage**: `play_trial` and `collect` in one process, N trials under way.
- **ray**: the usual way of agent training stacks: N games, each in an actor (process) of its own, driven in lockstep:
  all are reset together, then for each step the answers go out and the next prompts come back through
  `ray.get([game.step.remote(answer), …])` until the last trial has ended. The actors hold mage's own games and
  opponents and are started before the clock runs, and games whose trial has ended are left in peace (the stacks step
  them on): what differs is how games are run.

The two take turns; the median of the repetitions counts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Sequence
from itertools import count
from typing import Any, get_args

from common import machine, show, write
from mage.chance import scramble
from mage.play.actors import Facts, Response, SilentRenderer, match_action, parse_block
from mage.play.collect import collect
from mage.play.game import CHANCE, TERMINAL, Dialect, TreeGame
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.opponents import make_opponent
from mage.play.opponents.policy import sample
from mage.play.opponents.population import Population, draw_tasks, seats_of
from mage.play.records import Phase, Restart, Result, Task, Trial
from mage.play.templates import make_prompts
from mage.play.trial import play_trial, task_dice
from mage.recipe import Share
from mage.run.train import collector_paused

EPISODES, GROUP_SIZE, MEMORY = 3, 8, "history"
Shown = tuple[str, tuple[str, ...]] | None
"""A prompt and the legal actions; None when the trial has ended."""
OPPONENTS = {
    "kuhn_poker": ("conservative", "aggressive", "intermediate"),
    "tic_tac_toe": ("preferred:order=center_first", "preferred:order=corners_first", "preferred:order=edges_first"),
}


def answer(legal: Sequence[str], seed: int) -> str:
    """What the agent says: a legal action, each with the same probability."""
    return f"<action>{legal[scramble(seed) % len(legal)]}</action>"


def bench_tasks(game: TreeGame, count: int) -> tuple[Task, ...]:
    """Tasks with equal shares of the game's opponents, from both seats."""
    population = Population.of([Share(name=name) for name in OPPONENTS[game.name]])
    restart: Restart = "redeal" if game.has_chance else "replay"
    seats = seats_of(game, "both")
    return draw_tasks(population, groups=count, seats=seats, episodes=EPISODES, restart=restart, seed=0, iteration=0)


class TextAgent:
    """The random agent as an actor of mage: it says text, and the text is parsed."""

    renderer = SilentRenderer()

    def fits(self, length: int, phase: Phase) -> bool:
        """Always."""
        return True

    async def act(self, context: Sequence[int], legal: tuple[str, ...], seed: int) -> Response:
        """An answer in text, parsed like a model's."""
        text = answer(legal, seed)
        return Response((), (), text, parse_block(text, "action")[0])

    async def reflect(self, context: Sequence[int], facts: Facts, seed: int) -> Response:
        """Never asked for: the memory is `history`."""
        raise NotImplementedError


class MageGames:
    """Our side: all games in this process."""

    def __init__(self, game: TreeGame, games: int, trials: int) -> None:
        self._game, self._games, self._tasks = game, games, bench_tasks(game, trials // GROUP_SIZE)
        self._opponents = {name: make_opponent(name, game) for name in OPPONENTS[game.name]}
        self._agent, self._memory = TextAgent(), make_memory(MEMORY)

    async def play(self, task: Task, member: int) -> Trial:
        """One trial."""
        return await play_trial(
            task,
            member,
            game=self._game,
            opponent=self._opponents[task.opponent],
            actor=self._agent,
            memory=self._memory,
        )

    def measure(self) -> float:
        """Decisions per second over all trials, `games` of them at a time."""
        with collector_paused():  # as training does
            start = time.perf_counter()
            collected = asyncio.run(collect(self._tasks, GROUP_SIZE, self.play, concurrency=self._games))
            seconds = time.perf_counter() - start
        return sum(len(trial.turns) for trial in collected.trials) / seconds


class TextGame:
    """The peer's world: one game behind `reset` and `step`, text in and text out."""

    def __init__(self, name: str, dialect: Dialect) -> None:
        self._game, self._prompts = make_game(name, dialect), make_prompts(dialect)
        self._opponents: dict[str, Any] = {name: make_opponent(name, self._game) for name in OPPONENTS[name]}

    def reset(self, task: Task) -> Shown:
        """Start a trial; returns the first prompt and the legal actions."""
        self._task, self._room = task, task_dice(task)
        self._opponent = self._opponents[task.opponent]
        return self._deal(1, "")

    def step(self, said: str) -> Shown:
        """Play the action that an answer names, the opponent's reply and what follows, up to the next prompt."""
        action = match_action(parse_block(said, "action")[0], self._node.names)
        if action is None:
            raise ValueError(f"not a legal answer: {said!r}")
        self._advance(self._node.after(action))
        node, task = self._node, self._task
        if node.seat is not None:
            return self._prompts.turn(node.show(task.seat), node.names), node.names
        if self._episode == task.episodes:
            return None
        reward = node.returns[task.seat]
        result: Result = "won" if reward > 0 else "drawn" if reward == 0 else "lost"
        return self._deal(self._episode + 1, self._prompts.over(self._episode, result, node.outcome(task.seat)))

    def _deal(self, episode: int, head: str) -> Shown:
        self._episode = episode
        self._dice, self._rolls = self._room("deal", episode - 1), self._room("opponent", episode - 1)
        self._advance(self._game.root())
        view, legal = self._node.show(self._task.seat), self._node.names
        return self._prompts.start(episode, self._task.episodes, head, view, legal), legal

    def _advance(self, node: Any) -> None:
        """Chance and the opponent move until it is the agent's turn or the episode ends."""
        while node.player not in (self._task.seat, TERMINAL):
            if node.player == CHANCE:
                action = node.actions[self._dice.pick(node.chance)]
            else:
                action = sample(self._opponent.policy(node), self._rolls)
            node = node.child(action)
        self._node = node


class RayGames:
    """The peer: one Ray actor per game, all stepped together."""

    def __init__(self, game: TreeGame, games: int) -> None:
        import ray

        self._ray = ray
        remote = ray.remote(TextGame)
        self._tasks = bench_tasks(game, games)
        self._actors: list[Any] = []
        for task in self._tasks:
            self._actors.append(remote.remote(game.name, game.dialect))
            ray.get(self._actors[-1].reset.remote(task))  # until it is up

    def play(self) -> int:
        """One trial in each game, in lockstep; returns the number of decisions."""
        seeds = count()
        pairs = zip(self._actors, self._tasks, strict=True)
        shown = self._ray.get([actor.reset.remote(task) for actor, task in pairs])
        under_way, decisions = list(zip(self._actors, shown, strict=True)), 0
        while under_way:
            steps = [actor.step.remote(answer(legal, next(seeds))) for actor, (_, legal) in under_way]
            decisions += len(steps)
            shown = self._ray.get(steps)
            under_way = [(actor, seen) for (actor, _), seen in zip(under_way, shown, strict=True) if seen]
        return decisions

    def measure(self, seconds: float) -> float:
        """Decisions per second, over at least `seconds`."""
        decisions, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            decisions += self.play()
        return decisions / (time.perf_counter() - start)

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)


def compare(game: TreeGame, games: int, options: argparse.Namespace) -> dict[str, Any]:
    """Both sides in turn on one game; medians and all repetitions."""
    ours, peer = MageGames(game, games, options.trials), RayGames(game, games)
    seen: dict[str, list[float]] = {"mage": [], "ray": []}
    for _ in range(options.repeat):
        seen["mage"].append(ours.measure())
        seen["ray"].append(peer.measure(options.seconds))
    peer.close()
    medians = {name: statistics.median(values) for name, values in seen.items()}
    return {
        "game": game.name,
        "dialect": game.dialect,
        "games": games,
        "decisions_per_second": medians,
        "ratio": medians["mage"] / medians["ray"],
        "repetitions": seen,
    }


def main() -> None:
    """Measure, print, write `bench/results/games.json`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, nargs="+", default=[8, 64], help="how many games at once")
    parser.add_argument("--dialect", default="compact", choices=get_args(Dialect))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--trials", type=int, default=8192, help="trials of one repetition (mage)")
    parser.add_argument("--seconds", type=float, default=3.0, help="least length of one repetition (ray)")
    options = parser.parse_args()
    import ray

    on = machine()
    os.environ |= {"RAY_worker_maximum_startup_concurrency": str(max(options.games))}  # it warns of many actors else
    ray.init(include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    rows = [compare(make_game(name, options.dialect), games, options) for games in options.games for name in OPPONENTS]
    ray.shutdown()
    path = write("games", on, vars(options), rows)
    cells = [(r["game"], r["games"], *r["decisions_per_second"].values(), r["ratio"]) for r in rows]
    show("Agent decisions per second", ("game", "games at once", "mage", "ray", "ratio"), cells)
    print(path)


if __name__ == "__main__":
    main()
