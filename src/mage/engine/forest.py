"""Training data as a forest of tokens: sequences that share a beginning are computed once, exactly.

Group members share their prompt, contexts of a task repeat one another, whole sequences come more than once. In sorted
order each sequence shares its longest common beginning with the one before it; only what is new in it becomes new nodes
of a row. A node attends to its ancestors and itself, so its hidden state is what it would be in each sequence alone.

The clipped surrogate min(r·A, clip(r)·A) is linear in A on either side of zero: A⁺·min(r, 1+ε) for A ≥ 0 and
A⁻·max(r, 1−ε) for A < 0. Copies of a sampled token (after the same node, with the same log-probability when sampled)
share r, so their positive and negative advantages add up; entropy and KL coefficients add up likewise. The sum over all
sequences is the same number, for one forward and backward pass over the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from mage.engine.base import Datum, Floats, Ints
from mage.engine.loss import TokenBatch

ROW = 128
"""Least room of a row. Attention costs grow with it, repeated beginnings fall."""


@dataclass(frozen=True, slots=True)
class Forest:
    """B rows of up to L nodes, and the M sampled tokens that they predict."""

    tokens: torch.Tensor
    """[B, L] token ids, padded on the right."""
    positions: torch.Tensor
    """[B, L] positions in the sequence."""
    visible: torch.Tensor
    """[B, 1, L, L] whether a node (row) attends to another (column)."""
    predictor: torch.Tensor
    """[M] place, in the flattened rows, of the node before each sampled token."""
    targets: torch.Tensor
    """[M] the sampled tokens."""
    temperature: torch.Tensor | None
    """[M] what each was sampled at, 0 for the loss's temperature; None if all were."""

    def of_rows(self, chosen: torch.Tensor) -> tuple[Forest, torch.Tensor]:
        """The forest of the rows `chosen` [B], and which [M] of the sampled tokens it keeps."""
        width = self.tokens.shape[1]
        row = self.predictor // width
        kept = chosen[row]
        number = torch.cumsum(chosen, 0) - 1  # of each row among the chosen
        predictor = (number[row] * width + self.predictor % width)[kept]
        rows = (self.tokens[chosen], self.positions[chosen], self.visible[chosen])
        temperature = None if self.temperature is None else self.temperature[kept]
        return Forest(*rows, predictor, self.targets[kept], temperature), kept


@dataclass(frozen=True, slots=True)
class States:
    """The K states of a micro-batch whose value is asked for; copies are not merged, their targets differ."""

    place: torch.Tensor
    """[K] place, in the flattened rows, of the last token of each."""
    old: torch.Tensor
    target: torch.Tensor
    owner: Ints
    """[K] index in the data of the sequence of each, in the order that it has them."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The way back from the M sampled tokens of a micro-batch to their C copies in the data."""

    owner: Ints
    """[C] index in the data of the sequence of each."""
    place: Ints
    """[C] its place in that sequence."""
    token: Ints
    """[C] which of the M it is."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A micro-batch."""

    forest: Forest
    batch: TokenBatch
    """What the loss needs of the M sampled tokens."""
    source: Ints
    """[M] index in the data of the first sequence with each of them."""
    copies: Copies
    states: States | None
    """None where no value is asked for."""


@dataclass(slots=True)
class _Row:
    """Sequences packed together. Each has its index in the data, and the nodes of its tokens but the last."""

    asks: bool
    """Whether its sequences ask for the KL penalty: the reference is computed for such rows only."""
    members: list[tuple[int, Ints, int]]
    """(index, nodes, how many of the nodes were there before)."""
    size: int


def pack(data: Sequence[Datum], budget: int, width: int | None = None) -> Iterator[Packed]:
    """Micro-batches of at most `budget` nodes, padding included (one row at least), short rows first.

    width: room of a row for more than one sequence; default: twice the longest sequence, and `ROW` at least.
    """
    part: list[_Row] = []
    width = width or max(ROW, 2 * max((len(datum.tokens) for datum in data), default=0))
    for row in sorted(_rows(data, width), key=lambda row: row.size):
        if part and row.size * (len(part) + 1) > budget:
            yield _packed(data, part)
            part = []
        part.append(row)
    if part:
        yield _packed(data, part)


def _rows(data: Sequence[Datum], width: int) -> list[_Row]:
    """All sequences in sorted order, as many in each row as fit."""
    asks = [bool(datum.kl.any()) for datum in data]
    keys = [datum.tokens.astype(">i8").tobytes() for datum in data]  # big-endian bytes sort as the numbers do
    rows: list[_Row] = []
    before: Ints = np.zeros(0, np.int64)
    path = before
    for index in sorted(range(len(data)), key=lambda index: (asks[index], keys[index])):
        tokens = data[index].tokens[:-1]
        shared = _shared(before, tokens)
        new = len(tokens) - shared
        if not rows or rows[-1].asks != asks[index] or rows[-1].size + new > width:
            rows.append(_Row(asks[index], [], 0))
            shared, new = 0, len(tokens)
        row = rows[-1]
        path = np.concatenate([path[:shared], np.arange(row.size, row.size + new)])
        row.members.append((index, path, shared))
        row.size += new
        before = tokens
    return rows


