"""The mode of an iteration: whether tips are in sight in play, and whether they are in what is learned from (EMPO²)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mage.chance import SeededDice, derive
from mage.play.records import Trial
from mage.recipe import HybridSection


class Mode(NamedTuple):
    """How an iteration is played and learned from."""

    aided: bool
    """Whether tips are shown."""
    off_policy: bool
    """Whether it is learned from as if they had not been."""

    def learned(self, trials: Sequence[Trial]) -> Sequence[Trial]:
        """The trials as they are learned from: off policy, those in which nothing helped."""
        return [trial.unaided or trial for trial in trials] if self.off_policy else trials


PLAIN = Mode(aided=False, off_policy=False)


def draw_mode(hybrid: HybridSection, seed: int, iteration: int) -> Mode:
    """The mode of an iteration (from 0): plain, on policy with tips, or off policy, by their probabilities."""
    plain = max(0.0, 1 - hybrid.on_policy - hybrid.off_policy)
    drawn = SeededDice(derive(seed, "mode", iteration)).pick((plain, hybrid.on_policy, hybrid.off_policy))
    return Mode(aided=drawn > 0, off_policy=drawn == 2)
