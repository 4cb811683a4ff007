"""One episode as the agent can know it: its information tree, with the law of what it will see under each hidden type.

A hidden type is what the agent cannot see and what does not change between episodes: the opponent; under `replay`
also the deal, because the same chance outcomes recur.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL, PolicyOpponent, State, TreeGame
from mage.play.records import Restart
from mage.play.soundness import check_chance, check_mixture, check_returns

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
SAME = 1e-12
"""Numbers in [0, 1) closer than this are one."""


@dataclass(frozen=True, slots=True)
class Types:
    """The hidden types of a trial; arrays have one entry per type."""

    opponents: tuple[PolicyOpponent, ...]
    opponent: Ints
    """Index of each type's opponent."""
    prior: Floats
    """Probability of each type."""
    draws: Floats | None
    """Under `replay` (draws, types): the number in [0, 1) that decides the k-th chance node; None under `redeal`."""

    def chance(self, state: State, drawn: int) -> Iterator[tuple[int, float | Floats]]:
        """(outcome, its probability under each type) at the chance node that follows `drawn` others."""
        if self.draws is None:
            yield from zip(state.actions, state.chance, strict=True)
            return
        low = 0.0
        for action, weight in zip(state.actions, state.chance, strict=True):
            high = low + weight
            yield action, ((self.draws[drawn] >= low) & (self.draws[drawn] < high)).astype(np.float64)
            low = high

    def policy(self, state: State) -> Iterator[tuple[int, Floats]]:
        """(action, its probability under each type) where the opponent moves."""
        mixed: dict[int, Floats] = {}
        for index, opponent in enumerate(self.opponents):
            mixture = opponent.policy(state)
            check_mixture(opponent.name, state, mixture)
            for action, probability in mixture:
                mixed.setdefault(action, np.zeros(len(self.opponents)))[index] += probability
        for action, probabilities in mixed.items():
            yield action, probabilities[self.opponent]


def hidden_types(
    game: TreeGame, opponents: Sequence[PolicyOpponent], weights: Floats, restart: Restart, max_positions: int
) -> Types:
    """All (opponent) or, under `replay`, (opponent, deal) pairs.

    Raises GameError if the tree is larger than allowed, or its chance has no probabilities that sum to 1.

    A deal is a cell of the numbers that dice draw: the k-th chance node takes the outcome whose share of [0, 1) holds
    the k-th number, so cells end wherever any k-th chance node changes its outcome.
    """
    index = np.arange(len(opponents))
    if restart == "redeal" or not game.has_chance:
        return Types(tuple(opponents), index, weights, None)
    cells = [np.diff(np.array(borders)) for borders in _borders(game, max_positions)]
    middles = [np.cumsum(widths) - widths / 2 for widths in cells]
    deals = np.array(list(itertools.product(*middles)))
    shares = np.array([np.prod(widths) for widths in itertools.product(*cells)])
    return Types(
        tuple(opponents),
        np.repeat(index, len(deals)),
        np.outer(weights, shares).ravel(),
        np.tile(deals, (len(opponents), 1)).T,
    )


def _borders(game: TreeGame, max_positions: int) -> list[list[float]]:
    """For each number of chance nodes before: where in [0, 1] the outcome of the next one changes, ends included."""
    found: list[set[float]] = []
    waiting, seen = [(game.root(), 0)], 0
    while waiting:
        state, drawn = waiting.pop()
        seen += 1
        _check_size(game, seen, max_positions)
        if state.player == TERMINAL:
            continue
        if state.player == CHANCE:
            check_chance(game.name, state)
            if drawn == len(found):
                found.append({0.0, 1.0})
            found[drawn].update(itertools.accumulate(state.chance[:-1]))
            drawn += 1
        waiting.extend((state.child(action), drawn) for action in state.actions)
    return [_distinct(borders) for borders in found]


def _distinct(borders: set[float]) -> list[float]:
    ordered = sorted(borders)
    return [0.0] + [high for low, high in itertools.pairwise(ordered) if high - low > SAME]


def _check_size(game: TreeGame, positions: int, max_positions: int) -> None:
    if positions > max_positions:
        raise GameError(
            f"game {game.name!r} has more than {max_positions:,} positions to look at: too large for exact values; "
            "evaluate by sampling, or choose a smaller game or a pool of deterministic opponents"
        )


class Particle(NamedTuple):
    """A position that the agent may be in."""

    state: State
    reach: Floats
    """Probability under each type of getting here if the agent plays towards it."""
    drawn: int
    """Chance nodes passed."""


