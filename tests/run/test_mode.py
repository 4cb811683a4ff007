"""The mode of an iteration: its shares, its seeds, what is learned from."""

from collections import Counter

from mage.play.records import StopReason, Task, Trial
from mage.recipe import HybridSection
from mage.run.mode import PLAIN, Mode, draw_mode


def trial(unaided=None):
    return Trial(Task(0, 0, "", 1, "replay", 0), 0, ((1,),), (), (), StopReason.COMPLETED, unaided)


def test_modes_are_drawn_by_their_probabilities_and_again_from_their_seed():
    hybrid = HybridSection(on_policy=0.083, off_policy=0.167)
    modes = Counter(draw_mode(hybrid, 0, index) for index in range(6000))
    assert abs(modes[Mode(False, False)] / 6000 - 0.75) < 0.02
    assert abs(modes[Mode(True, False)] / 6000 - 0.083) < 0.02
    assert abs(modes[Mode(True, True)] / 6000 - 0.167) < 0.02
    drawn = [draw_mode(hybrid, 1, index) for index in range(50)]
    assert drawn == [draw_mode(hybrid, 1, index) for index in range(50)]
    assert drawn != [draw_mode(hybrid, 2, index) for index in range(50)]
    assert draw_mode(HybridSection(), 0, 3) == PLAIN
    assert draw_mode(HybridSection(off_policy=1.0), 0, 3) == Mode(True, True)


def test_off_policy_learns_from_the_trial_without_help_where_there_is_one():
    without = trial()
    helped, alone = trial(unaided=without), trial()
    assert Mode(True, True).learned([helped, alone]) == [without, alone]
    assert Mode(True, False).learned([helped, alone]) == [helped, alone]
