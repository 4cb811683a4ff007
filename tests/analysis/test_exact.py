from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kuhn_tables import AGGRESSIVE, CONSERVATIVE, INTERMEDIATE, MIXED, POOL

from mage.analysis.exact import NotEnumerableError, enumerate_trials, payoffs, pool, recurring, shares_of
from mage.analysis.shuffled import remark_distributions, remarks_of, shared_chance, shuffled
from mage.chance import SeededDice
from mage.errors import MageError
from mage.play.actors import Response, SilentRenderer
from mage.play.game import CHANCE, TERMINAL
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.opponents import make_opponent
from mage.play.records import EpisodeRecord, StopReason, Task, Trial
from mage.play.trial import play_trial

KUHN = make_game("kuhn_poker")


def trials_of(play, limit=10_000):
    return asyncio.run(enumerate_trials(play, limit=limit))


def test_a_coin_and_a_die():
    async def play(dice):
        return dice("deal", 0).pick([1, 1]), dice("opponent", 0).pick([1] * 6)

    trials = trials_of(play)
    assert [outcome for _, outcome in trials] == [(c, d) for c in (0, 1) for d in range(6)]
    assert [probability for probability, _ in trials] == pytest.approx([1 / 12] * 12)


def test_impossible_outcomes_are_not_played():
    async def play(dice):
        return dice("deal", 0).pick([0, 3, 0, 1, 0])

    assert trials_of(play) == [(0.75, 1), (0.25, 3)]


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_probabilities_are_those_of_independent_picks(weights):
    async def play(dice):
        return tuple(dice("deal", episode).pick(row) for episode, row in enumerate(weights))

    trials = trials_of(play)
    assert sum(probability for probability, _ in trials) == pytest.approx(1)
    assert len({outcome for _, outcome in trials}) == len(trials)
    for probability, outcome in trials:
        expected = 1.0
        for index, row in zip(outcome, weights, strict=True):
            expected *= row[index] / sum(row)
        assert probability == pytest.approx(expected)


def test_the_same_dice_again_repeat_their_picks():
    async def play(dice):
        first, second = dice("deal", 0), dice("deal", 0)
        return first.pick([1, 2]), second.pick([1, 2]), first.pick([1, 1]), second.pick([1, 1])

    trials = trials_of(play)
    assert [outcome for _, outcome in trials] == [(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 0, 0), (1, 1, 1, 1)]
    assert [probability for probability, _ in trials] == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3])


def test_repeated_picks_with_other_weights_follow_seeded_dice():
    """One number u decides both: u < .3, .3 ≤ u < .5, u ≥ .5."""

    async def play(dice):
        return dice("deal", 0).pick([0.5, 0.5]), dice("deal", 0).pick([0.3, 0.7])

    trials = trials_of(play)
    assert [outcome for _, outcome in trials] == [(0, 0), (0, 1), (1, 1)]
    assert [probability for probability, _ in trials] == pytest.approx([0.3, 0.2, 0.5])
    drawn = Counter((SeededDice(seed).pick([0.5, 0.5]), SeededDice(seed).pick([0.3, 0.7])) for seed in range(2000))
    assert [drawn[outcome] / 2000 for _, outcome in trials] == pytest.approx([0.3, 0.2, 0.5], abs=0.04)


def kuhn_trial(opponent, seat, episodes, restart="redeal", pause=asyncio.sleep):
    """Payoffs of an agent that bets the first time it may, and else calls with Q and K."""

    async def play(dice):
        dice = recurring(dice, restart)
        rewards = []
        for number in range(episodes):
            episode = await KUHN.start(dice("deal", number))
            rolls = dice("opponent", number)
            while episode.seat is not None:
                state = episode.state
                if episode.seat == seat:
                    await pause(0)
                    action = int(1 not in state.history[2:] or state.history[seat] > 0)
                else:
                    action = await opponent.act(state, rolls)
                await episode.step(KUHN.action_name(state, action))
            rewards.append(episode.returns()[seat])
        return tuple(rewards)

    return play


