"""The report: one HTML file that holds everything and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import mage
from mage.recipe import Recipe
from mage.recipe_file import flatten
from mage.run.files import Row, write_text
from mage.run.folder import RunFolder
from mage.run.trial_file import TrialFile
from mage.show.charts import (
    adaptation_figure,
    eval_label,
    learning_figure,
    svg,
    trace_figure,
)
from mage.show.progress import duration, numbers
from mage.show.records import read_evals, read_metrics, read_timings
from mage.show.trial_view import view_trials

__all__ = ["adaptation_figure", "render_report", "write_report"]

TRACES = (
    ("entropy", "Entropy", (("entropy", "all tokens"),), False),
    ("kl", "KL to the start", (("kl", "KL"),), False),
    ("invalid", "Invalid and cut answers", (("invalid_share", "invalid"), ("truncated_share", "cut")), False),
    (
        "logprob",
        "Log-prob difference, trainer − sampler",
        (("logprob_diff_max", "max"), ("logprob_diff_mean", "mean")),
        True,
    ),
    ("silent", "Groups without signal", (("silent_groups", "silent groups"),), False),
    ("grad", "Gradient norm", (("grad_norm", "gradient norm"),), False),
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A titled piece of inline SVG."""

    title: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class EvalView:
    """An evaluation result as the page shows it."""

    name: str
    label: str
    result: Row
    low: float
    """Smallest and largest payoff in its table: the ends of the heat scale."""
    high: float

    def heat(self, value: float | None) -> float:
        """Where a payoff lies on the heat scale, 0 to 1."""
        if value is None or self.high <= self.low:
            return 0.0
        return round((value - self.low) / (self.high - self.low), 3)


def write_report(folder: RunFolder) -> Path:
    """Write `<run>/report.html` from what the run holds now; returns its path. Raises RunError for damaged files."""
    write_text(folder.report_path, render_report(folder))
    return folder.report_path


def render_report(folder: RunFolder) -> str:
    """The page as text: the same run gives the same bytes. Raises RunError for damaged files."""
    metrics, timings = read_metrics(folder), read_timings(folder)
    evals = [_eval_view(name, result) for name, result in _main_first(read_evals(folder))]
    newest = folder.newest_trials()
    trials = view_trials(TrialFile(newest).read()) if newest else []
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            version=mage.__version__,
            recipe=folder.recipe,
            run=folder.path.name,
            tiles=_tiles(metrics, timings, evals),
            curves=_curves(metrics, evals),
            traces=_traces(metrics),
            evals=evals,
            settings=_settings(folder.recipe),
            trials=trials,
            trials_file=newest.name if newest else "",
            opponents=sorted({trial.opponent for trial in trials} - {""}),
            css=_inline("report.css"),
            js=_inline("report.js"),
        )
    )


def _environment() -> Environment:
    loader = PackageLoader("mage.show", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["payoff"] = lambda value: "–" if value is None else f"{value:z.3f}".replace("-", "−")
    environment.filters["share"] = lambda value: "–" if value is None else f"{value:.0%}"
    return environment


def _inline(name: str) -> Markup:
    return Markup(files("mage.show").joinpath("templates", name).read_text(encoding="utf-8"))


def _main_first(evals: dict[str, Row]) -> list[tuple[str, Row]]:
    return sorted(evals.items(), key=lambda item: (item[0] != "default", item[0]))


def _eval_view(name: str, result: Row) -> EvalView:
    rows = [result["pooled"], *result["opponents"].values()]
    values = [value for row in rows for value in row["payoff"] if value is not None] or [0.0]
    return EvalView(name, eval_label(result), result, min(values), max(values))


def _main_eval(evals: Sequence[EvalView]) -> Row | None:
    """The result that headlines are made from: `default`, else the first of the model as it is and whom it met."""
    for view in evals:
        result = view.result
        met = result["opponents"].values()
        held_out = bool(met) and all(row["held_out"] for row in met)
        if result["actor"] == "model" and not result["shuffle_remarks"] and not held_out:
            return result
    return None


def _tiles(metrics: Sequence[Row], timings: Sequence[Row], evals: Sequence[EvalView]) -> list[tuple[str, str, str]]:
    """(value, name, explanation) of each headline number."""
    tiles = []
    result = _main_eval(evals)
    if result is not None:
        payoff = result["pooled"]["payoff"]
        more = f"{result['units']}; episode 1: {numbers(payoff[:1])}"
        tiles.append((numbers(payoff[-1:]), f"payoff of episode {len(payoff)}", more))
        limits = result.get("limits")
        if limits and payoff[-1] is not None and limits["adaptive"] > limits["non_adaptive"]:
            way = (payoff[-1] - limits["non_adaptive"]) / (limits["adaptive"] - limits["non_adaptive"])
            between = f"{limits['non_adaptive']:.4f} → {limits['adaptive']:.4f}"
            tiles.append((f"{way:.0%}", "of what adapting can gain", f"from the best that cannot adapt: {between}"))
    if metrics:
        sampled = sum(row["tokens_sampled"] for row in metrics)
        read = sum(row["tokens_read"] for row in metrics)
        trials = sum(row["trials"] for row in metrics)
        dropped = sum(row["dropped_groups"] for row in metrics)
        tiles.append((f"{trials:,}", "trials trained on", f"{len(metrics)} iterations; groups dropped: {dropped}"))
        tiles.append((_short(sampled), "tokens sampled", f"{_short(read)} tokens read"))
    if timings:
        seconds = sum(row["seconds"] for row in timings)
        parts = f"playing {duration(sum(row['sample_seconds'] for row in timings))}"
        parts += f", learning {duration(sum(row['train_seconds'] for row in timings))}"
        tiles.append((duration(seconds), "training time", parts))
    return tiles


def _curves(metrics: Sequence[Row], evals: Sequence[EvalView]) -> list[Chart]:
    charts = []
    result = _main_eval(evals)
    if metrics:
        limits, units = (result.get("limits"), str(result["units"])) if result else (None, "payoff")
        figure = learning_figure(metrics, limits, units)
        charts.append(_chart("learning", "Training payoff by episode", figure))
    comparable: dict[str, Row] = {}
    for view in evals:
        if result and _comparable(view.result, result):
            comparable.setdefault(view.label, view.result)  # the main one of those that show the same
    if result:
        charts.append(_chart("adaptation", "Evaluated payoff by episode", adaptation_figure(list(comparable.values()))))
    return charts


def _comparable(result: Row, other: Row) -> bool:
    """Whether two results can stand in one chart: the same opponents, restart and number of episodes."""
    alike = all(result.get(key) == other.get(key) for key in ("episodes", "restart"))
    return alike and result["opponents"].keys() == other["opponents"].keys()


def _traces(metrics: Sequence[Row]) -> list[Chart]:
    if not metrics:
        return []
    return [_chart(name, title, trace_figure(metrics, keys, log=log)) for name, title, keys, log in TRACES]


def _chart(name: str, title: str, figure: Any) -> Chart:
    return Chart(title, Markup(svg(figure, name, title)))


def _settings(recipe: Recipe) -> list[tuple[str, str, bool]]:
    """(key, value, whether it differs from the default) of every setting."""
    defaults = flatten(Recipe().model_dump(mode="json"))
    values = flatten(recipe.model_dump(mode="json"))
    return [(key, _setting(value), value != defaults.get(key)) for key, value in values.items()]


def _setting(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_setting(item) for item in value) or "none"
    if isinstance(value, dict):
        return f"{value['name']} ({value['share']:g})"
    return "none" if value is None else str(value)


def _short(count: int) -> str:
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
