from itertools import pairwise

import numpy as np
import pytest
from fake_runs import eval_result, metrics_row
from hypothesis import given
from hypothesis import strategies as st

from mage.show.charts import adaptation_figure, column, learning_figure, smooth, svg, trace_figure

ROWS = [metrics_row(k, 30) for k in range(1, 31)]


def test_smoothing_by_hand():
    mean, half = smooth(np.array([1.0, 2.0, 6.0]), np.array([0.3, 0.4, 0.0]), window=3)
    assert mean.tolist() == [1.5, 3.0, 4.0]
    assert half == pytest.approx([1.96 * 0.25, 1.96 * 0.5 / 3, 1.96 * 0.2])


@given(st.lists(st.one_of(st.none(), st.floats(-5, 5)), min_size=1, max_size=30), st.integers(1, 9))
def test_a_running_mean_stays_within_what_it_averages(values, window):
    array = column([{"x": value} for value in values], "x")
    mean, half = smooth(array, np.ones(len(values)), window)
    known = array[np.isfinite(array)]
    shown = mean[np.isfinite(mean)]
    if len(known):
        assert len(shown) >= len(known)
        assert known.min() - 1e-9 <= shown.min() <= shown.max() <= known.max() + 1e-9
        assert (half[np.isfinite(half)] <= 1.96 + 1e-9).all()
    else:
        assert len(shown) == 0


def test_learning_curves_have_a_line_for_each_episode_and_exact_value():
    axes = learning_figure(ROWS, eval_result()["limits"], "chips").axes[0]
    levels = [line.get_ydata()[0] for line in axes.lines if len(line.get_ydata()) == 2]
    assert levels == pytest.approx([0.1111, 0.2423, 0.2778])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["episode 1", "episode 2", "episode 3"]
    assert len(learning_figure(ROWS, None).axes[0].lines) == 3


def test_adaptation_shows_the_payoffs_it_was_given():
    runs = [eval_result(), eval_result(shuffled=True), eval_result(shuffled=True, kind="sampled")]
    axes = adaptation_figure(runs).axes[0]
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["trained agent"] == [0.117, 0.198, 0.242]
    assert lines["remarks shuffled (2 runs)"] == pytest.approx([0.117, 0.104, 0.104])
    assert {text.get_text() for text in axes.texts} == {
        "cannot adapt 0.1111",
        "adaptive optimum 0.2423",
        "opponent known 0.2778",
    }


def test_nothing_is_written_on_the_data_or_on_other_words():
    runs = [eval_result() | {"label": f"method number {number}"} for number in range(4)]
    low = {"payoff": [-9.0, -9.0, -9.0], "interval": [None, None, None]}  # so that the exact values lie close together
    runs[0] = runs[0] | {"pooled": runs[0]["pooled"] | low}
    figure = adaptation_figure(runs)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1
    labels = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(labels))
    assert labels[-1].y1 <= figure.bbox.y1


def test_svg_is_themed_small_and_the_same_each_time():
    text = svg(trace_figure(ROWS, [("entropy", "all tokens")]), "entropy", "Entropy")
    assert text == svg(trace_figure(ROWS, [("entropy", "all tokens")]), "entropy", "Entropy")
    assert text.startswith('<svg role="img" aria-label="Entropy" viewBox="0 0 ')
    for absent in ("http", "<style", "<metadata", "#1d2430", "DejaVu", 'pt"'):
        assert absent not in text
    assert "stroke: var(--s1)" in text
    assert "font-family: var(--font)" in text


def test_a_log_chart_of_zeros_is_drawn():
    rows = [{"iteration": k, "logprob_diff_max": 0.0} for k in (1, 2)]
    assert "<svg" in svg(trace_figure(rows, [("logprob_diff_max", "max")], log=True), "x", "x")
