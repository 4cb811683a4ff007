"""Our side of `bench/step.py` in small; no TRL needed."""

import pytest

import step


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path))
    model, prompts = step.prepare(3)
    return {
        "model": str(model),
        "prompts": prompts,
        "group": 2,
        "tokens": 3,
        "steps": 2,
        "threads": 1,
        "micro_batch": 4,
    }


def test_mage_side_runs_its_steps(work):
    seen = step.run_mage(work)
    assert len(seen["seconds"]) == 2
    assert seen["distinct"] == 6
    assert len({tuple(prompt) for prompt in work["prompts"]}) == 3


def test_reward_is_a_share():
    assert step.reward([2, 3, 4, 5, 6]) == 0.6
