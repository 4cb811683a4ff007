import pytest

from mage.errors import RecipeError
from mage.learn.credit import assign_credit
from mage.methods import method_defaults, methods
from mage.recipe_file import parse_recipe

NAMES = [method.name for method in methods()]
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


@pytest.mark.parametrize("method", methods(), ids=NAMES)
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
    with pytest.raises(RecipeError, match=r"unknown method 'rlo' \(did you mean 'rloo'\?\); known: a-mem, gigpo, grpo"):
        method_defaults("rlo")
    assert method_defaults("mage")["credit"]["gamma_traj"] == 0.6
