import inspect
import sys
from types import ModuleType

import pytest

from mage.cli import peers
from mage.errors import RecipeError
from mage.learn.credit import assign_credit
from mage.methods import Method, method_defaults, methods
from mage.peers.selectors import ALPHA, RIDGE
from mage.recipe_file import parse_recipe

NAMES = [method.name for method in methods()]
OF_RECIPES = [method for method in methods() if method.kind != "peers"]
# What sets the methods apart, from their papers: returns, advantage, division by the spread, memory
PAPERS = {
    "mage": ("differential", "gigpo", False, "reflection"),
    "lamer": ("cumulative", "gigpo", False, "reflection"),
    "gigpo": ("episode", "gigpo", False, "none"),
    "grpo": ("episode", "grpo", True, "none"),
    "rloo": ("episode", "rloo", False, "none"),
    "ppo": ("episode", "gae", True, "none"),
    "reinforce++": ("episode", "reinforce++", True, "none"),
    "reinforce": ("episode", "reinforce", False, "none"),
}


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES)
    assert set(PAPERS) <= set(NAMES)


@pytest.mark.parametrize("name", PAPERS)
def test_a_method_is_what_its_paper_says(name):
    recipe = parse_recipe({"method": name}, "test")
    credit = recipe.credit
    assert (credit.returns, credit.advantage, credit.std, recipe.trial.memory) == PAPERS[name]
    wanted = {"mage": {"group", "opponent"}, "reinforce++": set()}
    assert set(credit.baseline) == wanted.get(name, {"group", "opponent", "episode"})


@pytest.mark.parametrize("method", OF_RECIPES, ids=[method.name for method in OF_RECIPES])
def test_every_method_says_what_it_is_and_can_be_run(method):
    assert method.summary
    assert method.paper
    assert method.kind in ("trained", "prompted")
    recipe = parse_recipe({"method": method.name}, "test")
    for section, defaults in method.defaults.items():
        for key, value in defaults.items():
            assert getattr(getattr(recipe, section), key) == value
    values = [] if recipe.credit.advantage == "gae" else None
    assert assign_credit([], recipe.credit, max_tokens={"act": 8, "reflect": 8}, values=values).advantages == []


def test_defaults_of_a_method_that_does_not_exist():
    with pytest.raises(RecipeError, match=r"unknown method 'rlo' \(did you mean 'rloo'\?\); known: a-mem, empo2"):
        method_defaults("rlo")
    assert method_defaults("mage")["credit"]["gamma_traj"] == 0.6


def test_a_method_of_peers_is_listed_and_refused_in_a_recipe():
    mace = next(method for method in methods() if method.name == "mace")
    assert (mace.kind, mace.paper) == ("peers", "arXiv 2607.11250")
    options = inspect.signature(peers).parameters
    assert mace.defaults["peers"] == {"alpha": ALPHA, "ridge": RIDGE, "rounds": options["rounds"].default}
    with pytest.raises(RecipeError, match=r"method = 'mace': .* cannot be run on one agent; .* mage peers evidence"):
        parse_recipe({"method": "mace"}, "test")


@pytest.mark.parametrize("kind", ["prompted", "peers"])
def test_a_method_of_one_s_own_is_trained(monkeypatch, kind):
    module = ModuleType("own_method")
    module.OWN = Method("own", kind, "none", "mine", {})
    monkeypatch.setitem(sys.modules, "own_method", module)
    with pytest.raises(
        RecipeError, match=f"method 'own_method:OWN': kind = '{kind}': a method of one's own is trained"
    ):
        parse_recipe({"method": "own_method:OWN"}, "test")
