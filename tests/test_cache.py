from mage.cache import cache_folder


def test_the_environment_says_where(monkeypatch, tmp_path):
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MAGE_CACHE_DIR", "")
    assert cache_folder() == tmp_path / "home" / ".cache" / "mage"
    monkeypatch.delenv("MAGE_CACHE_DIR")
    assert cache_folder() == tmp_path / "home" / ".cache" / "mage"
