"""Charts as matplotlib figures, and figures as inline SVG that follows the page's light or dark theme."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from mage.run.files import Row

Floats = npt.NDArray[np.float64]

INK, MUTED, GRID, BAD = "#1d2430", "#667080", "#e3e6ea", "#b4442c"
ADAPTIVE, FIXED, KNOWN = "#0b7a5b", "#8a6d1f", "#7b4fa3"
SERIES = ("#9dbbe8", "#4f86d9", "#16458f", "#2a9d8f", "#e08a3c", "#a14a76")
LINES = (SERIES[2], SERIES[4], SERIES[5], SERIES[3], SERIES[0], MUTED)
THEME = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--line",
    BAD: "--neg",
    ADAPTIVE: "--adaptive",
    FIXED: "--fixed",
    KNOWN: "--known",
    **{color: f"--s{number}" for number, color in enumerate(SERIES)},
}
LABEL_GAP = 0.055
"""Least distance of two labels, as a share of the axis."""
LIMITS = (
    ("non_adaptive", "cannot adapt", FIXED),
    ("adaptive", "adaptive optimum", ADAPTIVE),
    ("known", "opponent known", KNOWN),
)


def learning_figure(metrics: Sequence[Row], limits: Row | None, units: str = "payoff") -> Figure:
    """Training payoff over iterations, a curve with a 95% band for each episode, exact values as horizontal lines."""
    with _style():
        figure, axes = _axes(5.6, 3.7)
        iterations = column(metrics, "iteration")
        payoff, sem = column(metrics, "payoff"), column(metrics, "payoff_sem")
        window = max(1, len(metrics) // 40)
        for episode in range(payoff.shape[1]):
            color = episode_color(episode, payoff.shape[1])
            mean, half = smooth(payoff[:, episode], sem[:, episode], window)
            axes.fill_between(iterations, mean - half, mean + half, color=color, alpha=0.18, linewidth=0)
            axes.plot(iterations, mean, color=color, linewidth=1.8, label=f"episode {episode + 1}")
        if limits:
            for key, _, color in LIMITS:
                _exact_line(axes, limits[key], color)
            _end_labels(axes, limits)
        axes.set_xlabel("iteration")
        axes.set_ylabel(units)
        axes.set_xlim(iterations[0], max(iterations[-1], iterations[0] + 1))
        _legend(axes)
    return figure


def adaptation_figure(evals: Sequence[Row]) -> Figure:
    """Payoff by episode of one or more evaluation results, beside the exact values.

    Results that share a label are one line through their mean with a thin line for each (seeds of one experiment).
    The label is the result's `label` if it has one, else made from its actor and options.
    """
    with _style():
        figure, axes = _axes(5.6, 3.7)
        labels = list(dict.fromkeys(eval_label(result) for result in evals))
        episodes = max(result["episodes"] for result in evals)
        for number, label in enumerate(labels):
            same = [result for result in evals if eval_label(result) == label]
            _adaptation_line(axes, same, label, LINES[number % len(LINES)])
        limits = next((result["limits"] for result in evals if result.get("limits")), None)
        if limits:
            _exact_line(axes, limits["non_adaptive"], FIXED)
            _exact_line(axes, limits["known"], KNOWN)
            steps = np.arange(1, len(limits["adaptive_by_episodes"]) + 1)
            axes.plot(
                steps,
                limits["adaptive_by_episodes"],
                color=ADAPTIVE,
                linestyle="none",
                marker="_",
                markersize=22,
                mew=2,
            )
            _end_labels(axes, limits)
        axes.set_xticks(range(1, episodes + 1))
        axes.set_xlim(0.7, episodes + 0.3)
        axes.set_xlabel("episode of the trial")
        axes.set_ylabel(str(evals[0].get("units", "payoff")))
        if len(labels) > 1:
            _legend(axes)
    return figure


def trace_figure(metrics: Sequence[Row], keys: Sequence[tuple[str, str]], *, log: bool = False) -> Figure:
    """A small chart of one or two metrics over iterations; `keys` are (key, label) pairs."""
    with _style():
        figure, axes = _axes(3.6, 2.1)
        iterations = column(metrics, "iteration")
        for number, (key, label) in enumerate(keys):
            values = column(metrics, key)
            if log:
                values = np.where(values > 0, values, np.nan)
            axes.plot(iterations, values, color=(SERIES[1], SERIES[4])[number], linewidth=1.2, label=label)
        if log and np.isfinite(axes.dataLim.get_points()).all():
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.tick_params(which="minor", length=0)
        axes.set_xlim(iterations[0], max(iterations[-1], iterations[0] + 1))
        if len(keys) > 1:
            _legend(axes)
    return figure


def svg(figure: Figure, name: str, description: str) -> str:
    """Inline SVG of a figure: colours become the page's CSS variables, text stays text.

    Equal figures give equal bytes.
    """
    buffer = io.StringIO()
    with _style(**{"svg.hashsalt": name}):  # the salt keeps ids apart within one page
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"| version="[^"]*"', "", text)
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    text = re.sub(
        r'id="((?:figure|axes|patch|text|line2d|matplotlib\.axis|xtick|ytick|legend|FillBetween)\w*)"', "", text
    )
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;\"]*", "font-family: var(--font)", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 var(--font)", text)
    for color, variable in THEME.items():
        text = text.replace(color, f"var({variable})")
    return text.replace("<svg", f'<svg role="img" aria-label="{description}"', 1)


def save_svg(figure: Figure, path: Path, name: str) -> None:
    """Write a figure as a file of its own: letters as outlines, a white ground, so that it looks the same everywhere.

    Equal figures give equal bytes.
    """
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": name}):
        figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})


def column(rows: Sequence[Row], key: str) -> Floats:
    """A metric over all rows as floats, (rows,) or (rows, episodes); null becomes NaN."""
    return np.array([row.get(key) for row in rows], dtype=np.float64)


def smooth(values: Floats, sem: Floats, window: int) -> tuple[Floats, Floats]:
    """Centred running mean of independent values and the half-width 1.96·sqrt(Σ sem²)/n of its 95% interval.

    Args:
        values: (iterations,), NaN where nothing was measured.
        sem: (iterations,) standard errors.
        window: Rows averaged at each place (fewer at the ends).
    """
    mean, half = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for place in range(len(values)):
        part = slice(max(0, place - window // 2), place + window // 2 + 1)
        known = np.isfinite(values[part])
        if known.any():
            mean[place] = values[part][known].mean()
            half[place] = 1.96 * np.sqrt(np.square(sem[part][known]).sum()) / known.sum()  # unknown where one is
    return mean, half


def episode_color(episode: int, episodes: int) -> str:
    """Colours of episodes: light to dark for up to three, then the whole series."""
    return SERIES[3 - episodes + episode] if episodes <= 3 else SERIES[episode % len(SERIES)]


def eval_label(result: Row) -> str:
    """What an evaluation shows, in a few words.

    >>> eval_label({"actor": "model", "shuffle_remarks": True})
    'remarks shuffled'
    """
    if result.get("label"):
        return str(result["label"])
    if result.get("actor") in ("random", "oracle"):
        return f"{result['actor']} play"
    label = "remarks shuffled" if result.get("shuffle_remarks") else "trained agent"
    return f"{label}, temperature {result['temperature']:g}" if result.get("temperature") else label


def _adaptation_line(axes: Axes, results: Sequence[Row], label: str, color: str) -> None:
    payoffs = np.array([result["pooled"]["payoff"] for result in results], dtype=np.float64)
    steps = np.arange(1, payoffs.shape[1] + 1)
    if len(results) == 1:
        intervals = [interval or (np.nan, np.nan) for interval in results[0]["pooled"]["interval"]]
        low, high = np.array(intervals, dtype=np.float64).T
        axes.errorbar(
            steps, payoffs[0], (payoffs[0] - low, high - payoffs[0]), color=color, linewidth=0, elinewidth=1.4
        )
    else:
        for payoff in payoffs:
            axes.plot(steps, payoff, color=color, linewidth=0.8, alpha=0.45)
        label = f"{label} ({len(results)} runs)"
    axes.plot(steps, payoffs.mean(axis=0), color=color, linewidth=2.2, marker="o", markersize=5.5, label=label)


def _style(**more: str) -> AbstractContextManager[None]:
    settings: dict[Any, Any] = {"font.size": 9.5, "svg.fonttype": "none", "axes.linewidth": 0.8, **more}
    return mpl.rc_context(settings)


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
    axes.tick_params(color=GRID, labelcolor=MUTED, length=3)
    axes.xaxis.label.set_color(MUTED)
    axes.yaxis.label.set_color(MUTED)
    axes.grid(visible=True, axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def _exact_line(axes: Axes, value: float, color: str) -> None:
    axes.axhline(value, color=color, linewidth=1.2, linestyle=(0, (5, 3)))


def _end_labels(axes: Axes, limits: Row) -> None:
    """Name the exact values at the right end of their lines, moved up where two would lie on each other."""
    low, high = axes.get_ylim()
    gap, edge = (high - low) * LABEL_GAP, low
    for key, name, color in sorted(LIMITS, key=lambda limit: limits[limit[0]]):
        height = max(limits[key], edge)
        edge = height + gap
        place = (1.015, height)
        axes.annotate(
            f"{name} {limits[key]:z.4f}",
            place,
            xycoords=axes.get_yaxis_transform(),
            color=color,
            va="center",
            size=8.5,
        )


def _legend(axes: Axes) -> None:
    """Above the axes, where no data can be."""
    entries = len(axes.get_legend_handles_labels()[1])
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "borderaxespad": 0.2}
    axes.legend(
        frameon=False, labelcolor=INK, fontsize=8.5, ncols=2 if entries > 3 else entries, columnspacing=1.2, **place
    )