@dataclass(slots=True)
class Layer:
    """All that can be seen after the same number of the agent's own actions.

    Its items are grouped by the agent's past ("branch"); an item is something seen: a decision or an end.
    """

    starts: list[int] = field(default_factory=list)
    """First item of each branch."""
    ends: list[int] = field(default_factory=list)
    """Items that are ends, in order; the tree's ends are numbered layer by layer."""
    decisions: list[int] = field(default_factory=list)
    """Items that are decisions, in order."""
    choices: list[int] = field(default_factory=list)
    """First branch of each decision in the next layer: one branch per action."""
    items: int = 0


@dataclass(frozen=True, slots=True)
class InformationTree:
    """What one agent may see and do in one episode."""

    layers: tuple[Layer, ...]
    reach: Floats
    """(ends, types): probability of seeing this end if the agent plays towards it."""
    payoff: Floats
    """(ends, types): the same times the agent's return."""
    positions: int
    information_sets: int

    def best(self, ends: Floats) -> Floats:
        """Value of the best strategy where reaching end e is worth `ends[e]`: (ends, n) to (n,).

        Backward induction: sum over what may be seen, maximum over actions.
        """
        first, below = len(ends), None
        for layer in reversed(self.layers):
            items = np.empty((layer.items, ends.shape[1]))
            first -= len(layer.ends)
            items[layer.ends] = ends[first : first + len(layer.ends)]
            if below is not None:
                items[layer.decisions] = np.maximum.reduceat(below, layer.choices, axis=0)
            below = np.add.reduceat(items, layer.starts, axis=0)
        assert below is not None
        return np.asarray(below[0])


def information_tree(game: TreeGame, types: Types, seat: int, max_positions: int) -> InformationTree:
    """The tree of what `seat` can see: `show` at its decisions, `outcome` at the end, and its own past.

    Raises GameError if more than `max_positions` positions can be reached, and for chance or opponents whose
    probabilities do not sum to 1 and returns that are not finite.
    """
    branches = [[Particle(game.root(), np.ones(len(types.prior)), 0)]]
    layers: list[Layer] = []
    reach: list[Floats] = []
    payoff: list[Floats] = []
    positions = information_sets = 0
    while branches:
        layer, following = Layer(), list[list[Particle]]()
        for branch in branches:
            layer.starts.append(layer.items)
            seen, positions = _look(game, types, seat, branch, positions, max_positions)
            for particles in seen:
                if particles[0].state.player == TERMINAL:
                    layer.ends.append(layer.items)
                    reach.append(sum((p.reach for p in particles), np.zeros(len(types.prior))))
                    returns = (p.reach * p.state.returns[seat] for p in particles)
                    payoff.append(sum(returns, np.zeros(len(types.prior))))
                else:
                    layer.decisions.append(layer.items)
                    layer.choices.append(len(following))
                    following.extend(_act(particles, action) for action in particles[0].state.actions)
                    information_sets += 1
                layer.items += 1
        layers.append(layer)
        branches = following
    return InformationTree(tuple(layers), np.array(reach), np.array(payoff), positions, information_sets)


def _act(particles: list[Particle], action: int) -> list[Particle]:
    return [Particle(state.child(action), reach, drawn) for state, reach, drawn in particles]


def _look(
    game: TreeGame, types: Types, seat: int, branch: list[Particle], positions: int, max_positions: int
) -> tuple[list[list[Particle]], int]:
    """Let chance and opponents move until the agent sees something; group positions by what it sees.

    Returns the groups, and `positions` with those passed here added.
    """
    seen: dict[tuple[bool, str], list[Particle]] = {}
    waiting = list(reversed(branch))
    while waiting:
        state, reach, drawn = particle = waiting.pop()
        positions += 1
        _check_size(game, positions, max_positions)
        if state.player == TERMINAL:
            check_returns(game.name, state)
            seen.setdefault((True, game.outcome(state, seat)), []).append(particle)
        elif state.player == seat:
            seen.setdefault((False, game.show(state, seat)), []).append(particle)
        else:
            at_chance = state.player == CHANCE
            if at_chance:
                check_chance(game.name, state)
            moves = types.chance(state, drawn) if at_chance else types.policy(state)
            for action, probability in moves:
                after = reach * probability
                if after.any():
                    waiting.append(Particle(state.child(action), after, drawn + at_chance))
    return list(seen.values()), positions
