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
    kind: Literal["trained", "prompted", "peers"]
    """`peers`: chooses whom to ask; no recipe has it, its defaults are those of `mage peers`."""
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
            {"trial": alone, "credit": {"returns": "episode", "advantage": "gae", "std": True}},
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
            "sge",
            "trained",
            "arXiv 2603.02045",
            "a strategy before each action, sampled hotter; strategies that failed are criticised, good ones followed",
            {
                "actor": {"kind": "strategy", "strategy_temperature": 1.2},
                "trial": {"memory": "strategies"},
                "recall": {"scope": "game"},
                "strategies": {"size": 32, "failure": 0.25, "success": 0.1},
                "credit": {"returns": "episode", "advantage": "grpo", "baseline": group, "std": True},
                "loop": {"temperature": 0.7},
                "eval": {"memory": "none"},
            },
        ),
        Method(
            "empo2",
            "trained",
            "arXiv 2602.23008",
            "tips across trials, updates on and off policy, a reward for what is new; measured without the tips",
            {
                "trial": {"memory": "tips"},
                "recall": {"scope": "game", "count": 10, "limit": 1000, "least": 0.5},
                "hybrid": {"on_policy": 0.083, "off_policy": 0.167, "ratio": "behaviour", "mask": "token"},
                "novelty": {"kind": "counts"},
                "credit": {"returns": "episode", "advantage": "grpo", "baseline": group, "std": True},
                "optim": {"clip_low": 0.2, "clip_high": 0.3},
                "eval": {"memory": "none"},
            },
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
        Method(
            "mace",
            "peers",
            "arXiv 2607.11250",
            "a contextual bandit chooses which peer to ask; run by `mage peers`",
            {"peers": {"alpha": 4.0, "ridge": 0.4, "rounds": 50}},
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
        if own.kind != "trained":
            raise RecipeError(
                f"method {name!r}: kind = {own.kind!r}: a method of one's own is trained. To measure a model as it is "
                "with a memory of one's own: mage eval MODEL --recipe RECIPE --memory module:attribute"
            )
        return own
    for method in methods():
        if method.name == name and method.kind == "peers":
            raise RecipeError(
                f"method = {name!r}: it chooses which of several peers to ask, and so cannot be run on one agent; "
                "it trains nothing and plays no game. Run it by: mage peers evidence"
            )
        if method.name == name:
            return method
    known = [method.name for method in methods() if method.kind != "peers"]
    raise RecipeError(f"method = {name!r}: " + unknown("method", name, known))


def prompts_only(name: str) -> bool:
    """Whether a method trains nothing. One of the user's own, whose code may not be here, is taken to be trained."""
    return not is_reference(name) and find_method(name).kind == "prompted"


def method_defaults(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Section defaults of a method, by name or reference. Raises RecipeError where there is none."""
    return find_method(name).defaults
