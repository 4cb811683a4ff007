"""Who finds a reward that random play does not: methods and their parts on a lock, with the same number of trials.

    python bench/exploration.py --seeds 0,1,2 --parallel 2

Success is the share of sampled trials at temperature 1 (`eval.trials` of them) in which the lock opens. "Alone" is
without memory, as SGE and EMPO² are measured; "with tips" has what training left in the memory; "kept" is the first
divided by the second. Intervals are 95 % over seeds (Student). Writes bench/results/exploration.json; runs stay in
runs/exploration, complete ones are not repeated, stopped ones go on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from common import as_recorded, machine, show, write
from mage.analysis.stats import interval
from runs import Job, run_all

FOLDER = Path("runs/exploration")
ALONE = ("alone", ())
TIPS = ("with tips", ("--memory", "tips"))
VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "grpo": ("lock", ("method=grpo",)),
    "grpo, entropy advantage": ("lock", ("method=grpo", "credit.entropy_weight=0.4")),
    "grpo, random network distillation": ("lock", ("method=grpo", "novelty.kind=rnd")),
    "grpo, a reward of 1 by n": ("lock", ("method=grpo", "novelty.kind=counts")),
    "sge, its prompt alone": (
        "lock",
        ("strategies.failure=0", "strategies.success=0", "actor.strategy_temperature=1", "loop.temperature=1"),
    ),
    "sge": ("lock", ()),
    "empo2": ("lock_empo2", ()),
    "empo2, no off-policy updates": ("lock_empo2", ("hybrid.on_policy=0.25", "hybrid.off_policy=0")),
    "empo2, always with tips": ("lock_empo2", ("hybrid.on_policy=0.333", "hybrid.off_policy=0.667")),
    "empo2, always with tips, no off-policy updates": ("lock_empo2", ("hybrid.on_policy=1", "hybrid.off_policy=0")),
}
"""By label the recipe and what is changed of it; all have the same lock and the same number of trials."""


def first_success(run: Path) -> int | None:
    """The first iteration in which a trial opened the lock."""
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["won"][0]:
            return int(row["iteration"])
    return None


def row(label: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of one variant over seeds."""
    alone = [result["alone"]["pooled"]["won"][0] for result in results]
    tips = [result["with tips"]["pooled"]["won"][0] for result in results if "with tips" in result]
    estimate = interval(alone) if len(alone) > 1 else None
    return {
        "variant": label,
        "alone": alone,
        "mean": mean(alone),
        "interval": [estimate.low, estimate.high] if estimate else None,
        "with tips": tips or None,
        "kept": mean(alone) / mean(tips) if tips and mean(tips) > 0.05 else None,
        "first success": [first_success(FOLDER / result["name"]) for result in results],
        "minutes": mean(result["minutes"] for result in results),
    }


def cells(figures: dict[str, Any]) -> list[str]:
    """A row of the table."""
    spread = figures["interval"]
    tips, kept = figures["with tips"], figures["kept"]
    return [
        figures["variant"],
        f"{figures['mean']:.3f}" + (f" ± {(spread[1] - spread[0]) / 2:.3f}" if spread else ""),
        " ".join(f"{value:.3f}" for value in figures["alone"]),
        " ".join(f"{value:.3f}" for value in tips) if tips else "",
        f"{kept:.0%}" if kept is not None else "",
        " ".join("never" if number is None else str(number) for number in figures["first success"]),
        f"{figures['minutes']:.1f}",
    ]


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time (each uses the recipe's threads)")
    options = parser.parse_args()
    on = machine()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    jobs = [
        Job(
            f"{label.replace(', ', '-').replace(' ', '-')}-seed{seed}",
            recipe,
            (*changes, f"seed={seed}"),
            (ALONE, TIPS) if recipe == "lock_empo2" else (ALONE,),
        )
        for label, (recipe, changes) in VARIANTS.items()
        for seed in seeds
    ]
    results = run_all(jobs, FOLDER, options.parallel)
    size = len(seeds)
    rows = [
        row(label, results[size * place : size * (place + 1)])
        | {"recipe": VARIANTS[label][0], "changes": VARIANTS[label][1], "seeds": seeds}
        for place, label in enumerate(VARIANTS)
    ]
    columns = ["variant", "success alone", "by seed", "with tips", "kept", "first success (iteration)", "minutes"]
    show(f"combination lock, mean of {size} seeds", columns, [cells(figures) for figures in rows])
    if as_recorded(parser, options):
        write("exploration", on, vars(options), rows)


if __name__ == "__main__":
    main()
