"""Trials on disk: one Parquet row per turn, exact tokens and log-probs, readable by any data tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mage.errors import RunError
from mage.play.records import Trial
from mage.run.files import sync, writing

TurnAdvantage = float | Sequence[float]
TokenTexts = Callable[[Sequence[int]], Sequence[str]]

SCHEMA = pa.schema(
    [
        ("trial", pa.int32()),
        ("group", pa.int32()),
        ("member", pa.int32()),
        ("seat", pa.int32()),
        ("opponent", pa.string()),
        ("restart", pa.string()),
        ("seed", pa.int64()),
        ("stop", pa.string()),
        ("turn", pa.int32()),
        ("episode", pa.int32()),
        ("phase", pa.string()),
        ("context", pa.int32()),
        ("observation", pa.string()),
        ("prompt_tokens", pa.list_(pa.int32())),
        ("text", pa.string()),
        ("said", pa.string()),
        ("tokens", pa.list_(pa.int32())),
        ("token_texts", pa.list_(pa.string())),
        ("logprobs", pa.list_(pa.float32())),
        ("advantages", pa.list_(pa.float32())),
        ("anchor", pa.string()),
        ("legal", pa.bool_()),
        ("truncated", pa.bool_()),
        ("reward", pa.float64()),
        ("result", pa.string()),
        ("outcome", pa.string()),
        ("forfeited", pa.bool_()),
    ]
)


class TrialFile:
    """The Parquet file of one iteration's trials.

    A row is a turn. `prompt_tokens` are the tokens read since the turn before in the same context, so the whole prompt
    of a turn is the concatenation of `prompt_tokens` and `tokens` of its context up to there. `reward`, `result` and
    `outcome` are those of the turn's episode.

        TrialFile(folder.trials_file(50)).write([(trial, [0.5, -0.2]), …])
        for turns in TrialFile(path).read(): …
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(
        self, trials: Iterable[tuple[Trial, Sequence[TurnAdvantage]]], token_texts: TokenTexts | None = None
    ) -> None:
        """Write all trials, each with one advantage per turn (or one per sampled token of the turn).

        `token_texts` gives the text of each token id, for viewers that colour tokens. The file appears whole or not
        at all; RunError if the disk is full.
        """
        rows = [row for index, pair in enumerate(trials) for row in _rows(index, *pair, token_texts)]
        part = self.path.with_name(f".{self.path.name}.partial")
        with writing(self.path):
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), part, compression="zstd")
                sync(part)
                part.replace(self.path)
            finally:
                part.unlink(missing_ok=True)

    def read(self) -> list[list[dict[str, Any]]]:
        """All trials, each a list of its turns in order. RunError if the file is damaged or no record of trials."""
        try:
            table = pq.read_table(self.path)
        except (OSError, pa.ArrowInvalid) as error:
            raise RunError(f"{self.path}: not a whole Parquet file ({error})") from None
        for field in SCHEMA:
            if field not in table.schema:
                found = table.schema.field(field.name).type if field.name in table.schema.names else "missing"
                what = f"column {field.name!r} is {found}, not {field.type}"
                raise RunError(f"{self.path}: not trials of a run: {what}")
        rows = table.to_pylist()
        return [list(turns) for _, turns in groupby(rows, key=lambda row: row["trial"])]


def _rows(
    index: int, trial: Trial, advantages: Sequence[TurnAdvantage], token_texts: TokenTexts | None
) -> Iterator[dict[str, Any]]:
    task = trial.task
    read_until: dict[int, int] = {}
    for number, (turn, advantage) in enumerate(zip(trial.turns, advantages, strict=True)):
        context = trial.contexts[turn.context]
        tokens = context[turn.start : turn.stop]
        episode = trial.episodes[turn.episode] if turn.episode < len(trial.episodes) else None
        yield {
            "trial": index,
            "group": task.group,
            "member": trial.member,
            "seat": task.seat,
            "opponent": task.opponent,
            "restart": task.restart,
            "seed": task.seed,
            "stop": str(trial.stop),
            "turn": number,
            "episode": turn.episode,
            "phase": turn.phase,
            "context": turn.context,
            "observation": turn.observation,
            "prompt_tokens": context[read_until.get(turn.context, 0) : turn.start],
            "text": turn.text,
            "said": turn.said,
            "tokens": tokens,
            "token_texts": list(token_texts(tokens)) if token_texts else None,
            "logprobs": turn.logprobs,
            "advantages": _per_token(advantage, len(tokens)),
            "anchor": turn.anchor,
            "legal": turn.legal,
            "truncated": turn.truncated,
            "reward": episode.reward if episode else None,
            "result": episode.result if episode else None,
            "outcome": episode.outcome if episode else None,
            "forfeited": episode.forfeited if episode else None,
        }
        read_until[turn.context] = turn.stop


def _per_token(advantage: TurnAdvantage, count: int) -> list[float]:
    return np.broadcast_to(np.asarray(advantage, dtype=np.float32), count).tolist()  # type: ignore[no-any-return]
