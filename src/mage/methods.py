"""The methods by name. A method is a composition: an actor, a memory, a credit; it brings defaults to a recipe.

A method of the user's own is named by reference, `module:attribute`: a `Method`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mage.errors import RecipeError, unknown
from mage.references import is_reference, load


@dataclass(frozen=True, slots=True)
class Method:
    """A named way to learn, as defaults for the sections of a recipe; what a recipe says itself comes first."""

    name: str
    kind: Literal["trained", "prompted"]
    paper: str
    summary: str
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def methods() -> tuple[Method, ...]:
    """All methods.

    >>> [method.name for method in methods() if method.kind == "prompted"]
    ['react', 'reflexion', 'a-mem', 'memento']
    """
    group = ("group", "opponent", "episode")
    alone = {"memory": "none"}
    return (
        Method(
            "mage",
            "trained",
            "arXiv 2603.03680",
            "reflections in the trial, differential return, advantages normalised per opponent",
            {
                "trial": {"memory": "reflection"},
                # without "episode": the episodes of a trial share an anchor state, as in the released code
                "credit": {
                    "returns": "differential",
                    "gamma_traj": 0.6,
                    "advantage": "gigpo",
                    "baseline": ("group", "opponent"),
                },
            },
        ),
        Method(
            "lamer",
            "trained",
            "arXiv 2512.16848",
            "reflections in the trial, cumulative return over episodes",
            {
                "trial": {"memory": "reflection"},
                "credit": {"returns": "cumulative", "gamma_traj": 0.6, "advantage": "gigpo", "baseline": group},
            },
        ),
        Method(
            "gigpo",
            "trained",
            "arXiv 2505.10978",
            "each episode alone, group and anchor-state advantages",
            {"trial": alone, "credit": {"returns": "episode", "advantage": "gigpo", "baseline": group}},
        ),
        Method(
            "grpo",
            "trained",
            "arXiv 2402.03300",
            "each episode alone, group mean and standard deviation",
            {"trial": alone, "credit": {"returns": "episode", "advantage": "grpo", "baseline": group, "std": True}},
        ),
        Method(
            "rloo",
            "trained",
            "arXiv 2402.14740",
            "each episode alone, leave-one-out group mean",
            {"trial": alone, "credit": {"returns": "episode", "advantage": "rloo", "baseline": group}},
        ),
        Method(
            "ppo",
            "trained",
            "arXiv 1707.06347",
            "each episode alone, a value function and generalised advantage estimation",
            {"trial": alone, "credit": {"returns": "episode", "advantage": "gae", "baseline": group, "std": True}},
        ),
        Method(
            "reinforce++",
            "trained",
            "arXiv 2501.03262",
            "each episode alone, advantages scaled over the whole batch",
            {"trial": alone, "credit": {"returns": "episode", "advantage": "reinforce++", "baseline": (), "std": True}},
        ),
        Method(
            "reinforce",
            "trained",
            "Williams 1992",
            "each episode alone, group mean",
            {"trial": alone, "credit": {"returns": "episode", "advantage": "reinforce", "baseline": group}},
        ),
        Method(
            "react",
            "prompted",
            "arXiv 2210.03629",
            "thought, action, observation; each episode alone",
            {"trial": alone},
        ),
        Method(
            "reflexion",
            "prompted",
            "arXiv 2303.11366",
            "after an episode that was not won a plan for the next",
            {"trial": {"memory": "reflexion"}},
        ),
        Method(
            "a-mem",
            "prompted",
            "arXiv 2502.12110",
            "notes that the model describes, links and revises; the most alike are recalled",
            {"trial": {"memory": "a-mem"}},
        ),
        Method(
            "memento",
            "prompted",
            "arXiv 2508.16153",
            "cases of what was tried and what came of it; the most alike are recalled, good ones first",
            {"trial": {"memory": "memento"}, "recall": {"count": 8}},
        ),
    )


def find_method(name: str) -> Method:
    """A method by name or reference. Raises RecipeError, listing all, where there is none."""
    if is_reference(name):
        own: Method = load(
            "method",
            name,
            wanted=f"a {__name__}.Method",
            fits=lambda thing: isinstance(thing, Method),
            error=RecipeError,
        )
        if not (isinstance(own.defaults, Mapping) and all(isinstance(each, Mapping) for each in own.defaults.values())):
            raise RecipeError(
                f"method {name!r}: defaults = {own.defaults!r}: should be tables by section, such as "
                "{'credit': {'std': True}}"
            )
        return own
    for method in methods():
        if method.name == name:
            return method
    raise RecipeError(f"method = {name!r}: " + unknown("method", name, [method.name for method in methods()]))


def prompts_only(name: str) -> bool:
    """Whether a method trains nothing. One of the user's own, whose code may not be here, is taken to be trained."""
    return not is_reference(name) and find_method(name).kind == "prompted"


def method_defaults(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Section defaults of a method, by name or reference. Raises RecipeError where there is none."""
    return find_method(name).defaults
