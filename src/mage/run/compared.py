"""What a comparison of methods came to: means over seeds, and differences that are paired by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Literal

from mage.analysis.stats import interval, paired, probability_of_improvement
from mage.recipe import Recipe
from mage.run.files import Row

Measure = Literal["payoff", "pass_at_k"]
Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """What one method came to over its seeds, and how far it is from the first method of the comparison."""

    method: str
    kind: Literal["exact", "sampled"]
    """How it was evaluated."""
    measure: Measure
    """What is compared: the payoff of an episode; where trials stop at a success the share won within so many episodes,
    since later episodes are then played by those who failed before."""
    payoff: tuple[Values, ...]
    """[S, N] payoff of each seed by episode."""
    mean: Values
    """[N] mean of the measure over seeds; None for an episode that a run did not come to."""
    interval: tuple[float, float] | None
    """95% interval of the last mean (Student, over seeds); None where it rests on one run."""
    difference: float | None
    """Last episode that all runs came to, this method minus the first, paired by seed; None for the first itself."""
    difference_interval: tuple[float, float] | None
    improvement: float | None
    """Probability that a run of this method beats a run of the first."""
    tokens: int
    """Sampled and read in training, mean over seeds; of a method that trains nothing, run through the model in
    evaluation."""
    seconds: float
    """Of the same, mean over seeds. Runs side by side slow one another down."""

    def as_dict(self) -> Row:
        """Plain JSON data."""
        return asdict(self)


def summarise(recipes: Sequence[Recipe], results: Sequence[Row]) -> list[Compared]:
    """Methods in the order they were given; the first is what the others are compared with."""
    rows: dict[str, list[Row]] = {}
    for recipe, row in zip(recipes, results, strict=True):
        rows.setdefault(recipe.method, []).append(row)
    measure: Measure = "pass_at_k" if any(recipe.trial.stop_at_success for recipe in recipes) else "payoff"
    # trials may end early, and what is compared is the last episode that there is in all runs
    last = min(sum(value is not None for value in row["pooled"][measure]) for row in results) - 1
    first = next(iter(rows))
    return [_compared(rows[name], rows[first], measure, last) for name in rows]


def _compared(rows: Sequence[Row], first: Sequence[Row], measure: Measure, last: int) -> Compared:
    values = [tuple(row["pooled"][measure]) for row in rows]
    own, others = ([row["pooled"][measure][last] for row in each] for each in (rows, first))
    mean_own, is_first = interval(own), rows is first
    gap = None if is_first else paired(own, others)
    # where one run stands for all seeds there is nothing to spread
    several = len({row["run"] for row in rows}) > 1
    pairs = {(row["run"], other["run"]) for row, other in zip(rows, first, strict=True)}
    return Compared(
        method=rows[0]["method"],
        kind="exact" if all(row["kind"] == "exact" for row in rows) else "sampled",
        measure=measure,
        payoff=tuple(tuple(row["pooled"]["payoff"]) for row in rows),
        mean=tuple(None if None in column else mean(column) for column in zip(*values, strict=True)),
        interval=(mean_own.low, mean_own.high) if several else None,
        difference=gap.mean if gap else None,
        difference_interval=(gap.low, gap.high) if gap and len(pairs) > 1 else None,
        improvement=None if is_first else probability_of_improvement(own, others),
        tokens=round(mean(row["training_tokens"] or row["tokens"] for row in rows)),
        seconds=mean(row["training_seconds"] or row["seconds"] for row in rows),
    )
