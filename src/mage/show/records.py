"""What a run has written down, read for showing: each number where it belongs and of its kind, or said which is not."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mage.errors import RunError
from mage.explain import explain
from mage.run.files import Row
from mage.run.folder import RunFolder

Number = Annotated[float, Field(allow_inf_nan=False)]
Numbers = list[Number | None]
Natural = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """Keys that are not listed may be there and are not looked at."""

    model_config = ConfigDict(strict=True)


class MetricsRow(Record):
    """An iteration's row of `metrics.jsonl`."""

    payoff: Numbers
    payoff_sem: Numbers
    trials: Natural
    tokens_sampled: Natural
    tokens_read: Natural
    dropped_groups: Natural
    entropy: Number | None = None
    kl: Number | None = None
    invalid_share: Number | None = None
    truncated_share: Number | None = None
    logprob_diff_max: Number | None = None
    logprob_diff_mean: Number | None = None
    silent_groups: Number | None = None
    grad_norm: Number | None = None


class TimingsRow(Record):
    """An iteration's row of `timings.jsonl`."""

    seconds: Number
    sample_seconds: Number
    train_seconds: Number


class ScoresRow(Record):
    """Scores against one opponent, or pooled."""

    trials: Natural
    payoff: Numbers
    interval: list[Annotated[tuple[Number, Number], Field(strict=False)] | None]
    won: Numbers
    drawn: Numbers
    lost: Numbers


class OpponentRow(ScoresRow):
    """Scores against an opponent."""

    held_out: bool


class LimitsRow(Record):
    """Exact values beside an evaluation."""

    non_adaptive: Number
    adaptive: Number
    known: Number
    adaptive_by_episodes: list[Number]


class EvalRow(Record):
    """A result of `mage eval`."""

    kind: Literal["exact", "sampled"]
    why_not_exact: str | None
    actor: str
    shuffle_remarks: bool
    temperature: Number
    iteration: int | None
    episodes: Annotated[int, Field(ge=1)]
    units: str
    opponents: dict[str, OpponentRow]
    """Empty in a game of one seat."""
    pooled: ScoresRow
    limits: LimitsRow | None
    invalid_share: Number

    @model_validator(mode="after")
    def _each_episode(self) -> EvalRow:
        for name, scores in {"pooled": self.pooled, **self.opponents}.items():
            for key in ("payoff", "interval", "won", "drawn", "lost"):
                found = len(getattr(scores, key))
                if found != self.episodes:
                    raise ValueError(f"{name}: {key} has {found} entries; expected {self.episodes}, one an episode")
        if self.limits and len(self.limits.adaptive_by_episodes) != self.episodes:
            raise ValueError(f"limits: adaptive_by_episodes should have {self.episodes} entries, one an episode")
        return self


def read_metrics(folder: RunFolder) -> list[Row]:
    """Metrics of all iterations. Raises RunError for damage, naming the file, the line and the key."""
    rows = folder.metrics()
    episodes = folder.recipe.trial.episodes
    for number, row in enumerate(rows, start=1):
        where = f"{folder.metrics_path}: line {number}"
        checked = _check(MetricsRow, row, where, "remove that line to go on")
        for key in ("payoff", "payoff_sem"):
            found = len(getattr(checked, key))
            if found != episodes:
                what = f"{key} has {found} entries; expected {episodes}, one an episode"
                raise RunError(f"{where}: {what}; remove that line to go on")
    return rows


def read_timings(folder: RunFolder) -> list[Row]:
    """Times of all iterations. Raises RunError for damage, naming the file, the line and the key."""
    rows = folder.timings()
    for number, row in enumerate(rows, start=1):
        _check(TimingsRow, row, f"{folder.timings_path}: line {number}", "remove that line to go on")
    return rows


def read_evals(folder: RunFolder) -> dict[str, Row]:
    """Evaluation results by name. Raises RunError for damage, naming the file and the key."""
    results = folder.evals()
    for name, result in results.items():
        path = folder.eval_path / f"{name}.json"
        _check(EvalRow, result, str(path), f"move it out of {folder.eval_path}, or evaluate again")
    return results


Kind = TypeVar("Kind", bound=Record)


def _check(kind: type[Kind], row: Row, where: str, mend: str) -> Kind:
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        raise RunError(f"{where}: {_short(error, kind)}; {mend}") from None


def _short(error: ValidationError, kind: type[Record]) -> str:
    """The first mistakes in words; what is missing is named without all that is there."""
    missing = [item for item in error.errors() if item["type"] == "missing"]
    if missing:
        return "; ".join(f"{'.'.join(map(str, item['loc']))} is missing" for item in missing[:3])
    return explain(error, kind)[:400]