def tree_value(state, opponent, seat):
    """The same agent's expected payoff by walking the tree."""
    if state.player == TERMINAL:
        return state.returns[seat]
    if state.player == CHANCE:
        moves = zip(state.actions, state.chance, strict=True)
    elif state.player == seat:
        moves = [(int(1 not in state.history[2:] or state.history[seat] > 0), 1.0)]
    else:
        moves = opponent.policy(state)
    return sum(p * tree_value(state.child(a), opponent, seat) for a, p in moves if p > 0)


def test_three_redealt_hands_against_a_pool_are_1296_trials():
    results = {(opponent.name, seat): trials_of(kuhn_trial(opponent, seat, 3)) for opponent in POOL for seat in (0, 1)}
    found = pool(results, {"conservative": 1, "aggressive": 1, "intermediate": 2}, lambda rewards: rewards)
    assert found.trials == 1296
    value = {(o.name, seat): tree_value(KUHN.root(), o, seat) for o in POOL for seat in (0, 1)}
    for pair, expected in value.items():
        assert found.by_pair[pair] == pytest.approx([expected] * 3)
    assert found.by_opponent["aggressive"] == pytest.approx([(value["aggressive", 0] + value["aggressive", 1]) / 2] * 3)
    seat = (value["conservative", 1] + value["aggressive", 1] + 2 * value["intermediate", 1]) / 4
    assert found.by_seat[1] == pytest.approx([seat] * 3)
    assert found.pooled == pytest.approx([(found.by_seat[0][0] + found.by_seat[1][0]) / 2] * 3)


@pytest.mark.parametrize("seat", [0, 1])
def test_mixed_opponents_are_played_by_their_probabilities(seat):
    trials = trials_of(kuhn_trial(MIXED, seat, 2))
    assert sum(probability for probability, _ in trials) == pytest.approx(1)
    expected = tree_value(KUHN.root(), MIXED, seat)
    for episode in (0, 1):
        assert sum(p * rewards[episode] for p, rewards in trials) == pytest.approx(expected)


def test_a_replayed_deal_is_not_dealt_again():
    trials = trials_of(kuhn_trial(INTERMEDIATE, 0, 3, "replay"))
    assert len(trials) == 6
    assert all(len(set(rewards)) == 1 for _, rewards in trials)
    mixed = trials_of(kuhn_trial(MIXED, 0, 2, "replay"))
    assert any(first != second for _, (first, second) in mixed), "what the opponent draws is fresh"


def test_branches_run_at_the_same_time():
    """A sampler that answers whatever has come in by the next turn of the loop: few batches for many decisions."""
    batches = []
    waiting = []

    async def decide(_):
        loop = asyncio.get_running_loop()
        if not waiting:
            loop.call_later(0.005, answer)
        waiting.append(loop.create_future())
        await waiting[-1]

    def answer():
        batches.append(len(waiting))
        for future in waiting:
            future.set_result(None)
        waiting.clear()

    assert len(trials_of(kuhn_trial(CONSERVATIVE, 0, 3, pause=decide))) == 216
    assert sum(batches) == 648
    assert len(batches) <= 20
    assert max(batches) > 100


def test_too_many_trials_are_refused():
    with pytest.raises(NotEnumerableError, match="more than 215 different trials"):
        trials_of(kuhn_trial(AGGRESSIVE, 0, 3), limit=215)
    assert len(trials_of(kuhn_trial(AGGRESSIVE, 0, 3), limit=216)) == 216


def test_a_generator_of_its_own_is_refused():
    async def play(dice):
        return dice("opponent", 1).seed()

    with pytest.raises(NotEnumerableError, match="opponent of episode 2 uses a generator of its own"):
        trials_of(play)


def test_play_that_does_not_repeat_is_refused():
    turns = iter([[1, 1], [1, 1, 1], [1, 1, 1]])

    async def play(dice):
        return dice("deal", 0).pick(next(turns))

    with pytest.raises(MageError, match="choice 1 had 2 outcomes when first played and 3 now"):
        trials_of(play)


