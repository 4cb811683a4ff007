import sys

import pytest

from mage.errors import RunError
from mage.recipe import Recipe
from mage.run import trackers
from mage.run.folder import RunFolder
from mage.run.trackers import open_trackers

METRICS = {"iteration": 3, "payoff": [0.5, 0.25], "payoff_by_opponent": {"random": [1.0, 2.0]}, "kl": None}


def test_tensorboard_gets_every_number(tmp_path):
    reload = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder = RunFolder.create(Recipe(), tmp_path / "run")
    (tracker,) = open_trackers(folder, ["tensorboard"])
    tracker.log(3, METRICS, {"iteration": 3, "seconds": 1.5})
    tracker.close()
    events = reload.EventAccumulator(str(folder.path / "tensorboard"))
    events.Reload()
    tags = events.Tags()["scalars"]
    assert set(tags) == {
        "payoff/episode_1",
        "payoff/episode_2",
        "payoff_by_opponent/random/episode_1",
        "payoff_by_opponent/random/episode_2",
        "seconds",
    }
    (event,) = events.Scalars("payoff/episode_2")
    assert (event.step, event.value) == (3, 0.25)


def test_a_missing_package_is_said_with_what_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    folder = RunFolder.create(Recipe(), tmp_path / "run")
    with pytest.raises(RunError, match=r"'wandb': not installed; run: pip install 'mage-rl\[wandb\]'"):
        open_trackers(folder, ["wandb"])


def test_wandb_that_cannot_start_is_said_and_the_others_are_closed(tmp_path, monkeypatch):
    class Refuses:
        @staticmethod
        def init(**options):
            raise ValueError("api_key not configured")

    closed = []

    class Open:
        def __init__(self, folder, start):
            pass

        def close(self):
            closed.append(True)

    monkeypatch.setitem(sys.modules, "wandb", Refuses)
    monkeypatch.setattr(trackers, "TensorBoardTracker", Open)
    folder = RunFolder.create(Recipe(), tmp_path / "run")
    with pytest.raises(RunError, match=r"trackers = 'wandb': it could not be started \(api_key not configured\)"):
        open_trackers(folder, ["tensorboard", "wandb"])
    assert closed == [True]


def test_wandb_gets_steps_and_a_stable_id(tmp_path, monkeypatch):
    calls = []

    class FakeRun:
        def log(self, row, step):
            calls.append((row, step))

        def finish(self):
            calls.append("finished")

    class FakeWandb:
        @staticmethod
        def init(**options):
            calls.append(options)
            return FakeRun()

    monkeypatch.setitem(sys.modules, "wandb", FakeWandb)
    folder = RunFolder.create(Recipe(), tmp_path / "run")
    (tracker,) = open_trackers(folder, ["wandb"])
    tracker.log(3, METRICS, {"seconds": 1.5})
    tracker.close()
    open_trackers(folder, ["wandb"], start=4)
    assert calls[0]["id"] == calls[3]["id"]
    assert calls[0]["config"]["loop"]["iterations"] == 400
    assert calls[1] == (
        {
            "payoff/episode_1": 0.5,
            "payoff/episode_2": 0.25,
            "payoff_by_opponent/random/episode_1": 1.0,
            "payoff_by_opponent/random/episode_2": 2.0,
            "seconds": 1.5,
        },
        3,
    )
    assert calls[2] == "finished"
