import numpy as np
import pytest

from mage.engine.base import Datum, TokenScores
from mage.learn.exploration import entropy_advantage


def datum(advantages: list[float]) -> Datum:
    size = len(advantages)
    blank = np.zeros(size, np.float32)
    return Datum(np.arange(size), np.arange(size) > 0, blank, np.array(advantages, np.float32), blank, blank)


def test_entropy_advantage_by_hand() -> None:
    # 0.4·H = 0.2, 0.2, 0.2, 0.8, 0.2 against |A| / 2 = 0.5, 0.5, 0.05, 0.5, 0
    entropies = np.array([0, 0.5, 0.5, 0.5, 2.0, 0.5], np.float32)
    given = [datum([0, 1, -1, 0.1, -1, 0])]
    scores = [TokenScores(np.zeros(6, np.float32), entropies)]
    (shaped,) = entropy_advantage(given, scores)
    assert shaped.advantages.tolist() == pytest.approx([0, 1.2, -0.8, 0.15, -0.5, 0])
    assert shaped.advantages.dtype == np.float32
    assert given[0].advantages.tolist() == pytest.approx([0, 1, -1, 0.1, -1, 0])
    (other,) = entropy_advantage(given, scores, weight=1.0, share=4.0)  # 0.5, 0.5, 0.5, 2 against ¼, ¼, 0.025, ¼
    assert other.advantages.tolist() == pytest.approx([0, 1.25, -0.75, 0.125, -0.75, 0])
