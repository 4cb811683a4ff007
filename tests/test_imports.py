"""What may import what, and what `import mage` costs."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "mage"
FILES = sorted(SOURCE.rglob("*.py"))
BASE = {"errors", "chance"}
# For each layer what it may import of mage besides itself; a name allows all modules below it.
LAYERS = {
    "errors": set(),
    "cache": set(),
    "chance": set(),
    "explain": set(),
    "references": {"errors"},
    "methods": {"errors", "references"},
    "recipe": {"references", "recipe_values", "recipe_learn", "recipe_play"},
    "recipe_learn": {"recipe_values"},
    "recipe_play": {"recipe_values"},
    "recipe_values": set(),
    "recipe_file": {"errors", "explain", "methods", "recipe"},
    "recall": {*BASE},
    "play": {*BASE, "cache", "references", "recipe", "recipe_values", "recall", "engine.base"},
    "learn": {*BASE, "references", "recipe", "recipe_values", "engine.base", "play.records"},
    "explore": {*BASE, "recipe", "recall.embed", "learn.table", "play.records"},
    "engine": {*BASE},
    "analysis": {*BASE, "play"},
    "peers": {*BASE, "engine.base", "play.actors", "analysis.stats"},
    "run": {
        *BASE,
        "mage",
        "cache",
        "explain",
        "methods",
        "references",
        "recipe",
        "recipe_file",
        "play",
        "learn",
        "explore",
        "engine",
        "analysis",
    },
    "show": {*BASE, "mage", "explain", "recipe", "recipe_file", "play", "analysis", "run"},
}
OUTER = {"cli", "process", "commands", "__main__"}
HEAVY = ("torch", "transformers", "numpy", "pyspiel", "pydantic", "scipy", "matplotlib", "pyarrow", "rich", "typer")


def imports(path):
    """Modules of mage that a file imports, wherever in it, without the leading `mage.`; and all others."""
    own, others = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # `from mage.run import files` imports the module mage.run.files
            names = [f"{node.module}.{alias.name}" if is_package(node.module) else node.module for alias in node.names]
        else:
            continue
        for name in names:
            (own if name.split(".")[0] == "mage" else others).add(name.removeprefix("mage."))
    return own, others


def is_package(module):
    return module.split(".")[0] == "mage" and SOURCE.joinpath(*module.split(".")[1:]).is_dir()


def layer(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def allowed(name, layers):
    return any(name == one or name.startswith(f"{one}.") for one in layers)


def test_every_module_has_a_layer():
    assert {layer(path) for path in FILES} == {*LAYERS, *OUTER, "__init__"}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    wrong = {
        f"{path.relative_to(SOURCE)} imports {imported}"
        for path in FILES
        if layer(path) == name
        for imported in imports(path)[0]
        if not allowed(imported, {name, *LAYERS[name]})
    }
    assert not wrong


def test_what_is_imported_is_declared():
    """No module comes only by way of another package's dependencies, and none is declared for nothing."""
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    extras = {
        re.split("[<>=]", line)[0].replace("-", "_")
        for name in ("tensorboard", "wandb", "recall")
        for line in optional[name]
    }
    declared = {re.split("[<>=]", line)[0] for line in project["dependencies"]}
    owners = packages_distributions()
    modules = {name.split(".")[0] for path in FILES for name in imports(path)[1]} - sys.stdlib_module_names - extras
    used = {owners[module][0].lower().replace("_", "-") for module in modules}
    assert used == declared


def test_learning_is_pure():
    """Arrays in, arrays out: no model, no files, no generators."""
    others = {name.split(".")[0] for path in FILES if layer(path) == "learn" for name in imports(path)[1]}
    assert not others & {"torch", "transformers", "random", "os", "pathlib", "asyncio", "json", "open_spiel", "pyspiel"}


def test_only_the_engine_knows_the_model_library():
    users = {layer(path) for path in FILES if any(name.split(".")[0] == "transformers" for name in imports(path)[1])}
    assert users <= {"engine", "run"}
    torch_users = {
        path.relative_to(SOURCE) for path in FILES if any(n.split(".")[0] == "torch" for n in imports(path)[1])
    }
    assert {path.parts[0] for path in torch_users} <= {"engine", "run"}


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_no_print_no_pickle_no_eval(path):
    tree = ast.parse(path.read_text())
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"print", "eval", "exec", "breakpoint"}
    assert not {name.split(".")[0] for name in imports(path)[1]} & {"pickle", "shelve", "dill", "cloudpickle", "joblib"}


def test_import_mage_is_quick_and_light():
    code = (
        "import sys, time\n"
        "began = time.perf_counter()\n"
        "import mage\n"
        "took = time.perf_counter() - began\n"
        f"heavy = sorted(set({HEAVY!r}) & set(sys.modules))\n"
        "sys.stdout.write(f'{took} {heavy}')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, _, heavy = done.stdout.partition(" ")
    assert heavy == "[]"
    assert float(seconds) < 0.5


def test_the_recipe_needs_no_model_library():
    code = (
        "import sys, mage.recipe_file, mage.methods\n"
        "sys.exit(', '.join({'torch', 'transformers', 'numpy', 'pyspiel'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
