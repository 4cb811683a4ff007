"""Tips in a trial: shown at every turn, and a second record of the trial in which they never were."""

from __future__ import annotations

import asyncio

from counting import CountingGame, LineSampler, text

from mage.play.actors import PlainActor
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.records import Task
from mage.play.trial import TrialSettings, play_trial
from mage.recipe import RecallSection

UP, STOP, TIP = "<action>up</action>", "<action>stop</action>", "<remark>go up</remark>"


class Goal:
    def __init__(self, goal):
        self.goal = goal

    def pick(self, weights):
        return self.goal - 1

    def seed(self):
        return 0


def play(memory, lines, *, episodes=1, goal=2, group=0, aided=True, length=10_000, **rules):
    """A trial of counting up to `goal`."""
    sampler = LineSampler(lines, length)
    return asyncio.run(
        play_trial(
            Task(group, 0, "", episodes, "redeal", 7),
            0,
            game=CountingGame(),
            opponent=None,
            actor=PlainActor(sampler, max_action_tokens=30, max_remark_tokens=40),
            memory=memory,
            settings=TrialSettings(**rules),
            dice=lambda kind, episode: Goal(goal),
            aided=aided,
        )
    )


def tips():
    return make_memory("tips", RecallSection(scope="game", least=-1.0))


def read(trial):
    return [text(context) for context in trial.contexts]


def test_the_first_trial_has_no_tips_and_its_twin_reads_the_same():
    memory = tips()
    trial = play(memory, [UP, UP, TIP])
    assert read(trial) == [f"{{R}}[ep1 at 0]{UP}.[at 1]{UP}.[goal 2 count 2 reflect]{TIP}"]
    assert trial.unaided is not None
    assert trial.unaided.contexts == trial.contexts
    assert trial.unaided.turns == trial.turns


def test_tips_stand_before_each_message_and_the_twin_never_saw_them():
    memory = tips()
    play(memory, [UP, UP, TIP])
    memory.settle(memory.shelf.pending)
    trial = play(memory, [UP, STOP, "<remark>why</remark>"], group=1)
    twin = trial.unaided
    remark = "[goal 2 count 1 reflect]<remark>why</remark>"
    assert read(trial) == [f"{{R}}[tip go up ep1 at 0]{UP}.[tip go up at 1]{STOP}.{remark}"]
    assert read(twin) == [f"{{R}}[ep1 at 0]{UP}.[at 1]{STOP}.{remark}"]
    assert twin.unaided is None
    for turn, other in zip(trial.turns, twin.turns, strict=True):  # the same answers, elsewhere
        assert trial.contexts[0][turn.start : turn.stop] == twin.contexts[0][other.start : other.stop]
        assert turn._replace(start=0, stop=0) == other._replace(start=0, stop=0)
    assert [turn.start - other.start for turn, other in zip(trial.turns, twin.turns, strict=True)] == [10, 20, 20]


def test_without_aid_there_are_no_tips_and_no_twin():
    memory = tips()
    play(memory, [UP, UP, TIP])
    memory.settle(memory.shelf.pending)
    trial = play(memory, [UP, STOP, TIP], group=1, aided=False)
    assert trial.unaided is None
    assert "tip" not in read(trial)[0]


def test_every_episode_leaves_a_tip_in_training_and_the_last_none_where_it_is_measured():
    lines = [UP, UP, TIP, STOP, "<remark>no stop</remark>"]
    trial = play(tips(), lines, episodes=2)
    assert [(turn.phase, turn.episode) for turn in trial.turns if turn.phase == "reflect"] == [
        ("reflect", 0),
        ("reflect", 1),
    ]
    measured = play(tips(), lines, episodes=2, farewell=False)
    assert [turn.episode for turn in measured.turns if turn.phase == "reflect"] == [0]


def test_a_trial_that_stops_at_its_first_success_leaves_a_tip_of_it():
    memory = tips()
    trial = play(memory, [UP, UP, TIP], episodes=3, stop_at_success=True)
    assert trial.turns[-1].said == "go up"
    assert trial.stop == "first_success"
    memory.settle(memory.shelf.pending)
    assert "[tip go up ep1 at 0]" in read(play(memory, [STOP, TIP], group=1))[0]


def test_a_full_context_ends_both_records_alike():
    trial = play(tips(), [UP, UP, TIP], goal=3, length=65)
    assert trial.stop == "context_full"
    assert len(trial.turns) == len(trial.unaided.turns) == 1
    assert trial.episodes[0].forfeited


def test_who_is_shown_no_tips_reads_the_opening_of_an_agent_without_memory():
    def opening(memory, lines, **changes):
        game = make_game("combination_lock:depth=1,symbols=2", "natural")
        sampler = LineSampler(lines)
        actor = PlainActor(sampler, max_action_tokens=30, max_remark_tokens=40)
        task = Task(0, 0, "", 1, "replay", 7)
        trial = asyncio.run(
            play_trial(
                task, 0, game=game, opponent=None, actor=actor, memory=memory, settings=TrialSettings(), **changes
            )
        )
        return read(trial)[0].split("}")[0], trial

    lines = ["<action>a</action>", TIP]
    measured, _ = opening(make_memory("none"), lines)
    plain, _ = opening(tips(), lines, aided=False)
    aided, trial = opening(tips(), lines)
    assert plain == measured != aided
    assert text(trial.unaided.contexts[0]).split("}")[0] == measured
