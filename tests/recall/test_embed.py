from __future__ import annotations

import builtins
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.errors import MageError
from mage.recall.embed import HashedNgrams, make_embedder


@given(st.lists(st.text(max_size=60), max_size=5))
def test_vectors_have_length_one_and_are_the_same_every_time(texts: list[str]) -> None:
    vectors = HashedNgrams(64).embed(texts)
    assert vectors.shape == (len(texts), 64)
    lengths = np.linalg.norm(vectors, axis=1)
    assert all(length == pytest.approx(1, abs=1e-5) or length == 0 for length in lengths)
    assert np.array_equal(HashedNgrams(64).embed(texts), vectors)


def test_order_of_words_matters_a_little_and_case_does_not() -> None:
    same, turned, other = HashedNgrams().embed(["Bet then fold", "fold then bet", "open the red door"])
    again = HashedNgrams().embed(["bet  THEN fold"])[0]
    assert again @ same == pytest.approx(1)
    assert 0.4 < turned @ same < 0.95
    assert abs(other @ same) < 0.2


def test_a_text_without_words_is_like_nothing() -> None:
    assert not HashedNgrams().embed(["", "   "]).any()


def test_what_a_model_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: object, **more: object) -> object:
        if name == "sentence_transformers":
            raise ImportError
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert make_embedder("hashed").name == "hashed-512"
    with pytest.raises(MageError, match="pip install sentence-transformers"):
        make_embedder("some-model")


def test_a_model_that_is_none_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(model: str, device: str) -> None:
        raise OSError(f"{model} is not a local folder\nand no model on the hub")

    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = missing
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    with pytest.raises(MageError, match=r"recall\.embedder = 'nowhere': cannot be opened .* folder and no model"):
        make_embedder("nowhere")
