import sys
from importlib import metadata

import pytest

from mage.run import doctor


def test_this_machine_can_run():
    checks = {check.name: check for check in doctor.examine()}
    assert [check.name for check in checks.values() if check.status == "problem"] == []
    assert "Kuhn poker" in checks["open-spiel"].found
    assert set(checks) == {"python", "packages", "torch", "open-spiel", "cores", "memory", "disk", "cache", "extras"}


@pytest.mark.parametrize(("version", "status"), [((3, 10, 9), "problem"), ((3, 11, 0), "ok"), ((3, 14, 0), "problem")])
def test_python_versions(version, status):
    assert doctor.check_python(version).status == status


def test_missing_and_old_packages_come_with_the_command(monkeypatch):
    requires = ["numpy>=2.0", "no-such-package>=1", "rich>=999", "ray>=2; extra == 'bench'"]
    monkeypatch.setattr(metadata, "requires", lambda name: requires)
    check = doctor.check_packages()
    assert check.status == "problem"
    assert "no-such-package is missing" in check.found
    assert "ray" not in check.found
    assert check.mend == f"{sys.executable} -m pip install 'no-such-package>=1' 'rich>=999'"


def test_a_broken_import_is_a_finding(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    check = doctor.check_openspiel()
    assert (check.status, check.mend) == ("problem", f"{sys.executable} -m pip install 'open-spiel>=2.0,<3'")


def test_little_memory_is_a_warning():
    assert doctor.check_memory(doctor.GIB).status == "warning"
    assert doctor.check_memory(4 * doctor.GIB).found == "4.0 GiB free"


def test_little_disk_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    assert doctor.check_disk(tmp_path).status == "warning"


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    check = doctor.check_cache()
    assert check.status == "problem"
    assert check.mend.startswith("export MAGE_CACHE_DIR=")
