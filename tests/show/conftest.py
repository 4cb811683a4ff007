import pytest
from fake_runs import fill

from mage.run.folder import RunFolder


@pytest.fixture(scope="session")
def full_run(tmp_path_factory) -> RunFolder:
    return fill(tmp_path_factory.mktemp("runs") / "fake")
