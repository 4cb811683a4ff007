import importlib.util
import json
import xml.etree.ElementTree as ET

import pytest
from doc_pages import ROOT

LIMITS = {"non_adaptive": 0.1111, "adaptive": 0.2423, "known": 0.2778, "adaptive_by_episodes": [0.1111, 0.2037, 0.2423]}


@pytest.fixture(scope="module")
def picture():
    spec = importlib.util.spec_from_file_location("make_picture", ROOT / "docs" / "make_picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keep(path, payoff, **more):
    pooled = {"payoff": payoff, "interval": [[value, value] for value in payoff]}
    result = {"episodes": 3, "units": "chips per hand", "actor": "model", "pooled": pooled, "limits": LIMITS, **more}
    path.write_text(json.dumps(result), encoding="utf-8")


def test_draws_one_line_for_each_label(picture, tmp_path, capsys):
    for seed in (0, 1):
        keep(tmp_path / f"remarks-{seed}.json", [0.11, 0.20, 0.23 + seed / 100])
    keep(tmp_path / "shuffled.json", [0.11, 0.10, 0.10], shuffle_remarks=True)
    results = [
        *picture.read_results(f"own remarks={tmp_path}/remarks-*.json"),
        *picture.read_results(str(tmp_path / "shuffled.json")),
    ]
    assert [result.get("label") for result in results] == ["own remarks", "own remarks", None]
    out = tmp_path / "out.svg"
    arguments = [f"own remarks={tmp_path}/remarks-*.json", str(tmp_path / "shuffled.json"), "--out", str(out)]
    picture.main(arguments)
    assert capsys.readouterr().out == f"{out}\n"
    first = out.read_bytes()
    assert ET.fromstring(first).tag.endswith("svg")
    picture.main(arguments)
    assert out.read_bytes() == first
    picture.main(arguments[1:])
    assert out.read_bytes() != first


@pytest.mark.parametrize(
    ("text", "argument", "words"),
    [
        ("{}", "x.json", "x.json: not a result of mage eval"),
        ("[]", "x.json", "x.json: not a result of mage eval"),
        ("{}", "label=y*.json", "no such file: y"),
    ],
)
def test_says_what_is_wrong_with_a_file(picture, tmp_path, monkeypatch, text, argument, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=words):
        picture.main([argument, "--out", "out.svg"])
    assert not (tmp_path / "out.svg").exists()
