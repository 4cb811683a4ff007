"""The comparison with the shipped variant in `bench/ablations.py`, by hand."""

import json

import pytest

import ablations

SHIPPED = [[0.1, 0.2], [0.1, 0.4], [0.1, 0.3]]


def test_variants_are_compared_seed_by_seed():
    """Differences −0.1, −0.2, −0.3: mean −0.2, s = 0.1, t_2(.975) = 4.30265, half width 4.30265 · 0.1/√3 = 0.24841."""
    found = ablations.row("other", [[0.0, 0.1], [0.1, 0.2], [0.2, 0.0]], SHIPPED)
    assert found["mean"] == pytest.approx([0.1, 0.1])
    assert found["difference"] == pytest.approx(-0.2)
    assert found["interval"] == pytest.approx([-0.44841, 0.04841], abs=1e-5)
    assert ablations.cells(found) == ["other", "0.1000", "0.1000", "0.100 0.200 0.000", "-0.2000 ± 0.2484"]


def test_one_seed_has_no_interval():
    found = ablations.row("other", [[0.0, 0.1]], SHIPPED[:1])
    assert found["interval"] is None
    assert ablations.cells(found)[-1] == "-0.1000"
    json.dumps(found, allow_nan=False)


def test_the_shipped_one_does_not_differ_from_itself():
    found = ablations.row("shipped", SHIPPED, SHIPPED)
    assert (found["difference"], found["interval"]) == (0, [0, 0])
