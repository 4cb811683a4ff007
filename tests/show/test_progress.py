import io
import json

import pytest
from fake_runs import fake_recipe, metrics_row, timings_row
from rich.console import Console

from mage.run.folder import RunFolder
from mage.run.progress import Silent
from mage.show.live import RichProgress, payoff_table, sparkline
from mage.show.progress import JsonProgress, PlainProgress, Rate, choose_progress


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(fake_recipe(iterations=100), tmp_path / "run")


def drive(sink, folder, count):
    sink.start(folder.recipe, folder)
    sink.note("base model built")
    for iteration in range(1, count + 1):
        sink.iteration(metrics_row(iteration, 100), timings_row(iteration))
    sink.done()
    sink.done()


def test_json_is_one_object_a_line(folder):
    stream = io.StringIO()
    drive(JsonProgress(stream), folder, 2)
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [row["event"] for row in rows] == ["start", "note", "iteration", "iteration", "end"]
    assert rows[0]["run"] == str(folder.path)
    assert rows[2]["metrics"] == metrics_row(1, 100)
    assert rows[3]["timings"]["iteration"] == 2


def test_plain_lines_come_now_and_then_and_at_the_end(folder):
    stream = io.StringIO()
    seconds = iter(range(0, 1000, 4))
    drive(PlainProgress(stream, every=10, clock=lambda: next(seconds)), folder, 100)
    lines = stream.getvalue().splitlines()
    numbers = [line.split()[1] for line in lines[2:]]
    assert numbers[:3] == ["1/100", "4/100", "7/100"]
    assert numbers[-1] == "100/100"
    assert "25,000 tokens/s  left 1m 59s" in lines[2]
    assert "left 0s" in lines[-1]


def test_the_curve_of_a_resumed_run_has_each_iteration_once(folder):
    for iteration in range(1, 8):  # killed after 7, the last checkpoint was at 5
        folder.append_metrics(metrics_row(iteration, 100))
    display = RichProgress(Console(file=io.StringIO(), force_terminal=True))
    display.start(folder.recipe, folder)
    for iteration in (6, 7, 8):
        display.iteration(metrics_row(iteration, 100), timings_row(iteration))
    display.done()
    assert display._last_payoffs == [metrics_row(iteration, 100)["payoff"][-1] for iteration in range(1, 9)]


def test_the_live_display_shows_what_matters(folder):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=110, color_system=None)
    drive(RichProgress(console), folder, 40)
    shown = stream.getvalue()
    assert "iteration 40/100" in shown
    assert "25,000 tokens/s" in shown
    assert "1m 12s left" in shown
    for name in ("conservative", "aggressive", "intermediate", "episode 3", "base model built"):
        assert name in shown
    payoff = metrics_row(40, 100)["payoff"][2]
    assert f"{payoff:.3f} ± 0.059" in shown
    assert f"{payoff:.3f} ± 0.098" in shown  # of the first opponent, which has the pooled payoff


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("episodes", [3, 10])
def test_each_opponent_has_one_line_with_whole_numbers(width, episodes):
    row = metrics_row(40, 100)
    names = ["conservative", "rps_bots:LEANING:throws=scissors,share=0.8"]
    row |= {
        "payoff": [-0.25] * episodes,
        "payoff_sem": [0.03] * episodes,
        "payoff_by_opponent": dict.fromkeys(names, [-0.125] * episodes),
        "payoff_sem_by_opponent": dict.fromkeys(names, [0.05] * episodes),
    }
    console = Console(file=io.StringIO(), width=width)
    console.print(payoff_table(row, width))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 4
    assert all(len(line) <= width for line in lines)
    assert "rps_bots:LEANING" in lines[2]
    assert lines[1].count("-0.125 ± 0.098" if episodes == 3 else "-0.125") == lines[0].count("episode")
    assert "episode 1 " in lines[0]
    assert f"episode {episodes}" in lines[0]


def test_the_display_fits_where_it_is_shown():
    assert isinstance(choose_progress(json=True), JsonProgress)
    assert isinstance(choose_progress(json=False, console=Console(file=io.StringIO())), PlainProgress)
    terminal = Console(file=io.StringIO(), force_terminal=True)
    assert isinstance(choose_progress(json=False, console=terminal), RichProgress)


def test_silent_is_silent(folder, capfd):
    drive(Silent(), folder, 3)
    assert capfd.readouterr() == ("", "")


def test_time_left_follows_recent_iterations():
    rate = Rate()
    rate.add(1.0)
    assert rate.left(10) == 10.0
    rate.add(2.0)
    assert rate.left(10) == pytest.approx(11.0)


def test_a_sparkline_is_no_wider_than_asked():
    assert len(sparkline([float(k) for k in range(1000)], 60)) <= 60
    assert sparkline([1.0, 1.0], 60) == "▁▁"
