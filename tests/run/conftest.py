from __future__ import annotations

from pathlib import Path

import pytest
from small import small

from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.run.train import train


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """What is built is built once and not in the user's cache."""
    path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAGE_CACHE_DIR", str(path))
        yield path


@pytest.fixture(scope="session")
def unbroken(cache, tmp_path_factory) -> Path:
    """A small run that nothing stopped."""
    folder = RunFolder.create(small(), tmp_path_factory.mktemp("runs") / "unbroken")
    train(folder.recipe, folder, progress=Silent())
    return folder.path
