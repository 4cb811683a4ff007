"""Agent turns per second in each world: N trials at once in one process, text in and text out.

    python bench/worlds.py

A random agent plays trials of three episodes with memory `history`; its answers are text that is parsed and checked. A
turn is one prompt read and one answer given. "oracle" plays what the world itself says is best. Worlds whose extra is
not installed are left out, and named. Writes bench/results/worlds.json.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from common import as_recorded, machine, show, write
from games import TextAgent
from mage.errors import GameError
from mage.play.collect import collect
from mage.play.game import Game
from mage.play.games import game_extra, game_names, make_game
from mage.play.games.guided import GuidedGame
from mage.play.memories import make_memory
from mage.play.opponents.population import Population, draw_tasks
from mage.play.records import Task, Trial
from mage.play.templates import make_prompts
from mage.play.trial import play_trial
from mage.run.train import collector_paused

EPISODES = 3


def worlds() -> tuple[dict[str, Game], list[str]]:
    """Games of one seat in the natural dialect by name, and why others are left out."""
    found, missing = {}, []
    for name in game_names():
        try:
            game = make_game(name, "natural")
        except GameError as error:
            missing.append(str(error))
            continue
        if game.seats == 1:
            found[name] = game
    return found, missing


def play(game: Game, count: int) -> tuple[float, tuple[Trial, ...]]:
    """Seconds that `count` trials at once take, and the trials."""
    memory, prompts = make_memory("history"), make_prompts("natural")
    tasks = draw_tasks(
        Population.nobody(), groups=count, seats=(0,), episodes=EPISODES, restart="replay", seed=0, iteration=0
    )

    async def one(task: Task, member: int) -> Trial:
        return await play_trial(
            task, member, game=game, opponent=None, actor=TextAgent(), memory=memory, prompts=prompts
        )

    with collector_paused():
        began = time.perf_counter()
        collected = asyncio.run(collect(tasks, 1, one))
        took = time.perf_counter() - began
    if collected.dropped:
        raise SystemExit(f"{game.name}: {collected.dropped[0].reason}")
    return took, collected.trials


def measure(name: str, game: Game, counts: Sequence[int], turns: int, repeat: int) -> dict[str, Any]:
    """Scores, lengths, and turns per second by the number of trials at once."""
    trials = play(game, max(8, turns // 100))[1]
    lengths = [episode.turns for trial in trials for episode in trial.episodes]
    per_trial = EPISODES * mean(lengths)
    rates = {}
    for count in counts:
        rounds = max(1, round(turns / (count * per_trial)))
        rates[count] = median(
            sum(len(trial.turns) for trial in played) / took
            for took, played in (_repeated(game, count, rounds) for _ in range(repeat))
        )
    try:
        best = play(GuidedGame(game), max(8, turns // 100))[1]
    except GameError:  # it does not say how it is won
        best = ()
    return {
        "world": name,
        "extra": game_extra(name),
        "random": mean(episode.reward for trial in trials for episode in trial.episodes),
        "length": mean(lengths),
        "oracle": mean(episode.reward for trial in best for episode in trial.episodes) if best else None,
        "turns_per_second": rates,
    }


def _repeated(game: Game, count: int, rounds: int) -> tuple[float, tuple[Trial, ...]]:
    took, trials = 0.0, []
    for _ in range(rounds):
        seconds, played = play(game, count)
        took += seconds
        trials += played
    return took, tuple(trials)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="1,8,64", help="trials at once")
    parser.add_argument("--turns", type=int, default=20_000, help="turns of a measurement, about")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    on = machine()
    counts = [int(count) for count in options.counts.split(",")]
    found, missing = worlds()
    rows = [measure(name, game, counts, options.turns, options.repeat) for name, game in found.items()]
    cells = [
        [
            row["world"],
            f"{row['random']:.3f}",
            "" if row["oracle"] is None else f"{row['oracle']:.3f}",
            f"{row['length']:.1f}",
            *(f"{row['turns_per_second'][count]:,.0f}" for count in counts),
        ]
        for row in rows
    ]
    columns = ["world", "random", "oracle", "turns", *(f"{count} at once" for count in counts)]
    show("turns per second, one process", columns, cells)
    for reason in missing:
        print(f"left out: {reason}")
    if as_recorded(parser, options):
        write("worlds", on, vars(options), rows)


if __name__ == "__main__":
    main()
