"""Numbers of one iteration, from its trials: per episode and not cumulative, per opponent, free of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mage.play.collect import Collected, Group
from mage.play.records import Trial
from mage.run.files import Row

Played = TypeVar("Played", Trial, Group)


def trial_metrics(collected: Collected, episodes: int) -> Row:
    """What was played: payoffs, results, dropped groups, shares of invalid and truncated responses.

    In a game of one seat nobody is met, and nothing is told by opponent.
    Episodes that were not reached (early stop, full context) are left out of the means; `None` where none was reached.
    """
    trials = collected.trials
    rewards = reward_table(trials, episodes)
    turns = [turn for trial in trials for turn in trial.turns]
    groups = by_opponent(collected.groups)
    met = {name: members for name, members in by_opponent(trials).items() if name}
    sampled = sum(turn.stop - turn.start for turn in turns)
    return {
        "payoff": _means(rewards),
        "payoff_sem": _pooled_errors([_group_means(members, episodes) for members in groups.values()])
        or [None] * episodes,
        "payoff_by_opponent": {name: _means(reward_table(members, episodes)) for name, members in met.items()},
        "payoff_sem_by_opponent": {
            name: _standard_errors(_group_means(members, episodes)) for name, members in groups.items() if name
        },
        "trials_by_opponent": {name: len(members) for name, members in met.items()},
        **result_shares(trials, episodes),
        "trials": len(trials),
        "dropped_groups": len(collected.dropped),
        "drop_reasons": sorted({dropped.reason for dropped in collected.dropped}),
        "invalid_share": _share(not turn.legal for turn in turns),
        "truncated_share": _share(turn.truncated for turn in turns),
        "tokens_sampled": sampled,
        "tokens_read": sum(len(context) for trial in trials for context in trial.contexts) - sampled,
    }


def by_opponent(played: Sequence[Played]) -> dict[str, list[Played]]:
    """Trials or groups by the opponent they were played against, opponents in the order of their names."""
    found: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        found[one.task.opponent].append(one)
    return dict(sorted(found.items()))


def reward_table(trials: Sequence[Trial], episodes: int) -> npt.NDArray[np.float64]:
    """[trials, N] rewards in game units, NaN where an episode was not played."""
    table = np.full((len(trials), episodes), np.nan)
    for row, trial in zip(table, trials, strict=True):
        row[: len(trial.episodes)] = [episode.reward for episode in trial.episodes]
    return table


def result_shares(trials: Sequence[Trial], episodes: int) -> Row:
    """Shares of episodes won, drawn and lost, by episode."""
    shares: Row = {}
    for result in ("won", "drawn", "lost"):
        shares[result] = []
        for n in range(episodes):
            results = [trial.episodes[n].result == result for trial in trials if len(trial.episodes) > n]
            shares[result].append(float(np.mean(results)) if results else None)
    return shares


def _group_means(groups: Sequence[Group], episodes: int) -> npt.NDArray[np.float64]:
    """[groups, N] mean rewards: members of a group share their task, so only groups are independent."""
    means = [_means(reward_table(group.trials, episodes)) for group in groups]
    return np.array(means, dtype=np.float64).reshape(len(means), episodes)


def _means(rewards: npt.NDArray[np.float64]) -> list[float | None]:
    return [float(column.mean()) if len(column) else None for column in _played(rewards)]


def _standard_errors(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Standard error of the mean of each column, None below two values."""
    return [float(column.std(ddof=1) / np.sqrt(len(column))) if len(column) > 1 else None for column in _played(values)]


def _pooled_errors(strata: Sequence[npt.NDArray[np.float64]]) -> list[float | None]:
    """Standard error of the mean over opponents whose shares are exact: √(Σ_o (n_o/n)² s_o²/n_o), by episode.

    What lies between opponents is no error: how often each is met is not drawn. Where one has a single group, all
    groups together stand in, which is too wide.
    """
    if not strata:
        return []
    together = _standard_errors(np.concatenate(strata))
    errors: list[float | None] = []
    for plain, *columns in zip(together, *(_played(stratum) for stratum in strata), strict=True):
        met = [column for column in columns if len(column)]
        if plain is None or any(len(column) < 2 for column in met):
            errors.append(plain)
        else:
            variance = sum(len(column) * column.var(ddof=1) for column in met)
            errors.append(float(np.sqrt(variance) / sum(map(len, met))))
    return errors


def _played(table: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """Each column without what was not played."""
    return [column[~np.isnan(column)] for column in table.T]


def _share(flags: Any) -> float:
    listed = list(flags)
    return sum(listed) / len(listed) if listed else 0.0