def _shared(a: Ints, b: Ints) -> int:
    """Length of the longest common beginning."""
    least = min(len(a), len(b))
    differ = a[:least] != b[:least]
    return int(differ.argmax()) if differ.any() else least


def _packed(data: Sequence[Datum], rows: Sequence[_Row]) -> Packed:
    """The rectangle of several rows."""
    width = max(row.size for row in rows)
    tokens, positions = np.zeros((2, len(rows), width), np.int64)
    visible = np.zeros((len(rows), width, width), np.bool_)
    visible[:, np.arange(width), np.arange(width)] = True  # padding sees itself: a softmax over nothing is not finite
    before: list[Ints] = []
    chosen: list[Ints] = []
    for number, row in enumerate(rows):
        for index, path, shared in row.members:
            if shared < len(path):
                new = slice(int(path[shared]), int(path[-1]) + 1)
                tokens[number, new] = data[index].tokens[shared:-1]
                positions[number, new] = np.arange(shared, len(path))
                visible[number, new, path[:shared]] = True
                visible[number, new, new] = np.tri(len(path) - shared, dtype=np.bool_)
            sampled = data[index].sampled[1:].nonzero()[0]
            before.append(path[sampled] + number * width)
            chosen.append(sampled + 1)
    indices = [index for row in rows for index, _, _ in row.members]
    predictor, targets, temperature, batch, copies = _targets(data, indices, np.concatenate(before), chosen)
    source = np.zeros(len(targets), np.int64)
    source[copies.token[::-1]] = copies.owner[::-1]  # the first copy is written last
    forest = Forest(
        tokens=torch.from_numpy(tokens),
        positions=torch.from_numpy(positions),
        visible=torch.from_numpy(visible[:, None]),
        predictor=torch.from_numpy(predictor),
        targets=torch.from_numpy(targets),
        temperature=torch.from_numpy(temperature) if temperature.any() else None,
    )
    return Packed(forest, batch, source, copies, _states(data, rows, width))


def _states(data: Sequence[Datum], rows: Sequence[_Row], width: int) -> States | None:
    members = [(number, index, path) for number, row in enumerate(rows) for index, path, _ in row.members]
    asked = [(number, index, path, points) for number, index, path in members if (points := data[index].values)]
    if not asked:
        return None
    return States(
        place=torch.from_numpy(
            np.concatenate([path[points.at - 1] + number * width for number, _, path, points in asked])
        ),
        old=torch.from_numpy(np.concatenate([points.old for *_, points in asked])),
        target=torch.from_numpy(np.concatenate([points.target for *_, points in asked])),
        owner=np.repeat([index for _, index, _, _ in asked], [len(points.at) for *_, points in asked]),
    )


def _targets(
    data: Sequence[Datum], indices: Sequence[int], predictor: Ints, chosen: Sequence[Ints]
) -> tuple[Ints, Ints, Floats, TokenBatch, Copies]:
    """The distinct sampled tokens (predictor, token, temperature), sums over the copies of each, and its copies."""

    members = list(zip([data[index] for index in indices], chosen, strict=True))
    targets: Ints = np.concatenate([datum.tokens[places] for datum, places in members])

    def pick(field: str) -> Floats:
        return np.concatenate([getattr(datum, field)[places] for datum, places in members])

    old, advantages = pick("logprobs"), pick("advantages")
    temperature = np.concatenate(
        [np.zeros(len(at), np.float32) if datum.temperature is None else datum.temperature[at] for datum, at in members]
    )
    columns = (predictor, targets, temperature, old)
    order = np.lexsort(columns[::-1])  # stable: the first of equal ones comes first
    differ = [np.diff(values[order]) != 0 for values in columns]
    starts = np.concatenate([[True], np.logical_or.reduce(differ)])
    first = np.flatnonzero(starts)

    def total(values: Floats) -> torch.Tensor:
        return torch.from_numpy(np.add.reduceat(values[order], first))

    kept = order[first]
    batch = TokenBatch(
        old_logprobs=torch.from_numpy(old[kept]),
        gain=total(np.maximum(advantages, 0)),
        loss=total(np.minimum(advantages, 0)),
        entropy=total(pick("entropy")),
        kl=total(pick("kl")),
        copies=total(np.ones_like(old)),
    )
    token = np.empty(len(order), np.int64)
    token[order] = np.cumsum(starts) - 1
    owner = np.repeat(indices, [len(places) for places in chosen])
    return predictor[kept], targets[kept], temperature[kept], batch, Copies(owner, np.concatenate(chosen), token)
