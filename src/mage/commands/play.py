"""`mage play`: a person in the terminal."""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mage.errors import GameError, RunError
from mage.methods import prompts_only
from mage.run.folder import RunFolder

if TYPE_CHECKING:
    from mage.play.actors import Actor
    from mage.run.arena import Arena

EPISODES = 3
"""Of a series, unless it is said otherwise."""


def play_command(
    game_name: str, *, against: str | None, seat: int | None, episodes: int | None, seed: int | None, temperature: float
) -> None:
    """Play a series against an opponent of the catalogue or a trained agent, or alone in a game of one seat."""
    from mage.play.games import make_game, normalise_game
    from mage.play.opponents import make_opponent, nobody_to_meet
    from mage.show.terminal_play import Terminal, play_agent, play_opponent

    game = make_game(game_name, "natural")
    seed = secrets.randbelow(2**31) if seed is None else seed
    seat = seed % game.seats if seat is None else seat
    if not 0 <= seat < game.seats:
        raise GameError(f"--seat {seat}: {game.name} has seats 0 to {game.seats - 1}")
    if (against is None) != (game.seats == 1):
        whom = f"whom? Give a run folder or an opponent of `mage ls opponents` for {game.name}"
        raise GameError(f"--against: {whom}" if against is None else f"--against {against}: {nobody_to_meet(game)}")
    terminal = Terminal(read=_read, write=_write)
    if against is not None and RunFolder.is_run(Path(against)):
        folder = RunFolder.open(Path(against))
        if folder.recipe.game.name != normalise_game(game_name):
            raise GameError(f"{against} was trained on {folder.recipe.game.name}, not {game_name}")
        arena, actor = _agent(folder, temperature)
        count = episodes or folder.recipe.trial.episodes
        _greet(game.rules(seat), f"You have seat {seat} against the agent of {against}", count, seed)
        series = play_agent(arena, game, actor, seat=seat, episodes=count, seed=seed, terminal=terminal)
    else:
        opponent = make_opponent(against, game) if against is not None else None
        count = episodes or EPISODES
        how = f"You have seat {seat} against {opponent.name}" if opponent else "You play alone"
        _greet(game.rules(seat), how, count, seed)
        series = play_opponent(game, opponent, seat=seat, episodes=count, seed=seed, terminal=terminal)
    _write("\n" + asyncio.run(series).closing())


def _agent(folder: RunFolder, temperature: float) -> tuple[Arena, Actor]:
    """The agent of a run that has ended, or of a method that trains nothing, with what it remembers; and its arena."""
    if not (folder.model_path.is_dir() or prompts_only(folder.recipe.method)):
        raise RunError(f"{folder.path} has no model yet: finish it with mage train --resume {folder.path}")
    from mage.run.arena import make_arena
    from mage.run.evaluate import fill_memory, open_trained

    arena = make_arena(folder.recipe, measures=True)
    fill_memory(arena, folder)
    engine, _ = open_trained(folder.path, folder)
    return arena, arena.actor(engine, temperature)


def _greet(rules: str, how: str, episodes: int, seed: int) -> None:
    _write(rules)
    _write(f"\n{how}: {episodes} episode{'s' * (episodes != 1)}, seed {seed}. ? shows the rules, q stops.")


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _read(prompt: str) -> str:
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own would wait for the line to end
    try:
        return input(prompt)
    finally:
        signal.signal(signal.SIGINT, handler)
