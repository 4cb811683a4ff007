"""Exact limits of adaptation: what the best agent gets that cannot adapt, that adapts, and that knows its opponent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mage.analysis.beliefs import after_episode, best_values
from mage.analysis.tree import Floats, InformationTree, Types, hidden_types, information_tree
from mage.errors import GameError, MageError
from mage.play.game import Game, Opponent, PolicyOpponent, TreeGame
from mage.play.records import Restart

MAX_POSITIONS = 100_000
MAX_WORK = 300_000_000
"""Largest number of posterior probabilities: beliefs × ends of an episode × hidden types, over all but the last."""
MAX_BELIEFS = 500_000
"""Largest number of different beliefs before an episode."""
LAST = 100
"""The last episode needs no posteriors, only a matrix product: so much more work is allowed."""


@dataclass(frozen=True, slots=True)
class SeatLimits:
    """Exact values of one seat, or of all seats pooled, in the game's units per episode."""

    non_adaptive: float
    """Best single strategy for one episode against the pool: it may infer within the episode, not between."""
    adaptive: float
    """Best expected payoff of the last episode."""
    known: float
    """The same for an agent that is told its opponent: the average of best responses."""
    adaptive_by_episodes: tuple[float, ...]
    """`adaptive` for trials of 1, 2, … episodes; the first is `non_adaptive`."""
    known_by_opponent: dict[str, float]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much was looked at, summed over seats."""

    positions: int
    information_sets: int
    ends: int
    """Different things that the agent can have seen in an episode."""
    hidden_types: int
    """Opponents; under `replay` opponents × deals. Not summed."""
    beliefs: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Exact values of a game, a pool and a number of episodes: pooled over the seats (equal shares) and by seat."""

    game: str
    restart: Restart
    episodes: int
    pool: dict[str, float]
    """Share of each opponent."""
    pooled: SeatLimits
    by_seat: dict[int, SeatLimits]
    sizes: Sizes

    @property
    def non_adaptive(self) -> float:
        """Best single strategy against the pool."""
        return self.pooled.non_adaptive

    @property
    def adaptive(self) -> float:
        """Bayes-adaptive optimum of the last episode."""
        return self.pooled.adaptive

    @property
    def known(self) -> float:
        """Value of knowing the opponent."""
        return self.pooled.known

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the pooled values at the top, `by_seat` with seats as strings."""
        pooled = asdict(self.pooled)
        data = {"game": self.game, "restart": self.restart, "episodes": self.episodes, "pool": dict(self.pool)}
        by_seat = {str(seat): asdict(values) for seat, values in self.by_seat.items()}
        return {**data, **pooled, "by_seat": by_seat, "sizes": asdict(self.sizes)}


def exact_limits(
    game: Game,
    opponents: Sequence[Opponent],
    weights: Sequence[float],
    *,
    episodes: int,
    restart: Restart = "redeal",
    seats: Sequence[int] | None = None,
    max_positions: int = MAX_POSITIONS,
    max_work: int = MAX_WORK,
    max_beliefs: int = MAX_BELIEFS,
) -> Limits:
    """Exact limits for an agent that meets one hidden opponent of a pool for some episodes.

    The objective is the expected payoff of the last episode (exploration is free). The agent knows its seat and what
    `show` and `outcome` tell it. With b an unnormalised belief over hidden types, P(o|t) and R(o,t) the probability of
    and return at end o of an episode, and σ a strategy for one episode:

        V_1(b) = max_σ Σ_o Σ_t b(t) R(o,t),    V_n(b) = max_σ Σ_o V_{n-1}(b · P(o|·)),    V_n(c·b) = c·V_n(b),

    non_adaptive = V_1(prior), adaptive = V_N(prior), known = Σ_opponents V_N(prior restricted to the opponent): under
    `redeal` that is V_1, the average of best responses; under `replay` the deal is still to be learned. This is
    Bayes-adaptive control (Duff 2002) with the information tree as action space; mixed strategies gain nothing.

    Args:
        game: A game whose tree can be walked.
        opponents: Players with a `policy`; one of them takes all other seats.
        weights: Share of each, any positive scale.
        episodes: N.
        restart: `redeal` (fresh chance in each episode) or `replay` (the same chance outcomes recur).
        seats: Seats the agent takes, in equal shares; all by default.
        max_positions: Bound on positions looked at.
        max_work: Bound on probabilities computed.
        max_beliefs: Bound on beliefs that are possible before an episode.

    Raises:
        MageError: The tree or the set of beliefs is too large, an opponent has no `policy`, probabilities do not sum
            to 1 or returns are not finite.
    """
    if not isinstance(game, TreeGame):
        raise GameError(f"game {game.name!r} has no tree that can be walked: it has no exact values")
    players, shares = _pool(opponents, weights)
    if episodes < 1:
        raise MageError(f"episodes = {episodes}: expected at least 1")
    types = hidden_types(game, players, shares, restart, max_positions)
    by_seat: dict[int, SeatLimits] = {}
    positions = sets = ends = beliefs = 0
    for seat in range(game.seats) if seats is None else seats:
        if not 0 <= seat < game.seats:
            raise GameError(f"seat {seat}: game {game.name!r} has seats 0 to {game.seats - 1}")
        tree = information_tree(game, types, seat, max_positions)
        by_seat[seat], count = _solve(tree, types, episodes, max_work, max_beliefs)
        positions, sets = positions + tree.positions, sets + tree.information_sets
        ends, beliefs = ends + len(tree.reach), beliefs + count
    return Limits(
        game=game.name,
        restart=restart,
        episodes=episodes,
        pool={player.name: float(share) for player, share in zip(players, shares, strict=True)},
        pooled=_mean(list(by_seat.values())),
        by_seat=by_seat,
        sizes=Sizes(positions, sets, ends, len(types.prior), beliefs),
    )


def _pool(opponents: Sequence[Opponent], weights: Sequence[float]) -> tuple[list[PolicyOpponent], Floats]:
    players = [opponent for opponent in opponents if isinstance(opponent, PolicyOpponent)]
    if len(players) < len(opponents):
        name = next(opponent.name for opponent in opponents if not isinstance(opponent, PolicyOpponent))
        raise MageError(f"opponent {name!r} cannot tell its policy: exact values need opponents that can")
    shares = np.asarray(weights, dtype=np.float64)
    names = [player.name for player in players]
    if len(set(names)) < len(names):
        raise MageError(f"pool {', '.join(names)}: an opponent is named twice")
    if not players or shares.shape != (len(players),) or not (np.isfinite(shares) & (shares > 0)).all():
        raise MageError(f"weights = {list(weights)}: expected one positive number for each of {len(players)} opponents")
    return players, shares / shares.sum()


def _mean(values: Sequence[SeatLimits]) -> SeatLimits:
    names = values[0].known_by_opponent
    return SeatLimits(
        non_adaptive=float(np.mean([value.non_adaptive for value in values])),
        adaptive=float(np.mean([value.adaptive for value in values])),
        known=float(np.mean([value.known for value in values])),
        adaptive_by_episodes=tuple(np.mean([value.adaptive_by_episodes for value in values], axis=0).tolist()),
        known_by_opponent={name: float(np.mean([v.known_by_opponent[name] for v in values])) for name in names},
    )


def _solve(
    tree: InformationTree, types: Types, episodes: int, max_work: int, max_beliefs: int
) -> tuple[SeatLimits, int]:
    """Values of one seat, and the number of beliefs that were needed."""
    told = [np.where(types.opponent == index, types.prior, 0.0) for index in range(len(types.opponents))]
    shares = np.array([part.sum() for part in told])
    level = np.vstack([types.prior, *(part / share for part, share in zip(told, shares, strict=True))])
    levels, links, work = [level], [], 0
    for episode in range(1, episodes):
        work += len(level) * tree.reach.size
        if work > max_work:
            raise _too_large(tree, episode, len(level))
        level, link = after_episode(tree.reach, level, max_beliefs)
        if len(level) > max_beliefs:
            raise _too_large(tree, episode + 1, len(level))
        levels.append(level)
        links.append(link)
    if len(level) * tree.reach.size / LAST > max_work:
        raise _too_large(tree, episodes, len(level))
    values: list[Floats] = []  # values[n]: V_{n+1} of each belief of the level under consideration
    for depth in reversed(range(episodes)):
        longer = [best_values(tree, levels[depth], (links[depth], value)) for value in values]
        values = [best_values(tree, levels[depth], None), *longer]
    known = values[-1][1:]
    limits = SeatLimits(
        non_adaptive=float(values[0][0]),
        adaptive=float(values[-1][0]),
        known=float(known @ shares),
        adaptive_by_episodes=tuple(float(value[0]) for value in values),
        known_by_opponent={player.name: float(value) for player, value in zip(types.opponents, known, strict=True)},
    )
    return limits, sum(len(level) for level in levels)


def _too_large(tree: InformationTree, episode: int, beliefs: int) -> MageError:
    ends, types = tree.reach.shape
    return MageError(
        f"before episode {episode} there are at least {beliefs:,} beliefs over {types:,} hidden types, and the episode "
        f"can end in {ends:,} ways: too many for exact values; ask for fewer episodes, or for a pool with fewer or "
        "deterministic opponents"
    )
