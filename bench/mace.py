"""Whom to ask: cumulative regret of LinUCB (MACE) beside selectors that lack its features, its learning, or both.

    python bench/mace.py

Three settings: the two-peer delegation bandit, parametric diversity (four peers), contextual diversity (split evidence,
ten agents). Peers, their luck in a round and the order of questions are the same for all selectors of a seed; in
split evidence how far a question has got in a round depends on the answers. α, λ and the scales of the features were
tuned on seeds from 1000 on; the seeds here are 0 to 19. `no bonus` is LinUCB with α = 0. The runs of 400 rounds have a
trial phase of 240; growth is the slope of log regret on log round from round 20 on, once as is and once for LinUCB
whose trial phase does not end. Writes bench/results/mace.json and docs/mace.svg.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from common import as_recorded, machine, show, write
from mage.analysis.stats import interval, paired
from mage.commands.peers import peer_cells
from mage.commands.tables import span
from mage.peers.play import SETTINGS, PeerRun, run_peers
from mage.peers.regret import START, growth_exponent
from mage.peers.selectors import ALPHA, RIDGE, SCALES, SELECTORS
from mage.peers.summary import PeerSummary, summarise
from mage.show.charts import LINES, save_svg

PICTURE = Path(__file__).parents[1] / "docs" / "mace.svg"
NO_BONUS = "no bonus"
LONG = ("linucb", "greedy", "in_context", "random", "fixed")


def runs_of(setting: str, selector: str, seeds: int, rounds: int, trial: int | None = None) -> list[PeerRun]:
    """All seeds of one selector; `no bonus` is LinUCB with α = 0."""
    plain = selector == NO_BONUS
    name, alpha = ("linucb", 0.0) if plain else (selector, ALPHA)
    runs = [run_peers(setting, name, seed, rounds=rounds, trial_rounds=trial, alpha=alpha) for seed in range(seeds)]
    return [replace(asyncio.run(run), selector=selector) for run in runs]


def against_greedy(setting: str, runs: Sequence[PeerRun]) -> dict[str, Any]:
    """LinUCB's regret minus that of its two features alone, paired by seed: what the bandit itself adds."""
    totals = {name: [float(run.regret.sum()) for run in runs if run.selector == name] for name in ("linucb", "greedy")}
    gap = paired(totals["linucb"], totals["greedy"])
    return {"setting": setting, "difference": gap.mean, "interval": gap[1:]}


def growth(setting: str, selector: str, runs: Sequence[PeerRun]) -> dict[str, Any]:
    """The mean curve, and its growth: of the mean and, with an interval, of single seeds."""
    curve = np.mean([run.cumulative for run in runs], axis=0)
    fitted = [growth_exponent(run.cumulative) for run in runs if run.cumulative[START - 1] > 0]
    exponents = interval(fitted)
    return {
        "setting": setting,
        "selector": selector,
        "rounds": len(curve),
        "trial_rounds": runs[0].trial_rounds,
        "regret": float(curve[-1]),
        "exponent_of_mean": growth_exponent(curve),
        "exponent": exponents.mean,
        "exponent_interval": exponents[1:],
        "seeds_fitted": len(fitted),
        "curve": [round(float(value), 4) for value in curve],
        "regrets": [round(float(run.cumulative[-1]), 4) for run in runs],
    }


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Mean cumulative regret over rounds, one panel a setting, both axes logarithmic: a straight line of slope 1 is
    linear growth.
    """
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    panels = figure.subplots(1, len(SETTINGS), sharex=True)
    for axes, setting in zip(panels, SETTINGS, strict=True):
        for row, color in zip((row for row in rows if row["setting"] == setting), LINES, strict=False):
            label = f"{row['selector']}, slope {row['exponent_of_mean']:.2f}"
            axes.loglog(np.arange(1, row["rounds"] + 1), row["curve"], color=color, linewidth=1.8, label=label)
        axes.set_title(setting, loc="left", fontsize=10)
        axes.set_xlabel("round")
        axes.legend(frameon=False, fontsize=8)
    panels[0].set_ylabel("cumulative regret")
    save_svg(figure, path, "mace")


def main() -> None:
    """Measure, print, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--long", type=int, default=400, help="rounds of the growth curve")
    options = parser.parse_args()
    on = machine()
    short, long, gaps = list[PeerSummary](), list[dict[str, Any]](), list[dict[str, Any]]()
    for setting in SETTINGS:
        names = (*SELECTORS, NO_BONUS)
        runs = [run for name in names for run in runs_of(setting, name, options.seeds, options.rounds)]
        short += summarise(runs)
        gaps.append(against_greedy(setting, runs))
        for name in LONG:
            long.append(growth(setting, name, runs_of(setting, name, options.seeds, options.long)))
        unending = runs_of(setting, "linucb", options.seeds, options.long, options.long)
        long.append(growth(setting, "linucb, trial only", unending))
    columns = ["setting", "selector", "regret", "95%", "trial", "exploit", "− random", "95%"]
    columns += ["÷ random", "÷ trial", "right"]
    show(
        f"Cumulative regret over {options.rounds} rounds, {options.seeds} seeds",
        columns,
        [[row.setting, *peer_cells(row)] for row in short],
    )
    rows = [[gap["setting"], f"{gap['difference']:.2f}", span(gap["interval"], 2)] for gap in gaps]
    show("LinUCB minus greedy", ["setting", "difference", "95%"], rows)
    cells = [
        [
            row["setting"],
            row["selector"],
            f"{row['regret']:.1f}",
            f"{row['exponent_of_mean']:.2f}",
            f"{row['exponent']:.2f}",
            span(row["exponent_interval"], 2),
        ]
        for row in long
    ]
    show(
        f"Growth over {options.long} rounds",
        ["setting", "selector", "regret", "slope of mean", "mean slope", "95%"],
        cells,
    )
    if as_recorded(parser, options):
        settings = {**vars(options), "alpha": ALPHA, "ridge": RIDGE, "scales": SCALES.tolist()}
        result = {"short": [row.as_dict() for row in short], "long": long, "against_greedy": gaps}
        print(write("mace", on, settings, result))
        draw(long, PICTURE)


if __name__ == "__main__":
    main()
