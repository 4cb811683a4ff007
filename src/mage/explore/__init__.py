"""Intrinsic rewards: what drives an agent to what it has not seen."""

from __future__ import annotations

from mage.explore.novelty import Counts, Novelty
from mage.explore.rnd import Distillation
from mage.recipe import NoveltySection


def make_novelty(section: NoveltySection, seed: int = 0) -> Novelty | None:
    """The novelty of a recipe's section; None for none. `seed` draws the networks of `rnd`.

    >>> make_novelty(NoveltySection()) is None
    True
    """
    match section.kind:
        case "none":
            return None
        case "counts":
            return Counts(section.weight, section.similar, section.limit)
        case "rnd":
            return Distillation(section.weight, seed)
