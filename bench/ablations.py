"""What each part is worth: credit, baseline and memory of recipes/kuhn.toml changed one at a time, same budget.

    python bench/ablations.py --seeds 0,1,2 --parallel 2

Every variant plays the same tasks (same seeds, deals and opponents) for the same number of iterations. The table has
the exact greedy payoff of each episode, mean over seeds, and the last episode of each seed. Writes
bench/results/ablations.json; runs stay in runs/ablations, and those that are complete are not repeated.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

from common import machine, show, write
from runs import Job, run_all

FOLDER = Path("runs/ablations")
VARIANTS: dict[str, tuple[str, ...]] = {
    "as shipped (differential, per opponent, reflection)": (),
    "credit final": ("credit.returns=final",),
    "credit cumulative": ("credit.returns=cumulative",),
    "credit episode": ("credit.returns=episode",),
    "baseline mixed": ('credit.baseline=["episode"]',),
    "memory history": ("trial.memory=history",),
    "memory none": ("trial.memory=none",),
}


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
    rows, table = [], []
    for label, changes in VARIANTS.items():
        payoffs = [next(results)["own"]["pooled"]["payoff"] for _ in seeds]
        means = [mean(episode) for episode in zip(*payoffs, strict=True)]
        rows.append({"variant": label, "changes": list(changes), "seeds": seeds, "payoffs": payoffs, "mean": means})
        last = " ".join(f"{payoff[-1]:.3f}" for payoff in payoffs)
        table.append([label, *(f"{value:.4f}" for value in means), last])
    columns = ["variant", *(f"episode {n + 1}" for n in range(len(rows[0]["mean"]))), "last episode by seed"]
    show(f"greedy payoff after {options.iterations} iterations, mean of {len(seeds)} seeds", columns, table)
    write("ablations", on, vars(options), rows)


if __name__ == "__main__":
    main()
