"""Whole playthroughs, word for word. After a wanted change: MAGE_REGENERATE_GOLDEN=1 pytest, then read the diff."""

import asyncio
import os
import random
import re
from pathlib import Path

import pytest

from mage.chance import SeededDice
from mage.play.game import TreeGame
from mage.play.games import game_names, make_game

GOLDEN = Path(__file__).parents[2] / "golden"
GAMES = (*game_names(extras=False), "combination_lock:depth=3,symbols=2,seed=2")  # random play opens it once
CASES = [(name, dialect) for name in GAMES for dialect in ("natural", "compact")]


async def _play(game: TreeGame, seed: int, forfeit_after: int | None = None) -> list[str]:
    choose = random.Random(seed)
    episode = await game.start(SeededDice(seed))
    lines = [f"=== episode, seed {seed} ==="]
    turn = 0
    while episode.seat is not None:
        if turn == forfeit_after:
            lines.append(f"--- seat {episode.seat} forfeits")
            await episode.forfeit(episode.seat)
            break
        lines += [f"--- seat {seat} sees\n{episode.observe(seat)}" for seat in range(game.seats)]
        legal = episode.legal()
        action = choose.choice(legal)
        lines.append(f"--- seat {episode.seat} of [{', '.join(legal)}] plays {action}")
        await episode.step(action)
        turn += 1
    lines.append(f"--- returns {episode.returns()}")
    for seat in range(game.seats):
        lines += [f"--- seat {seat} is told\n{episode.outcome(seat)}", f"--- facts {list(game.facts(episode, seat))}"]
    return lines


async def _record(game: TreeGame) -> str:
    lines = [f"=== {game.name}, {game.dialect}, chance {game.has_chance} ==="]
    lines += [f"--- rules for seat {seat}\n{game.rules(seat)}" for seat in range(game.seats)]
    for seed in range(3):
        lines += await _play(game, seed)
    lines += await _play(game, 3, forfeit_after=1)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("name", "dialect"), CASES)
def test_playthrough_is_the_recorded_one(name, dialect):
    path = GOLDEN / f"{re.sub(r'[^a-z0-9]+', '_', name)}.{dialect}.txt"
    text = asyncio.run(_record(make_game(name, dialect)))
    if os.environ.get("MAGE_REGENERATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
