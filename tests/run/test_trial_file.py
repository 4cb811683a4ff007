import numpy as np
import pyarrow.parquet as pq
import pytest

from mage.errors import RunError
from mage.play.records import EpisodeRecord, StopReason, Task, Trial, Turn
from mage.run.trial_file import TrialFile

CONTEXTS = ((1, 2, 3, 4, 5, 6, 7), (8, 9))


def turn(phase, episode, context, start, stop):
    logprobs = tuple(-0.5 * (k + 1) for k in range(stop - start))
    return Turn(phase, episode, context, start, stop, logprobs, "saw", "wrote", "said", "anchor", True)


TRIAL = Trial(
    Task(4, 1, "random", 2, "redeal", 2**62),
    3,
    CONTEXTS,
    (turn("act", 0, 0, 2, 3), turn("reflect", 0, 0, 5, 7), turn("act", 1, 1, 1, 2)),
    (EpisodeRecord(1.0, "won", "+1", False, 1), EpisodeRecord(-2.0, "lost", "-2", True, 1)),
    StopReason.COMPLETED,
)


def test_every_prompt_and_response_can_be_read_back(tmp_path):
    table = TrialFile(tmp_path / "trials" / "t.parquet")
    table.write(
        [(TRIAL, [0.5, [1.0, -1.0], np.float32(2)]), (TRIAL, [0.0, 0.0, 0.0])], lambda ids: [str(i) for i in ids]
    )
    first, second = table.read()
    assert [row["trial"] for row in first + second] == [0, 0, 0, 1, 1, 1]
    assert [row["advantages"] for row in first] == [[0.5], [1.0, -1.0], [2.0]]
    assert [row["prompt_tokens"] for row in first] == [[1, 2], [4, 5], [8]]
    whole = [token for row in first[:2] for token in row["prompt_tokens"] + row["tokens"]]
    assert tuple(whole) == CONTEXTS[0]
    assert first[1]["logprobs"] == [-0.5, -1.0]
    assert first[1]["token_texts"] == ["6", "7"]
    assert [row["reward"] for row in first] == [1.0, 1.0, -2.0]
    assert first[2]["forfeited"]
    assert first[2]["result"] == "lost"
    assert (first[0]["seed"], first[0]["stop"], first[0]["seat"]) == (2**62, "completed", 1)
    assert pq.read_metadata(table.path).num_rows == 6


def test_nothing_is_left_of_a_table_that_fails(tmp_path):
    table = TrialFile(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="shorter"):
        table.write([(TRIAL, [0.5])])
    assert list(tmp_path.iterdir()) == []


def test_a_table_cut_short_is_an_error(tmp_path):
    table = TrialFile(tmp_path / "t.parquet")
    table.write([(TRIAL, [0.0, 0.0, 0.0])])
    table.path.write_bytes(table.path.read_bytes()[:-20])
    with pytest.raises(RunError, match=r"t\.parquet: not a whole Parquet file"):
        table.read()
