from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mage.engine.local import LocalEngine
from mage.engine.tiny import tiny_model, tiny_tokenizer

WORDS = tuple("abcdefghijklmnopqrstuvwxyz")


def build(architecture: str = "llama", seed: int = 0, **options: Any) -> LocalEngine:
    tokenizer = tiny_tokenizer(WORDS)
    model = tiny_model(len(tokenizer), hidden=32, layers=2, heads=2, architecture=architecture, pad_token=0, seed=seed)
    return LocalEngine(model, tokenizer, **options)


@pytest.fixture
def make_engine() -> Callable[..., LocalEngine]:
    return build


@pytest.fixture
def engine() -> LocalEngine:
    return build()
