"""Evaluation with remarks shuffled among trials: does play depend on what the agent wrote about *this* opponent?

After episode n every trial is given a remark drawn from all remarks that the agent writes after episode n, over the
whole pool and both seats, whatever its own opponent is. The distributions are those of the agent's own trials (where
it read its own remarks): a fixed, known law, so that shuffled trials can be enumerated like any others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from mage.analysis.exact import DiceFactory
from mage.chance import Dice
from mage.play.memory import GivenRemark
from mage.play.records import Task, Trial

T = TypeVar("T")
Distribution = Mapping[str, float]


def remarks_of(trial: Trial) -> tuple[str, ...]:
    """What the agent wrote after each episode but the last, as carried on."""
    return tuple(turn.said for turn in trial.turns if turn.phase == "reflect")


def remark_distributions(
    results: Mapping[tuple[str, int], Sequence[tuple[float, T]]],
    weights: Mapping[str, float],
    remarks: Callable[[T], Sequence[str]],
) -> tuple[dict[str, float], ...]:
    """Law of the remark after each episode, pooled over opponents (by `weights`) and seats (equal shares).

    Args:
        results: For each (opponent, seat) trials with their probabilities (for sampled trials: 1/n each).
        weights: Share of each opponent, any scale.
        remarks: The remarks of a trial in order, such as `remarks_of`.

    Returns:
        One distribution per episode with a remark, most probable remark first.
    """
    laws: list[dict[str, float]] = []
    for (opponent, _), trials in results.items():
        for probability, trial in trials:
            for episode, remark in enumerate(remarks(trial)):
                if episode == len(laws):
                    laws.append({})
                laws[episode][remark] = laws[episode].get(remark, 0.0) + probability * weights[opponent]
    return tuple(_normalised(law) for law in laws)


def _normalised(law: Distribution) -> dict[str, float]:
    """Scaled to 1, most probable first."""
    total = sum(law.values())
    scaled = [(remark, share / total) for remark, share in law.items()]
    return dict(sorted(scaled, key=lambda item: (-item[1], item[0])))


def shuffled(dice: DiceFactory, laws: Sequence[Distribution]) -> GivenRemark:
    """A `given_remark` for one trial: the remark after episode n is drawn from `laws[n]` with dice ("remark", n).

    With the dice of `enumerate_trials` every remark is played with its probability; with seeded dice one is drawn.
    """

    async def given(task: Task, member: int, episode: int, remark: str) -> str:
        remarks, weights = list(laws[episode]), list(laws[episode].values())
        return remarks[dice("remark", episode).pick(weights)]

    return given


def shared_chance(dice: DiceFactory) -> DiceFactory:
    """Dice for shuffled trials where every episode gets the deal and the opponent's draws of the first.

    It changes no episode's expected payoff if the shuffled remarks are all that an episode sees of those before it
    (memory `reflection`): payoff n depends on remarks 1 … n-1, drawn independently, and on chance n, whose law is the
    same. For D deals, R remarks and N episodes it leaves D·R^(N-1) trials of (D·R)^(N-1)·D. Not valid for memory
    `history`.
    """

    def factory(kind: str, episode: int) -> Dice:
        return dice(kind, episode if kind == "remark" else 0)

    return factory
