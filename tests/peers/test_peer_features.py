"""The nine features by hand, and their bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.peers.features import FEATURES, Asked, History, Round, features, standing
from mage.peers.ngrams import centrality, containment, jaccard, ngrams

WORDS = st.lists(st.sampled_from(["red", "fox", "ran", "far", "the", "<answer>x</answer>"]), max_size=6).map(" ".join)


def column(rows, name):
    return rows[:, FEATURES.index(name)]


def history(*peers):
    kept = History(len(peers))
    for entries, asked in zip(kept.asked, peers, strict=True):
        entries.extend(asked)
    return kept


def test_likeness_by_hand():
    """{red, fox, red fox} and {red, fox, ran, red fox, fox ran}: 3 of 5 are shared, 3 of 3 contained."""
    first, second = ngrams("The red fox!"), ngrams("red FOX ran")
    assert (len(first), len(second)) == (3, 5)
    assert (jaccard(first, second), containment(first, second), containment(second, first)) == (0.6, 1.0, 0.6)
    assert jaccard(ngrams(""), ngrams("the")) == 0


def test_centrality_by_hand():
    """Likeness 0.6, 0, 0 among three who spoke: means 0.3, 0.3, 0; who is silent is not in the graph."""
    assert centrality(["red fox", None, "red fox ran", "hen"]) == pytest.approx([0.3, 0, 0.3, 0])
    assert centrality(["red fox", None]) == pytest.approx([0, 0])


def test_standing_by_hand():
    """(1·1 + ½·0 + 0.1) / (1.5 + 0.2)."""
    assert standing([1, 0], [1.0, 0.5]) == pytest.approx(1.1 / 1.7)


def test_all_nine_by_hand():
    """Peer 0 was asked twice in four rounds, peer 1 never, peer 2 twice."""
    same, half = "red fox", "red fox ran"
    asked = history(
        [Asked(half, "hen", True, 1.0), Asked("cow", "red fox", False, 0.0)],
        [],
        [Asked("cow", "dog", True, 1.0), Asked("cow", "red fox ran", True, 1.0)],
    )
    found = features(Round(4, 8, same, "red fox ran"), asked)
    assert found.shape == (3, 9)
    assert column(found, "response_diversity") == pytest.approx([0.4, 1, 0])
    assert column(found, "distinctiveness") == pytest.approx([0.4, 1, 0.4])
    assert column(found, "agreement") == pytest.approx([0.5, 0, 1])
    assert column(found, "relevance") == pytest.approx([1, 0, 1])
    assert column(found, "success") == pytest.approx([1.1 / 2.2, 0.5, 2.1 / 2.2])
    assert column(found, "recent_success") == pytest.approx([1.1 / 2.2, 0.5, 2.1 / 2.2])
    assert column(found, "similar_success") == pytest.approx([(0.36 + 0.1) / (0.36 + 0.2), 0.5, 0.5])
    assert column(found, "round") == pytest.approx([0.5] * 3)
    assert column(found, "times_chosen") == pytest.approx([0.5, 0, 0.5])


def test_only_the_last_answers_count_as_recent():
    """Five failures after five successes: 0.1/5.2 of late, 5.1/10.2 in all; the last three answers are what it says."""
    asked = [Asked("cow", "red fox", False, 1.0)] * 5 + [Asked("cow", "hen", False, 0.0)] * 5
    found = features(Round(10, 20, "red fox", ""), history(asked, []))
    assert column(found, "recent_success")[0] == pytest.approx(0.1 / 5.2)
    assert column(found, "success")[0] == pytest.approx(0.5)
    assert column(found, "relevance")[0] == 0


@given(st.lists(st.lists(st.tuples(WORDS, WORDS, st.booleans(), st.sampled_from([0.0, 1.0])), max_size=8), max_size=4))
def test_features_stay_within_bounds(peers):
    asked = history(*[[Asked(*entry) for entry in entries] for entries in peers], [])
    rounds = sum(map(len, peers))
    found = features(Round(rounds, rounds + 1, "red fox ran", "far"), asked)
    assert found.shape == (len(peers) + 1, len(FEATURES))
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1
