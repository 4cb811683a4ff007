"""`mage play`: a person in the terminal."""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from pathlib import Path

from mage.errors import GameError, RunError
from mage.run.folder import RunFolder


def play_command(
    game_name: str, *, against: str, seat: int | None, episodes: int | None, seed: int | None, temperature: float
) -> None:
    """Play a series against an opponent of the catalogue or a trained agent."""
    from mage.play.games import make_game
    from mage.play.opponents import make_opponent
    from mage.show.terminal_play import Terminal, play_agent, play_opponent

    game = make_game(game_name, "natural")
    seed = secrets.randbelow(2**31) if seed is None else seed
    seat = seed % game.seats if seat is None else seat
    if not 0 <= seat < game.seats:
        raise GameError(f"--seat {seat}: {game.name} has seats 0 to {game.seats - 1}")
    terminal = Terminal(read=_read, write=_write)
    run = Path(against)
    if RunFolder.is_run(run):
        folder = RunFolder.open(run)
        if folder.recipe.game.name != game_name:
            raise GameError(f"{run} was trained on {folder.recipe.game.name}, not {game_name}")
        if not folder.model_path.is_dir():
            raise RunError(f"{run} has no model yet: finish it with mage train --resume {run}")
        from mage.engine.local import LocalEngine
        from mage.run.arena import make_arena

        arena = make_arena(folder.recipe)
        actor = arena.actor(LocalEngine.open(folder.model_path), temperature)
        count = episodes or folder.recipe.trial.episodes
        _greet(game.rules(seat), f"the agent of {run}", seat, count, seed)
        series = play_agent(arena, game, actor, seat=seat, episodes=count, seed=seed, terminal=terminal)
    else:
        opponent = make_opponent(against, game)
        count = episodes or 3
        _greet(game.rules(seat), opponent.name, seat, count, seed)
        series = play_opponent(game, opponent, seat=seat, episodes=count, seed=seed, terminal=terminal)
    _write("\n" + asyncio.run(series).closing())


def _greet(rules: str, whom: str, seat: int, episodes: int, seed: int) -> None:
    _write(rules)
    _write(f"\nYou have seat {seat} against {whom}: {episodes} episodes, seed {seed}. ? shows the rules, q stops.")


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _read(prompt: str) -> str:
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own would wait for the line to end
    try:
        return input(prompt)
    finally:
        signal.signal(signal.SIGINT, handler)
