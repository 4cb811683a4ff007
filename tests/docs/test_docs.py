"""The documentation is run: examples, commands, links, and the lists of keys that must be complete."""

import doctest
import re
import shlex
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import torch
import typer
from doc_pages import PAGES, ROOT, anchors, blocks, code_spans, links, name, rows
from pydantic import BaseModel

from mage import cli
from mage.analysis.limits import MAX_BELIEFS, MAX_POSITIONS, exact_limits
from mage.methods import methods
from mage.play.games import make_game
from mage.play.opponents import make_opponent
from mage.recipe import Recipe
from mage.recipe_file import flatten, read_recipe
from mage.run.evaluate import evaluate
from mage.run.exact_play import LIMIT
from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.run.scores import Scores
from mage.run.train import train
from mage.run.trial_file import SCHEMA

COMMANDS = typer.main.get_command(cli.app).commands
KEYS = flatten(Recipe().model_dump())
MAKE_TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
SMALL = ["loop.iterations=1", "loop.groups=12", "loop.group_size=4", "engine.warmup_steps=10", "engine.hidden=32"]
every_page = pytest.mark.parametrize("page", PAGES, ids=name)


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def workplace(tmp_path, monkeypatch, cache):
    """An empty folder with the shipped recipes in it, on Python's path, with a cache of its own."""
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MAGE_CACHE_DIR", str(cache))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    before, threads = set(sys.modules), torch.get_num_threads()
    torch.set_num_threads(1)  # tiny models: threads would only get in each other's way
    yield tmp_path
    torch.set_num_threads(threads)
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[module]


@pytest.mark.slow
@every_page
def test_examples_run_and_print_what_the_page_says(page, workplace, capsys):
    names = {"__name__": "__main__"}
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
            continue
        if block.language == "python":
            exec(compile(block.text, f"{name(page)}", "exec"), names)
        elif block.language == "sh" and "run" in block.options:
            for command in block.commands():
                words = shlex.split(command, comments=True)
                if words[0] == "mage":
                    assert cli.main(words[1:]) == 0, f"{command}\n{capsys.readouterr().err}"
                else:
                    assert command == "export PYTHONPATH=."
        else:
            continue
        printed = capsys.readouterr().out
        if block.output is not None:
            same = doctest.OutputChecker().check_output(
                block.output, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert same, f"{name(page)} promises\n{block.output}\nbut this was printed\n{printed}"


@every_page
def test_commands_are_understood(page):
    for block in blocks(page):
        for command in block.commands() if block.language == "sh" else ():
            words = shlex.split(command, comments=True)
            for path in words:
                if re.match(r"(src|tests|docs|recipes|bench)/", path):
                    assert (ROOT / path).exists(), command
            if words[0] == "make":
                assert {word for word in words[1:] if "=" not in word} <= set(MAKE_TARGETS), command
            if words[0] == "mage":
                assert words[1] in COMMANDS, command
                COMMANDS[words[1]].make_context(words[1], words[2:])


@every_page
def test_commands_in_sentences_exist(page):
    for span in code_spans(page):
        if not re.match(r"mage [a-z]", span):
            continue
        words = span.split()
        assert words[1] in COMMANDS, span
        options = {
            option for parameter in COMMANDS[words[1]].params for option in parameter.opts + parameter.secondary_opts
        }
        assert {word for word in words if word.startswith("--")} <= options, span


@every_page
def test_keys_in_sentences_exist(page):
    sections = "|".join(key for key, value in Recipe() if isinstance(value, BaseModel))
    for span in code_spans(page):
        if match := re.fullmatch(rf"((?:{sections})\.\w+)( ?=.*)?", span):
            assert match[1] in KEYS, f"{span} is no key of a recipe"


@every_page
def test_links_lead_somewhere(page):
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{path} is not there"
        if anchor:
            assert anchor in anchors(target), f"{path}#{anchor}: no such heading"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs" / "adaptation.svg"], ids=name)
def test_nothing_is_left_open(page):
    assert re.findall(r"@@\w*@@|TODO|TBD|FIXME", page.read_text(encoding="utf-8")) == []


def test_every_key_of_a_recipe_is_documented_with_its_default():
    table = {row[0]: row for row in rows(ROOT / "docs" / "recipes.md") if row[0] in KEYS and len(row) == 3}
    assert list(table) == list(_keys_at_top_first())
    assert {key: row[1] for key, row in table.items()} == {key: _toml(value) for key, value in _values().items()}
    assert all(row[2] for row in table.values())


def test_every_method_is_documented_with_its_defaults():
    page = ROOT / "docs" / "recipes.md"
    table = {row[0]: " ".join(row) for row in rows(page) if row[0] in {method.name for method in methods()}}
    shared = 'credit.baseline = ["group", "opponent", "episode"]'
    assert shared in page.read_text(encoding="utf-8")
    for method in methods():
        for section, defaults in method.defaults.items():
            for key, value in defaults.items():
                told = shared if value == ("group", "opponent", "episode") else table[method.name]
                assert _toml(value) in told, f"{method.name}: {section}.{key}"


def test_every_metric_and_column_and_result_is_documented(workplace):
    first_cells = {row[0] for row in rows(ROOT / "docs" / "run-folder.md")}
    spans = set(code_spans(ROOT / "docs" / "run-folder.md"))
    folder = RunFolder.create(read_recipe(ROOT / "recipes" / "kuhn.toml", SMALL), Path("run"))
    train(folder.recipe, folder, progress=Silent())
    result = evaluate(folder.path, exact=False, trials=4).as_dict()
    assert {field.name for field in fields(Scores)} == set(result["pooled"])
    assert set(folder.metrics()[0]) | set(folder.timings()[0]) | set(SCHEMA.names) <= spans
    assert set(result) | set(result["pooled"]) <= spans
    assert {"payoff", "kind", "anchor"} <= first_cells


def test_the_files_of_a_run_are_documented(workplace):
    tree = next(block.text for block in blocks(ROOT / "docs" / "run-folder.md") if block.language == "text")
    folder = RunFolder.create(read_recipe(ROOT / "recipes" / "kuhn.toml", SMALL), Path("run"))
    train(folder.recipe, folder, progress=Silent())
    for path in folder.path.iterdir():
        assert f"\n  {path.name}" in tree, path.name


def test_every_exact_value_is_documented():
    game = make_game("kuhn_poker")
    values = exact_limits(game, [make_opponent("random", game)], [1], episodes=2).as_dict()
    page = ROOT / "docs" / "limits.md"
    assert set(values) | set(values["sizes"]) <= set(code_spans(page))
    for bound in (MAX_POSITIONS, MAX_BELIEFS, LIMIT):
        assert f"{bound:,}" in page.read_text(encoding="utf-8")


def _keys_at_top_first():
    top = [key for key, value in Recipe() if not isinstance(value, BaseModel)]
    return [*top, *(key for key in KEYS if key not in top)]


def _values():
    recipe = Recipe()
    return {
        key: getattr(getattr(recipe, key.split(".")[0]), key.split(".")[1]) if "." in key else getattr(recipe, key)
        for key in KEYS
    }


def _toml(value):
    """A default as it would stand in a recipe."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, BaseModel):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value) + " }"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)
