"""How well the shipped recipes adapt: exact payoff by episode over seeds, beside the exact limits.

    python bench/adaptation.py kuhn kuhn_history kuhn_replay=0 tictactoe=0 --seeds 0,1,2 --parallel 2

Each recipe is trained as shipped, once per seed (`NAME=0,1` has seeds of its own), and evaluated as its own `eval`
section says: with its own remarks, with remarks shuffled among trials (where it has memory `reflection`), and against
the held-out opponents. Writes bench/results/adaptation.json; runs stay in runs/adaptation; those that are complete
are not repeated, those that were stopped go on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common import machine, show, write
from mage.commands.recipes import load_recipe
from runs import Job, run_all

FOLDER = Path("runs/adaptation")


def jobs(recipes: list[str], seeds: str) -> list[Job]:
    """One job per recipe and seed; a recipe is NAME or NAME=SEEDS."""
    listed = []
    for asked in recipes:
        name, _, own = asked.partition("=")
        recipe = load_recipe(name, ())
        evaluations: list[tuple[str, tuple[str, ...]]] = [("own", ())]
        if recipe.trial.memory == "reflection":
            evaluations.append(("shuffled", ("--shuffle-remarks",)))
        if recipe.population.held_out:
            evaluations.append(("held_out", ("--held-out",)))
        names = (own or seeds).split(",")
        listed += [Job(f"{name}-seed{seed}", name, (f"seed={seed}",), tuple(evaluations)) for seed in names]
    return listed


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """The figures of one run that are quoted."""
    row: dict[str, Any] = {name: result[name] for name in ("name", "minutes", "peak_memory_gb")}
    for kind in ("own", "shuffled", "held_out"):
        if kind in result:
            scores = result[kind]
            row[kind] = {
                "kind": scores["kind"],
                "pooled": {key: scores["pooled"][key] for key in ("payoff", "interval", "won", "drawn", "lost")},
                "opponents": {
                    name: {key: each[key] for key in ("payoff", "won", "drawn", "lost", "trials")}
                    for name, each in scores["opponents"].items()
                },
            }
    limits = result["own"]["limits"]
    row["limits"] = limits and {key: limits[key] for key in ("non_adaptive", "adaptive", "known")}
    return row


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time (each uses the recipe's threads)")
    options = parser.parse_args()
    on = machine()
    rows = [summary(result) for result in run_all(jobs(options.recipes, options.seeds), FOLDER, options.parallel)]
    episodes = len(rows[0]["own"]["pooled"]["payoff"])
    columns = ["run", *(f"episode {n + 1}" for n in range(episodes)), "shuffled, last", "minutes", "GB"]
    table = [
        [
            row["name"],
            *(f"{value:.4f}" for value in row["own"]["pooled"]["payoff"]),
            f"{row['shuffled']['pooled']['payoff'][-1]:.4f}" if "shuffled" in row else "-",
            f"{row['minutes']:.1f}",
            f"{row['peak_memory_gb']:.2f}" if row["peak_memory_gb"] else "-",
        ]
        for row in rows
    ]
    show("payoff by episode", columns, table)
    write("adaptation", on, vars(options), rows)


if __name__ == "__main__":
    main()
