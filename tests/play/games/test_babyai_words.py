"""BabyAI without its package: views by hand, walls that can be drawn again from the sentences, what is missing."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.errors import GameError
from mage.play.games import make_game
from mage.play.games.babyai_words import OBJECTS, describe, ended, place, rules, wall_lines

EMPTY = (OBJECTS.index("empty"), 0, 0)
ASIDE = r"(straight ahead|\d to the (?:left|right))"
CELLS = st.sets(st.tuples(st.integers(0, 6), st.integers(-3, 3)).filter(lambda cell: cell != (0, 0)))


def view(things, carried=EMPTY):
    """An observation: cells by (ahead, right), all others empty."""
    image = [[EMPTY] * 7 for _ in range(7)]
    image[3][6] = carried
    for (ahead, right), (kind, colour, state) in things.items():
        image[right + 3][6 - ahead] = (OBJECTS.index(kind), colour, state)
    return {"image": image, "direction": 3, "mission": "open a door"}


def drawn(lines):
    """The wall cells that sentences tell of."""
    cells = set()
    for line in lines:
        if match := re.fullmatch(rf"(?:(\d) steps? ahead|beside you) from {ASIDE} to {ASIDE}", line):
            first, last = (aside(match[group]) for group in (2, 3))
            cells |= {(int(match[1] or 0), right) for right in range(first, last + 1)}
        elif match := re.fullmatch(rf"{ASIDE} from (\d|beside you) to (\d) steps? ahead", line):
            first = 0 if match[2] == "beside you" else int(match[2])
            cells |= {(ahead, aside(match[1])) for ahead in range(first, int(match[3]) + 1)}
        else:
            cells.add(next((a, r) for a in range(7) for r in range(-3, 4) if (a or r) and place(a, r) == line))
    return cells


def aside(words):
    if words == "straight ahead":
        return 0
    count, side = re.fullmatch(r"(\d) to the (left|right)", words).groups()
    return int(count) if side == "right" else -int(count)


@given(CELLS)
def test_walls_can_be_drawn_again(cells):
    assert drawn(wall_lines(cells)) == cells


def test_a_view_by_hand():
    things = {
        (2, -1): ("ball", 0, 0),
        (1, 0): ("door", 2, 1),
        (0, 3): ("door", 5, 0),
        (3, 0): ("door", 4, 2),
        (1, -1): ("wall", 5, 0),
        (1, 1): ("wall", 5, 0),
        (1, 2): ("wall", 5, 0),
        (6, 0): ("unseen", 0, 0),
    }
    assert describe(view(things, carried=(OBJECTS.index("key"), 3, 0)), 7).splitlines() == [
        "Mission: open a door.",
        "You face north and carry a purple key.",
        "You see a closed blue door 1 step ahead; an open grey door 3 steps to the right; a red ball 2 steps ahead and "
        "1 to the left; a locked yellow door 3 steps ahead.",
        "Walls: 1 step ahead from 1 to the right to 2 to the right; 1 step ahead and 1 to the left.",
        "Steps left: 7.",
    ]


def test_nothing_to_see():
    assert describe(view({}), 1).splitlines()[1:4] == [
        "You face north and carry nothing.",
        "You see no objects.",
        "Walls: none in view.",
    ]


def test_how_it_ends():
    assert ended(0.9296875, failed=False, gave_up=False) == "The mission is done. You score 0.930."
    assert ended(0.0, failed=False, gave_up=False) == "No steps are left. You score 0."
    assert ended(0.0, failed=True, gave_up=False) == "You did what the mission does not allow. You score 0."
    assert ended(0.0, failed=False, gave_up=True) == "You gave up. You score 0."


def test_rules_say_the_limit_and_the_length_of_an_answer():
    assert "The steps you have are told;" in rules(None, 1)
    assert "An answer is one action." in rules(None, 1)
    assert "You have 24 steps;" in rules(24, 3)
    assert "one to 3 actions, separated by commas" in rules(24, 3)


def test_without_the_package_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(GameError, match=r"needs the package 'minigrid' .*pip install 'mage-rl\[babyai\]'"):
        make_game("babyai", "natural")


def test_listing_does_not_import_the_package():
    code = (
        "import sys; from mage.play.games import game_names, describe_game, game_extra, game_parameters\n"
        "[(describe_game(n), game_extra(n), game_parameters(n)) for n in game_names()]\n"
        "sys.exit(any(name in sys.modules for name in ('minigrid', 'gymnasium', 'pygame')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
