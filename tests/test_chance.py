"""Seeded chance: the published generator, exact replay, and draws with the right probabilities."""

from hypothesis import given
from hypothesis import strategies as st

from mage.chance import GOLDEN, MASK, SeededDice, scramble


def test_dice_are_splitmix64():
    """First outputs of SplitMix64 seeded with 1234567 (the published test vector)."""
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [scramble((1234567 + k * GOLDEN) & MASK) for k in (1, 2, 3)] == outputs
    dice = SeededDice(1234567)
    assert [dice.seed() for _ in outputs] == [output >> 1 for output in outputs]


@given(st.integers(0, 2**63 - 1), st.lists(st.floats(0, 10), min_size=1, max_size=5).filter(any))
def test_a_pick_is_possible_and_replays(seed, weights):
    first, again = SeededDice(seed), SeededDice(seed)
    picks = [first.pick(weights) for _ in range(5)]
    assert picks == [again.pick(weights) for _ in range(5)]
    assert all(weights[pick] > 0 for pick in picks)


def test_picks_have_their_probabilities():
    dice, count, weights = SeededDice(0), 20_000, (1, 0, 5, 2)
    picks = [dice.pick(weights) for _ in range(count)]
    for index, weight in enumerate(weights):
        p = weight / 8
        assert abs(picks.count(index) / count - p) <= 4 * (p * (1 - p) / count) ** 0.5


def test_first_draws_of_neighbouring_seeds_are_independent():
    count = 20_000
    pairs = [(SeededDice(seed).pick((1, 1)), SeededDice(seed + 1).pick((1, 1))) for seed in range(count)]
    for outcome in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert abs(pairs.count(outcome) / count - 0.25) < 4 * (0.25 * 0.75 / count) ** 0.5
