"""The trained model on disk: a Transformers folder, whole or not there, and sealed."""

from __future__ import annotations

from pathlib import Path

from mage.engine.base import Engine
from mage.run.files import remove, sync, writing
from mage.run.seal import seal


def save_model(engine: Engine, path: Path) -> None:
    """Write the model as a Transformers folder, whole or not at all. Raises RunError if it cannot be written.

    A link at `path` gives way to the folder; what it leads to stays as it is.
    """
    part = path.with_name(f".{path.name}.partial")
    with writing(path):
        remove(part)
        part.mkdir()
        try:
            engine.save_model(part)
            seal(part)
            remove(path)
            part.replace(path)
            sync(path.parent)
        finally:
            remove(part)
