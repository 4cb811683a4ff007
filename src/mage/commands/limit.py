"""`mage limit`: exact values of a game and a pool."""

from __future__ import annotations

import sys
from typing import Any, Literal

from mage.errors import MageError
from mage.run.files import encode


def limit_command(
    game_name: str,
    *,
    pool: str | None,
    weights: str | None,
    episodes: int,
    restart: Literal["redeal", "replay"],
    json: bool,
) -> None:
    """Compute and show them. Raises MageError where there is nobody to adapt to, or `pool` says of nobody."""
    from mage.analysis.limits import exact_limits
    from mage.play.games import make_game
    from mage.play.opponents import make_opponent, nobody_to_meet

    game = make_game(game_name)
    if game.seats == 1:
        raise MageError(f"{nobody_to_meet(game)}, and so no limit of adapting to somebody")
    if pool is None:
        raise MageError("--pool: who may be met? Give opponents separated by commas, such as conservative,aggressive")
    opponents = [make_opponent(spec, game) for spec in split_pool(pool)]
    shares = split_weights(weights, len(opponents))
    result = exact_limits(game, opponents, shares, episodes=episodes, restart=restart).as_dict()
    if json:
        sys.stdout.write(encode(result) + "\n")
    else:
        show_limits(result)


def split_pool(pool: str) -> list[str]:
    """Opponents of a comma-separated list; parameters after the first belong to the opponent before them.

    Raises MageError for an empty name.

    >>> split_pool("random, mcts:simulations=100,uct=2,minimax")
    ['random', 'mcts:simulations=100,uct=2', 'minimax']
    """
    specs: list[str] = []
    for part in (piece.strip() for piece in pool.split(",")):
        if specs and "=" in part and ":" not in part and ":" in specs[-1]:
            specs[-1] += f",{part}"
        else:
            specs.append(part)
    if "" in specs:
        raise MageError(f"--pool {pool!r}: expected opponents separated by commas, such as conservative,aggressive")
    return specs


def split_weights(weights: str | None, count: int) -> list[float]:
    """Shares of a pool, the largest of them 1: equal by default.

    Raises MageError if they are not `count` positive numbers.

    >>> split_weights(None, 2), split_weights("4,1", 2)
    ([1.0, 1.0], [1.0, 0.25])
    """
    if weights is None:
        return [1.0] * count
    try:
        values = [float(part) for part in weights.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not all(0 < value < float("inf") for value in values):
        raise MageError(
            f"--weights {weights!r}: expected {count} positive numbers separated by commas, one an opponent"
        )
    return [value / max(values) for value in values]  # so that their sum is finite


def show_limits(result: dict[str, Any]) -> None:
    """A table: pooled and by seat."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2), header_style="dim")
    seats = sorted(result["by_seat"])
    for name in ("expected payoff of the last episode", "pooled", *(f"seat {seat}" for seat in seats)):
        table.add_column(name, justify="left" if name.startswith("expected") else "right")
    columns = [result, *(result["by_seat"][seat] for seat in seats)]
    table.add_row("best that cannot adapt", *(f"{column['non_adaptive']:.4f}" for column in columns))
    for number in range(2, result["episodes"] + 1):
        values = (f"{column['adaptive_by_episodes'][number - 1]:.4f}" for column in columns)
        table.add_row(f"adaptive optimum, {number} episodes", *values)
    table.add_row("opponent known", *(f"{column['known']:.4f}" for column in columns))
    for name in result["known_by_opponent"]:
        table.add_row(f"  {name}", *(f"{column['known_by_opponent'][name]:.4f}" for column in columns), style="dim")
    console = Console(highlight=False)
    shares = ", ".join(f"{name} {share:.3g}" for name, share in result["pool"].items())
    console.print(f"{result['game']}, {result['restart']}, pool {shares}", style="bold", markup=False)
    console.print(table)