def test_an_error_in_a_trial_is_said_with_its_place():
    async def play(dice):
        if dice("deal", 0).pick([1, 1]):
            raise ZeroDivisionError("here")

    with pytest.raises(MageError, match=r"a trial failed: ZeroDivisionError: here \(test_exact.py, line \d+\)"):
        trials_of(play)


@pytest.mark.parametrize("weights", [[-1.0, 2.0], [float("nan"), 0.5]])
def test_weights_that_are_no_probabilities_are_refused(weights):
    async def play(dice):
        dice("deal", 0).pick(weights)

    with pytest.raises(MageError, match="the deal of episode 1 has probabilities"):
        trials_of(play)


def trial(*rewards, won=()):
    task = Task(0, 0, "x", len(rewards), "redeal", 0)
    records = tuple(
        EpisodeRecord(reward, "won" if i in won else "lost", "", False, 1) for i, reward in enumerate(rewards)
    )
    return Trial(task, 0, (), (), records, StopReason.COMPLETED)


def test_pooling_by_hand():
    results = {
        ("a", 0): [(0.5, trial(2.0, 4.0)), (0.5, trial(0.0, 0.0))],
        ("b", 0): [(1.0, trial(-1.0, 6.0, won=[1]))],
    }
    found = pool(results, {"a": 3, "b": 1}, payoffs)
    assert found.by_opponent == {"a": (1.0, 2.0), "b": (-1.0, 6.0)}
    assert found.pooled == (0.5, 3.0)
    assert found.by_seat == {0: (0.5, 3.0)}
    assert found.trials == 3
    assert pool(results, {"a": 3, "b": 1}, shares_of("won")).pooled == (0.0, 0.25)


def test_an_episode_counts_over_the_trials_that_played_it():
    results = {("a", 0): [(0.75, trial(1.0, won=[0])), (0.25, trial(0.0, 2.0))]}
    assert pool(results, {"a": 1}, payoffs).pooled == (0.75, 2.0)


class Bettor:
    """Bets and calls, whatever comes; its remark is the first true fact of the hand."""

    renderer = SilentRenderer()

    def fits(self, length, phase):
        return True

    async def act(self, context, legal, seed):
        return Response((), (), "", "bet")

    async def reflect(self, context, facts, seed):
        return Response((), (), "", facts()[0])


def test_whole_trials_with_their_remarks_kept_and_shuffled():
    """Against the conservative, betting first wins 1, but loses 2 to the K, which it holds in a third of the deals."""

    def player(opponent, laws=None):
        def play(dice):
            task = Task(0, 0, opponent.name, 3, "redeal", 0)
            rooms = shared_chance(dice) if laws else dice
            given = shuffled(rooms, laws) if laws else None
            memory = make_memory("reflection")
            return play_trial(
                task, 0, game=KUHN, opponent=opponent, actor=Bettor(), memory=memory, dice=rooms, given_remark=given
            )

        return play

    opponents = [make_opponent(name, KUHN) for name in ("conservative", "aggressive")]
    results = {(opponent.name, 0): trials_of(player(opponent)) for opponent in opponents}
    found = pool(results, {"conservative": 1, "aggressive": 1}, payoffs)
    assert found.by_opponent["conservative"] == pytest.approx([2 / 3 - 2 / 3] * 3)
    assert found.trials == 432
    laws = remark_distributions(results, {"conservative": 1, "aggressive": 1}, remarks_of)
    assert laws[0] == pytest.approx({"call K": 1 / 3, "fold hidden": 1 / 2, "call Q": 1 / 6})
    again = {(opponent.name, 0): trials_of(player(opponent, laws)) for opponent in opponents}
    assert {pair: len(trials) for pair, trials in again.items()} == dict.fromkeys(results, 6 * 3 * 3)
    assert pool(again, {"conservative": 1, "aggressive": 1}, payoffs).pooled == pytest.approx(found.pooled)
