"""What each part is worth: credit, baseline and memory of recipes/kuhn.toml changed one at a time, same budget.

    python bench/ablations.py --seeds 0,1,2 --parallel 2

Every variant plays the same tasks (same seeds, deals and opponents) for the same number of iterations. The table has
the exact greedy payoff of each episode, mean over seeds, the last episode of each seed, and by how much the last
episode differs from the shipped variant's, paired by seed, with its 95% interval (Student; none for one seed). Writes
bench/results/ablations.json; runs stay in runs/ablations, and complete ones are not repeated, stopped ones go on.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from common import as_recorded, machine, show, write
from mage.analysis.stats import paired
from runs import Job, run_all

FOLDER = Path("runs/ablations")
VARIANTS: dict[str, tuple[str, ...]] = {
    "as shipped (differential, per opponent, reflection)": (),
    "credit final": ("credit.returns=final",),
    "credit cumulative": ("credit.returns=cumulative",),
    "credit episode": ("credit.returns=episode",),
    "baseline mixed": ("credit.baseline=[]",),
    "baseline per episode": ('credit.baseline=["group", "opponent", "episode"]',),
    "memory history": ("trial.memory=history",),
    "memory none": ("trial.memory=none",),
}


def row(label: str, payoffs: Sequence[Sequence[float]], shipped: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Figures of one variant from [seeds, N] payoffs, compared with those of the shipped one for the same seeds."""
    means = [mean(episode) for episode in zip(*payoffs, strict=True)]
    difference, low, high = paired([each[-1] for each in payoffs], [each[-1] for each in shipped])
    return {
        "variant": label,
        "payoffs": payoffs,
        "mean": means,
        "difference": difference,
        "interval": [low, high] if len(payoffs) > 1 else None,  # one pair says nothing about its spread
    }


def cells(figures: dict[str, Any]) -> list[str]:
    """A row of the table."""
    interval = figures["interval"]
    spread = f" ± {(interval[1] - interval[0]) / 2:.4f}" if interval else ""
    last = " ".join(f"{payoff[-1]:.3f}" for payoff in figures["payoffs"])
    means = (f"{value:.4f}" for value in figures["mean"])
    return [figures["variant"], *means, last, f"{figures['difference']:+.4f}{spread}"]


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time (each uses the recipe's threads)")
    options = parser.parse_args()
    on = machine()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    jobs = [
        Job(f"{label.split(' (')[0].replace(' ', '-')}-seed{seed}", "kuhn", (*changes, budget, f"seed={seed}"))
        for label, changes in VARIANTS.items()
        for seed in seeds
        for budget in (f"loop.iterations={options.iterations}",)
    ]
    results = iter(run_all(jobs, FOLDER, options.parallel))
    payoffs = {label: [next(results)["own"]["pooled"]["payoff"] for _ in seeds] for label in VARIANTS}
    shipped = next(iter(payoffs.values()))
    rows = [row(label, each, shipped) | {"changes": VARIANTS[label], "seeds": seeds} for label, each in payoffs.items()]
    episodes = (f"episode {n + 1}" for n in range(len(shipped[0])))
    columns = ["variant", *episodes, "last episode by seed", "last episode − shipped"]
    title = f"greedy payoff after {options.iterations} iterations, mean of {len(seeds)} seeds"
    show(title, columns, [cells(figures) for figures in rows])
    if as_recorded(parser, options):
        write("ablations", on, vars(options), rows)


if __name__ == "__main__":
    main()
