import re
from html.parser import HTMLParser

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_runs import eval_result, fake_recipe, metrics_row, timings_row

from mage.errors import RunError
from mage.play.records import EpisodeRecord, StopReason, Task, Trial, Turn
from mage.run.folder import RunFolder
from mage.run.trial_file import TrialFile
from mage.show.report import render_report, write_report
from mage.show.trial_view import MOST_TRIALS, choose, spaced_as_in, view_trials

EVIL = '<script>alert("1")</script><img src=x onerror=alert(2)>'
VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Collects what a page would load and run, and checks that tags are balanced."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.scripts, self.handlers, self.tags, self.ids, self.open = [], 0, [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += tag == "script"
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset") and not value.startswith(
                "#"
            ):
                self.loads.append(value)
            if name.startswith("on"):
                self.handlers.append((name, value))
            if name == "id":
                self.ids.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def evil_trial():
    turn = Turn("act", 0, 0, 0, 1, (-0.5,), EVIL, EVIL, EVIL, EVIL, False)
    task = Task(0, 0, EVIL, 1, "redeal", 1)
    record = EpisodeRecord(1.0, "won", EVIL, False, 1)
    return Trial(task, 0, ((1,),), (turn,), (record,), StopReason.COMPLETED)


def test_the_page_loads_nothing_and_is_well_formed(full_run):
    text = render_report(full_run)
    page = Page(text)
    assert page.open == []
    assert page.loads == page.handlers == []
    assert page.scripts == 1
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert "url(http" not in text
    assert not set(page.tags) & {"link", "img", "iframe", "object", "embed"}
    assert len(page.ids) == len(set(page.ids))
    assert len(text) < 1_000_000


def test_the_page_shows_what_was_measured(full_run):
    text = render_report(full_run)
    for shown in ("0.242", "0.1111 → 0.2423", "trained agent", "remarks shuffled"):
        assert shown in text
    assert "<strong>100%</strong>" in text  # (0.242 - 0.1111) / (0.2423 - 0.1111)
    assert "122,880" in text  # trials trained on
    assert "3.6M" in text  # tokens sampled
    assert "2m 24s" in text  # training time
    assert text.count('<details class="trial"') == MOST_TRIALS
    assert re.search(r'<tr class="changed"><th scope="row">population.train</th><td>conservative \(1\)', text)
    assert '<tr><th scope="row">seed</th>' in text


def test_the_page_is_the_same_each_time(full_run):
    assert render_report(full_run) == render_report(full_run)
    assert write_report(full_run).read_text(encoding="utf-8") == render_report(full_run)


@pytest.mark.parametrize("texts", [None, lambda tokens: [EVIL for _ in tokens]])
def test_what_a_model_wrote_is_never_markup(tmp_path, texts):
    folder = RunFolder.create(fake_recipe(iterations=1), tmp_path / "run")
    TrialFile(folder.trials_file(1)).write([(evil_trial(), [1.0])], texts)
    result = eval_result()
    result["opponents"] = {EVIL: result["opponents"]["aggressive"]}
    result["why_not_exact"] = result["label"] = EVIL
    folder.write_eval("default", result)
    text = render_report(folder)
    page = Page(text)
    assert page.scripts == 1
    assert page.handlers == []
    assert page.loads == []
    assert "&lt;script&gt;alert" in text
    assert text.count(EVIL) == 0


def damaged(key, value, *, of="pooled"):
    result = eval_result()
    part = result if of is None else result[of]
    if value is None:
        del part[key]
    else:
        part[key] = value
    return result


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (damaged("units", None, of=None), "units is missing"),
        (damaged("shuffle_remarks", None, of=None), "shuffle_remarks is missing"),
        (damaged("pooled", "x", of=None), "pooled = 'x': should be"),
        (damaged("limits", {}, of=None), "limits.non_adaptive is missing"),
        (damaged("adaptive", "x", of="limits"), "limits.adaptive = 'x': should be a valid number"),
        (damaged("adaptive_by_episodes", [0.1], of="limits"), "limits: adaptive_by_episodes should have 3 entries"),
        (damaged("payoff", "x"), "pooled.payoff = 'x': should be a valid list"),
        (damaged("payoff", ["x", 1, 2]), "pooled.payoff.0 = 'x': should be a valid number"),
        (damaged("payoff", []), "pooled: payoff has 0 entries; expected 3, one an episode"),
        (damaged("interval", [[0, 1], None, [0]]), "pooled.interval.2.1 is missing"),
        (damaged("episodes", "3", of=None), "episodes = '3': should be a valid integer"),
    ],
)
def test_a_damaged_evaluation_is_named_with_its_key(result, words, tmp_path):
    folder = RunFolder.create(fake_recipe(), tmp_path / "run")
    folder.write_eval("held_out", result)
    with pytest.raises(RunError, match=f"held_out.json: {words}"):
        render_report(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"payoff": "x"}, "metrics.jsonl: line 2: payoff = 'x': should be a valid list"),
        ({"payoff": [0.1]}, "metrics.jsonl: line 2: payoff has 1 entries; expected 3"),
        ({"entropy": [1]}, "metrics.jsonl: line 2: entropy = .1.: should be a valid number"),
        ({"trials": None}, "metrics.jsonl: line 2: trials = None: should be a valid integer"),
    ],
)
def test_a_damaged_row_of_metrics_is_named_with_its_key(change, words, tmp_path):
    folder = RunFolder.create(fake_recipe(), tmp_path / "run")
    folder.append_metrics(metrics_row(1, 2))
    folder.append_metrics(metrics_row(2, 2) | change)
    with pytest.raises(RunError, match=words):
        render_report(folder)


