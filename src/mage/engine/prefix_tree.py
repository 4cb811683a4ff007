"""Every prefix computed once: a tree of tokens whose keys and values are kept until the weights change.

Requests that share a prefix (members of a group, later turns of a trial) share its nodes. A node is a token in its
context; its slot holds the keys and values of every layer, and the log-probabilities of the token after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers.cache_utils import Cache

ROOT = 0


@dataclass(frozen=True, slots=True)
class Rows:
    """A ragged batch of new nodes as a rectangle: B rows of up to Q new tokens after up to P cached ones.

    New tokens are left-aligned, cached ones right-aligned, so that they meet at column P.
    """

    tokens: torch.Tensor
    """[B, Q] token ids, 0 where padded."""
    positions: torch.Tensor
    """[B, Q] positions in the context."""
    write: torch.Tensor
    """[W] slots of the new tokens, row by row."""
    valid: torch.Tensor
    """[B, Q] True where a new token stands; W of them."""
    read: torch.Tensor
    """[B, P + Q] slots that each row attends to; slot 0 where padded."""
    visible: torch.Tensor
    """[B, 1, Q, P + Q] attention mask."""
    last: torch.Tensor
    """[B] column of each row's last new token."""


class PrefixTree:
    """The tree's bookkeeping: which token follows which, and the slots of a node's ancestors.

    Node 0 is the root before the first token. Slots are node numbers.
    """

    def __init__(self, vocabulary: int) -> None:
        self._vocabulary = vocabulary
        self._children: dict[int, int] = {}
        self._parent = np.zeros(1024, np.int64)
        self._depth = np.zeros(1024, np.int64)
        self._token = np.zeros(1024, np.int64)
        self._computed = np.zeros(1024, np.bool_)
        self.size = 1

    def child(self, node: int, token: int) -> int:
        """The node of `token` after `node`; a new one is empty until it is computed (see `chains`)."""
        key = node * self._vocabulary + token
        found = self._children.get(key)
        return self._grow(key, node, token) if found is None else found

    def reach(self, prompt: Sequence[int]) -> int:
        """The node at the end of `prompt`, growing what is missing."""
        node = ROOT
        for token in prompt:
            node = self.child(node, token)
        return node

    def _grow(self, key: int, node: int, token: int) -> int:
        new = self.size
        if new == len(self._parent):
            self._parent, self._depth, self._token, self._computed = (
                np.concatenate([array, np.zeros_like(array)])
                for array in (self._parent, self._depth, self._token, self._computed)
            )
        self._parent[new], self._depth[new], self._token[new] = node, self._depth[node] + 1, token
        self._children[key] = new
        self.size += 1
        return new

    def chains(self, nodes: Iterable[int]) -> list[list[int]]:
        """For each node the nodes to compute so that it can be read out: those above it that are empty, and itself.

        They count as computed from then on, so a later chain starts below an earlier one: compute them in this order.
        """
        chains = []
        for node in sorted(nodes, key=self._depth.__getitem__):
            chain, above = [node], int(self._parent[node])
            while above != ROOT and not self._computed[above]:
                chain.append(above)
                above = int(self._parent[above])
            self._computed[chain] = True
            chains.append(chain[::-1])
        return chains

    def rows(self, chains: Sequence[Sequence[int]]) -> Rows:
        """The rectangle of several chains of new nodes, each the child of the one before it."""
        count, width = len(chains), max(map(len, chains))
        lengths = np.fromiter(map(len, chains), np.int64, count)
        valid = np.arange(width) < lengths[:, None]
        write = np.fromiter((node for chain in chains for node in chain), np.int64, int(lengths.sum()))
        new = np.zeros((count, width), np.int64)
        new[valid] = write
        depth = self._depth[new[:, 0]] - 1
        past = self._ancestors(self._parent[new[:, 0]], int(depth.max()))
        reach = past.shape[1]
        visible = np.zeros((count, width, reach + width), np.bool_)
        visible[:, :, :reach] = (np.arange(reach) >= reach - depth[:, None])[:, None, :]
        visible[:, :, reach:] = np.tri(width, dtype=np.bool_)
        return Rows(
            tokens=torch.from_numpy(np.where(valid, self._token[new], 0)),
            positions=torch.from_numpy(np.where(valid, self._depth[new] - 1, 0)),
            write=torch.from_numpy(write),
            valid=torch.from_numpy(valid),
            read=torch.from_numpy(np.concatenate([past, new], axis=1)),
            visible=torch.from_numpy(visible[:, None]),
            last=torch.from_numpy(lengths - 1),
        )

    def _ancestors(self, nodes: npt.NDArray[np.int64], depth: int) -> npt.NDArray[np.int64]:
        """[B, depth] slots of each node and its ancestors, right-aligned; above the first token the root's 0 stands."""
        slots = np.zeros((len(nodes), depth), np.int64)
        for column in range(depth - 1, -1, -1):
            slots[:, column] = nodes
            nodes = self._parent[nodes]
        return slots


class SlotStore(Cache):
    """Keys and values of all nodes, layer by layer, in arrays that grow by doubling; a Transformers cache."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self._stores: dict[tuple[int, int], torch.Tensor] = {}
        self._rows: Rows | None = None

    def serve(self, rows: Rows) -> None:
        """Name the rows that the next forward pass computes."""
        self._rows = rows

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Cached columns to the left of the new ones."""
        assert self._rows is not None
        return int(self._rows.read.shape[1] - self._rows.tokens.shape[1])

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new tokens' keys and values [B, H, Q, D]; return those of all attended to [B, H, P + Q, D].

        Everything is written before anything is read, so a row may attend to nodes that another row brings.
        """
        return self._exchange((layer_idx, 0), key_states), self._exchange((layer_idx, 1), value_states)

    def _exchange(self, key: tuple[int, int], new: torch.Tensor) -> torch.Tensor:
        rows = self._rows
        assert rows is not None
        flat = new.transpose(1, 2)[rows.valid]  # [W, H, D]
        store = self._stores.get(key)
        needed = int(rows.write.max()) + 1
        if store is None or needed > len(store):
            grown = new.new_zeros((max(2 * needed, 4096), *flat.shape[1:]))
            if store is not None:
                grown[: len(store)] = store
            self._stores[key] = store = grown
        store[rows.write] = flat
        batch, reach = rows.read.shape
        return store.index_select(0, rows.read.reshape(-1)).view(batch, reach, *store.shape[1:]).transpose(1, 2)
