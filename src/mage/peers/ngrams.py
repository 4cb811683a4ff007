"""How alike two texts are, by the words and pairs of words that they share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Grams = frozenset[tuple[str, ...]]
_STOP = """
a an and are as at be by do for from have i if in is it its me my of on or say that the then this to was what which who
with would you your
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that say nothing about a subject: they are left out."""


@lru_cache(maxsize=65536)
def ngrams(text: str, longest: int = 2) -> Grams:
    """Runs of 1 to `longest` words of a text, without case, punctuation, `<tags>` and `STOP_WORDS`.

    >>> sorted(ngrams("Add <b>two</b>!"))
    [('add',), ('add', 'two'), ('two',)]
    """
    found = re.findall(r"\w+", re.sub(r"<[^<>]*>", " ", text.casefold()))
    words = [word for word in found if word not in STOP_WORDS]
    return frozenset(
        tuple(words[start : start + length])
        for length in range(1, longest + 1)
        for start in range(len(words) - length + 1)
    )


def jaccard(first: Grams, second: Grams) -> float:
    """|A ∩ B| / |A ∪ B| (Jaccard 1901); 0 where both are empty.

    >>> jaccard(ngrams("red fox"), ngrams("red fox ran"))
    0.6
    """
    shared = len(first & second)
    union = len(first) + len(second) - shared
    return shared / union if union else 0.0


def containment(part: Grams, whole: Grams) -> float:
    """|A ∩ B| / |A|, the share of `part` that is in `whole` (Broder 1997); 0 where `part` is empty.

    >>> containment(ngrams("red fox"), ngrams("red hen"))
    0.333...
    """
    return len(part & whole) / len(part) if part else 0.0


def centrality(texts: Sequence[str | None]) -> Floats:
    """Degree centrality in the graph whose edges weigh the Jaccard similarity of two texts.

    cᵢ = mean over j ≠ i of jaccard(i, j), over those who have said something; 0 for who has not, or is alone.

    Args:
        texts: What each has said last, None where nothing.

    Returns:
        (len(texts),) in [0, 1].
    """
    found = np.zeros(len(texts))
    spoken = [index for index, text in enumerate(texts) if text is not None]
    grams = {index: ngrams(texts[index] or "") for index in spoken}
    for index in spoken:
        others = [jaccard(grams[index], grams[other]) for other in spoken if other != index]
        found[index] = sum(others) / len(others) if others else 0.0
    return found
