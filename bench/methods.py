"""The trained methods on re-dealt Kuhn poker, same tasks for all: exact greedy payoff by episode over seeds.

    python bench/methods.py --seeds 0,1,2 --parallel 2

What `mage compare` does, kept with machine, versions and date in bench/results/methods.json, its picture in
docs/methods.svg. LaMer and MAGE carry remarks from episode to episode; the others play each episode alone, as often and
against the same opponents. Runs stay in runs/compare-kuhn; complete ones are not repeated, stopped ones go on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from common import as_recorded, machine, write
from mage.commands.compare import show_comparison
from mage.commands.recipes import recipe_path
from mage.errors import RunError
from mage.run.compare import compare, contenders
from mage.run.compared import summarise
from mage.show.charts import adaptation_figure, save_svg

FOLDER = Path("runs/compare-kuhn")
PICTURE = Path(__file__).parents[1] / "docs" / "methods.svg"
METHODS = ("mage", "lamer", "gigpo", "grpo", "rloo", "ppo", "reinforce++")


def main() -> None:
    """Run, print, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time (each uses the recipe's threads)")
    options = parser.parse_args()
    on = machine()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    budget = [f"loop.iterations={options.iterations}"]
    recipes = contenders(recipe_path("kuhn"), budget, options.methods.split(","), seeds)
    results = []
    for found in compare(
        recipes, FOLDER, parallel=options.parallel, note=lambda text: print(text, file=sys.stderr, flush=True)
    ):
        if isinstance(found, RunError):
            raise found
        results.append(found)
    rows = summarise(recipes, results)
    show_comparison(rows, results)
    if as_recorded(parser, options):
        save_svg(adaptation_figure([{**row, "label": row["method"]} for row in results]), PICTURE, "methods")
        write("methods", on, vars(options), [row.as_dict() for row in rows])


if __name__ == "__main__":
    main()
