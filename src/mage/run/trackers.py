"""Optional trackers: TensorBoard files and Weights & Biases beside metrics.jsonl, both extras."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from mage.errors import RunError
from mage.run.files import Row

if TYPE_CHECKING:
    from mage.run.folder import RunFolder


class Tracker(Protocol):
    """Somewhere else to follow a run."""

    def log(self, iteration: int, metrics: Row, timings: Row) -> None:
        """Record the rows of one iteration."""
        ...

    def close(self) -> None:
        """Write what is pending."""
        ...


class TensorBoardTracker:
    """Event files in `<run>/tensorboard` (needs `pip install 'mage-rl[tensorboard]'`)."""

    def __init__(self, folder: RunFolder, start: int) -> None:
        _need("tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(log_dir=str(folder.path / "tensorboard"), purge_step=start)

    def log(self, iteration: int, metrics: Row, timings: Row) -> None:
        """One scalar per number; lists by episode become `payoff/episode_1`, …"""
        for name, value in scalars(metrics | timings):
            self._writer.add_scalar(name, value, iteration)

    def close(self) -> None:
        """Flush and close the event file."""
        self._writer.close()


class WandbTracker:
    """A Weights & Biases run named after the folder (needs `pip install 'mage-rl[wandb]'` and `wandb login`)."""

    def __init__(self, folder: RunFolder, start: int) -> None:
        wandb: Any = _need("wandb")
        try:
            self._run = wandb.init(
                project="mage",
                name=folder.path.name,
                dir=str(folder.path),
                config=folder.recipe.model_dump(mode="json"),
                id=hashlib.sha256(str(folder.path.resolve()).encode()).hexdigest()[:16],
                resume="allow",
            )
        except Exception as error:  # wandb's own kinds: not logged in, no network, a server that refuses
            raise RunError(f"trackers = 'wandb': it could not be started ({error})") from error

    def log(self, iteration: int, metrics: Row, timings: Row) -> None:
        """All numbers of an iteration in one step."""
        self._run.log(dict(scalars(metrics | timings)), step=iteration)

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


def open_trackers(folder: RunFolder, names: Sequence[str], start: int = 1) -> list[Tracker]:
    """The trackers that a recipe asks for; `start` is the first iteration to come, later records are superseded.

    Raises RunError if a package is missing or a tracker cannot be started; those opened before are closed.
    """
    kinds: dict[str, Callable[[RunFolder, int], Tracker]] = {"tensorboard": TensorBoardTracker, "wandb": WandbTracker}
    trackers: list[Tracker] = []
    with ExitStack() as opened:
        for name in names:
            tracker = kinds[name](folder, start)
            opened.callback(tracker.close)
            trackers.append(tracker)
        opened.pop_all()
    return trackers


def scalars(row: Row, prefix: str = "") -> Iterator[tuple[str, float]]:
    """All numbers in a row under slash-separated names; lists are by episode, counted from 1.

    >>> dict(scalars({"kl": 0.5, "payoff": [1, 2], "note": None}))
    {'kl': 0.5, 'payoff/episode_1': 1.0, 'payoff/episode_2': 2.0}
    """
    for key, value in row.items():
        name = prefix + key
        if isinstance(value, dict):
            yield from scalars(value, f"{name}/")
        elif isinstance(value, list | tuple):
            yield from scalars({f"episode_{number}": item for number, item in enumerate(value, 1)}, f"{name}/")
        elif isinstance(value, int | float) and key != "iteration":
            yield name, float(value)


def _need(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise RunError(f"trackers = {package!r}: not installed; run: pip install 'mage-rl[{package}]'") from None