def test_a_damaged_row_of_timings_is_named_with_its_key(tmp_path):
    folder = RunFolder.create(fake_recipe(), tmp_path / "run")
    folder.append_timings(timings_row(1) | {"seconds": None})
    with pytest.raises(RunError, match=r"timings.jsonl: line 1: seconds = None: should be a valid number; remove that"):
        render_report(folder)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"a": [1]}, "column 'trial' is missing, not int32"),
        ({"trial": ["x"]}, "column 'trial' is string, not int32"),
    ],
)
def test_a_parquet_file_of_something_else_is_named(table, words, tmp_path):
    folder = RunFolder.create(fake_recipe(), tmp_path / "run")
    pq.write_table(pa.table(table), folder.trials_file(1))
    with pytest.raises(RunError, match=f"iteration_000001.parquet: not trials of a run: {words}"):
        render_report(folder)


def test_words_keep_their_spaces():
    assert spaced_as_in("a  b", ["a", " ", " b"]) == ["a", " ", " b"]  # a tokenizer that keeps them
    assert spaced_as_in("ab c", ["x", "ab", "c"]) == ["x", "ab", " c"]  # what is not there is left as it is
    assert "".join(spaced_as_in("<remark> bet Q\n</remark>", ["<remark>", "bet", "Q", "</remark>"])) == (
        "<remark> bet Q\n</remark>"
    )


def test_two_results_that_show_the_same_are_one_line(full_run, tmp_path):
    folder = RunFolder.create(fake_recipe(), tmp_path / "run")
    folder.write_eval("default", eval_result())
    folder.write_eval("seed_3", eval_result())
    folder.append_metrics(metrics_row(1, 1))
    text = render_report(folder)
    assert "2 runs" not in text
    assert "Shading: from the lowest payoff" in text
    assert "Exact values are those of an agent that knows this pool" in text


def test_an_empty_run_has_a_page_too(tmp_path):
    text = render_report(RunFolder.create(fake_recipe(), tmp_path / "run"))
    assert "Nothing has been trained or evaluated yet" in text
    assert "Not evaluated yet" in text
    assert Page(text).open == []


def test_missing_numbers_are_shown_as_missing(tmp_path):
    folder = RunFolder.create(fake_recipe(iterations=1), tmp_path / "run")
    row = metrics_row(1, 1) | {"payoff": [0.1, None, None], "payoff_sem": [0.1, None, None]}
    folder.append_metrics(row)
    folder.append_timings(timings_row(1))
    result = eval_result(kind="sampled") | {"limits": None, "iteration": None}
    for key, value in (("payoff", [0.1, 0.2, None]), ("interval", [[0, 1], [0, 1], None]), ("won", [1.0, 0.5, None])):
        result["pooled"][key] = value
    folder.write_eval("default", result)
    text = render_report(folder)
    assert "<b>–</b>" in text
    assert Page(text).open == []


def test_the_sample_shows_every_kind_before_it_repeats_one(full_run):
    def kind(turns):
        return (turns[0]["opponent"], *{turn["episode"]: turn["result"] for turn in turns}.values())

    trials = TrialFile(full_run.newest_trials()).read()
    kinds = {kind(turns) for turns in trials}
    assert len(kinds) < MOST_TRIALS < len(trials)
    seen = [kind(turns) for turns in choose(trials)]
    assert set(seen[: len(kinds)]) == kinds
    assert len(seen) == MOST_TRIALS


def test_colours_are_relative_to_the_largest_advantage(full_run):
    views = view_trials(TrialFile(full_run.newest_trials()).read())
    tokens = [t for v in views for e in v.episodes for turn in (*e.acts, *e.reflections) for t in turn.tokens]
    assert max(token.strength for token in tokens) == 1.0
    assert {token.sign for token in tokens} == {"pos", "neg"}
    assert all(len(view.episodes) == 3 for view in views)
    assert all(len(episode.reflections) == (episode.number < 3) for view in views for episode in view.episodes)
