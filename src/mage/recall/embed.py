"""Texts as vectors: one small interface, and an embedder that needs no model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mage.errors import MageError, told

Vectors = npt.NDArray[np.float32]
WORD = re.compile(r"\w+|[^\w\s]")


class Embedder(Protocol):
    """Maps texts to unit vectors, so that a product is a cosine."""

    @property
    def name(self) -> str:
        """Says which one it is; vectors of different embedders do not compare."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """[n, d] unit vectors; a text without words is all zeros."""
        ...


class HashedNgrams:
    """Words and pairs of words, hashed into `size` signed bins and weighted by 1 + log count.

    The hashing trick (Weinberger et al. 2009, arXiv 0902.2206): no vocabulary, no model, the same everywhere. It sees
    shared wording, not meaning.

    >>> vectors = HashedNgrams().embed(["the door is locked", "the door is open", "bet with a king"])
    >>> bool(vectors[0] @ vectors[1] > vectors[0] @ vectors[2])
    True
    """

    def __init__(self, size: int = 512) -> None:
        self._size = size
        self.name = f"hashed-{size}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`."""
        vectors = np.zeros((len(texts), self._size), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            counts: dict[str, int] = {}
            for gram in _grams(text):
                counts[gram] = counts.get(gram, 0) + 1
            for gram, count in counts.items():
                place, sign = _bin(gram, self._size)
                row[place] += sign * (1 + np.log(count))
            row /= np.linalg.norm(row) or 1.0
        return vectors


class SentenceTransformerEmbedder:
    """A model of the `sentence-transformers` package, by folder or name (extra `recall`)."""

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MageError(
                "recall.embedder: a model needs the package sentence-transformers: pip install sentence-transformers"
            ) from None
        try:
            self._model: Any = SentenceTransformer(model, device="cpu")
        except Exception as error:  # of many kinds, by what is missing: the folder, the network, a file in it
            raise MageError(f"recall.embedder = {model!r}: cannot be opened as a model ({told(error)})") from None
        self.name = f"sentence-transformers:{model}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`."""
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32).reshape(len(texts), -1)


def make_embedder(name: str) -> Embedder:
    """The embedder of a `recall.embedder` key: `hashed`, or the folder or name of a sentence-transformers model."""
    return HashedNgrams() if name == "hashed" else SentenceTransformerEmbedder(name)


def _grams(text: str) -> list[str]:
    words = WORD.findall(text.lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]


@lru_cache(maxsize=100_000)
def _bin(gram: str, size: int) -> tuple[int, float]:
    digest = int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest(), "big")
    return (digest >> 1) % size, 1.0 if digest & 1 else -1.0
