from __future__ import annotations

import pytest

from mage.recipe import OptimSection
from mage.run.schedule import schedule


def test_rate_and_bonus_change_linearly():
    optim = OptimSection(lr=1.0, lr_end=0.5, lr_warmup=1, entropy=0.2, entropy_end=0.1, entropy_until=0.5)
    rows = [schedule(optim, iteration, 5) for iteration in range(5)]
    assert [row.lr for row in rows] == [0.5, 0.875, 0.75, 0.625, 0.5]
    assert [row.entropy for row in rows] == pytest.approx([0.2, 0.15, 0.1, 0.1, 0.1])
    assert [row.entropy_remark for row in rows] == [0.0] * 5
    remark = OptimSection(entropy_remark=0.4, entropy_until=0.5)
    assert [schedule(remark, n, 5).entropy_remark for n in range(5)] == pytest.approx([0.4, 0.2, 0, 0, 0])
    assert schedule(OptimSection(lr=1.0, lr_warmup=0), 0, 1).lr == 1.0
    assert schedule(OptimSection(entropy=0.3, entropy_end=0.1, entropy_until=0.0), 0, 5).entropy == 0.1


def test_kl_of_actions_falls_with_the_bonus_to_its_own_end():
    optim = OptimSection(kl_action=0.3, kl_action_end=0.1, entropy_until=0.5)
    assert [schedule(optim, n, 5).kl_action for n in range(5)] == pytest.approx([0.3, 0.2, 0.1, 0.1, 0.1])
    assert [schedule(OptimSection(kl_action=0.3), n, 5).kl_action for n in range(5)] == [0.3] * 5
