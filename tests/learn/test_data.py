import numpy as np
import pytest
from fake_trials import Act, Ep, Note, play
from hypothesis import given
from hypothesis import strategies as st

from mage.learn.data import Coefficients, StateValues, by_turn, training_data
from mage.play.records import Trial

COEFFICIENTS = Coefficients(entropy_action=0.5, entropy_remark=0.25, kl_action=1.0, kl_remark=2.0)


def test_one_context_by_hand() -> None:
    trial = play([Ep(1.0, [Act(tokens=2)], Note(tokens=1))], one_context=True, planned=1)
    assert trial.contexts == ((1, 1, 100, 101, 1, 1, 200, 2, 2),)
    (datum,), sources = training_data([trial], [np.array([3.0, -4.0])], COEFFICIENTS)
    assert datum.tokens.tolist() == [1, 1, 100, 101, 1, 1, 200]  # the tokens read at the end are cut off
    assert datum.sampled.tolist() == [False, False, True, True, False, False, True]
    assert datum.logprobs.tolist() == [0, 0, -0.25, -0.5, 0, 0, -0.25]
    assert datum.advantages.tolist() == [0, 0, 3, 3, 0, 0, -4]
    assert datum.entropy.tolist() == [0, 0, 0.5, 0.5, 0, 0, 0.25]
    assert datum.kl.tolist() == [0, 0, 1, 1, 0, 0, 2]
    assert sources == [(0, 0)]
    assert {a.dtype for a in (datum.logprobs, datum.advantages, datum.entropy, datum.kl)} == {np.dtype(np.float32)}
    assert datum.tokens.dtype == np.int64


def test_a_context_without_sampled_tokens_gives_no_datum() -> None:
    whole = play([Ep(1.0, [Act()], Note()), Ep(1.0, [Act()])], planned=2)
    padded = Trial(
        whole.task, 0, (whole.contexts[0], *whole.contexts[1:], (9, 9)), whole.turns, whole.episodes, whole.stop
    )
    data, sources = training_data([padded, whole], [np.zeros(3), np.zeros(3)], COEFFICIENTS)
    assert len(data) == 6
    assert sources == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert sources[3].trial == 1
    assert sources[4].context == 1


def test_nothing() -> None:
    assert training_data([], [], COEFFICIENTS) == ([], [])


def test_a_trial_without_turns() -> None:
    data, sources = training_data([play([Ep(1.0, [])]), play([Ep(1.0)])], [np.zeros(0), np.ones(1)], COEFFICIENTS)
    assert len(data) == 1
    assert sources == [(1, 0)]


episodes = st.lists(
    st.builds(
        Ep,
        reward=st.just(0.0),
        acts=st.lists(st.builds(Act, tokens=st.integers(1, 5)), max_size=3),
        note=st.one_of(st.none(), st.builds(Note, tokens=st.integers(1, 5))),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("one_context", [False, True])
@given(made=st.lists(episodes, max_size=4))
def test_masks_cover_exactly_what_was_sampled(one_context: bool, made: list[list[Ep]]) -> None:
    trials = [play(member, one_context=one_context) for member in made]
    advantages = [np.arange(len(t.turns)) + 10.0 * m for m, t in enumerate(trials)]
    data, sources = training_data(trials, advantages, COEFFICIENTS)
    place = dict(zip(sources, data, strict=True))
    for datum in data:
        assert datum.sampled[-1]
        for other in (datum.logprobs, datum.advantages, datum.entropy, datum.kl, datum.sampled):
            assert len(other) == len(datum.tokens)
            assert not other[~datum.sampled].any()
    covered = 0
    for m, trial in enumerate(trials):
        for turn, advantage in zip(trial.turns, advantages[m], strict=True):
            datum, span = place[(m, turn.context)], slice(turn.start, turn.stop)
            assert tuple(datum.tokens[span]) == trial.contexts[turn.context][span]
            assert datum.sampled[span].all()
            assert tuple(datum.logprobs[span]) == turn.logprobs
            assert (datum.advantages[span] == advantage).all()
            assert (datum.kl[span] == (2 if turn.phase == "reflect" else 1)).all()
            covered += turn.stop - turn.start
    assert covered == sum(datum.sampled.sum() for datum in data)


def test_states_are_where_turns_begin() -> None:
    trial = play([Ep(1.0, [Act(tokens=2), Act(tokens=1)], Note(tokens=1)), Ep(1.0, [Act(tokens=3)])])
    blank = [np.zeros(len(trial.turns))]
    old, target = np.array([1.0, 2, 3, 4]), np.array([5.0, 6, 7, 8])
    values = StateValues([old, -old], [target, -target], [np.ones(4, np.bool_)] * 2)
    data, _ = training_data([trial, trial], blank * 2, COEFFICIENTS, values)
    found = [datum.values for datum in data]
    assert all(points is not None for points in found)
    for datum, points in zip(data, found, strict=True):
        assert datum.sampled[points.at].all()
        assert not datum.sampled[points.at - 1].any()  # these turns have something read between them
    assert np.concatenate([points.old for points in found]).tolist() == [1, 2, 3, 4, -1, -2, -3, -4]
    assert np.concatenate([points.target for points in found]).tolist() == [5, 6, 7, 8, -5, -6, -7, -8]
    assert [turns.tolist() for turns in by_turn([trial, trial], [points.old for points in found])] == [
        [1, 2, 3, 4],
        [-1, -2, -3, -4],
    ]


def test_states_that_are_not_learned_are_no_value_points() -> None:
    trial = play([Ep(1.0, [Act(), Act()], Note()), Ep(1.0, [Act()], Note())])
    learned = np.array([True, False, False, True, False])
    values = StateValues([np.arange(5.0)], [np.arange(5.0)], [learned])
    points = [datum.values for datum in training_data([trial], [np.zeros(5)], COEFFICIENTS, values).data]
    assert [None if each is None else each.target.tolist() for each in points] == [[0], None, [3], None]


def test_silent_turns_are_sampled_tokens_that_nothing_is_learned_from() -> None:
    trial = play([Ep(1.0, [Act(tokens=2), Act(tokens=1)], Note(tokens=1))], one_context=True, planned=1)
    values = StateValues([np.ones(3)], [np.ones(3)], [np.ones(3, np.bool_)])
    silent = [np.array([True, False, True])]
    (datum,), _ = training_data([trial], [np.array([3.0, 5.0, -4.0])], COEFFICIENTS, values, silent)
    assert datum.tokens.tolist() == [1, 1, 100, 101, 1, 1, 200, 1, 1, 300]
    assert datum.sampled.nonzero()[0].tolist() == [2, 3, 6, 9]
    assert datum.logprobs[datum.sampled].tolist() == [-0.25, -0.5, -0.25, -0.25]
    assert datum.advantages.tolist() == [0, 0, 0, 0, 0, 0, 5, 0, 0, 0]
    assert datum.entropy.tolist() == [0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0]
    assert datum.kl.tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert datum.values is not None
    assert datum.values.at.tolist() == [2, 6, 9]
    assert training_data([], [], COEFFICIENTS, silent=[]) == ([], [])
