"""The equilibrium opponent: near an equilibrium, mixed, cached."""

import asyncio
import json

import pytest

from mage.chance import SeededDice
from mage.play.game import PolicyOpponent
from mage.play.games import make_game
from mage.play.opponents import equilibrium, make_opponent
from mage.play.opponents.equilibrium import average_policy, exploitability


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def solved(monkeypatch):
    """Counts how often a policy is solved."""
    calls = []
    solve = equilibrium.solve
    monkeypatch.setattr(equilibrium, "solve", lambda *args: calls.append(args) or solve(*args))
    return calls


def positions(node):
    yield node
    for action in node.actions:
        yield from positions(node.child(action))


def test_kuhn_is_near_equilibrium():
    game = make_game("kuhn_poker")
    table = average_policy(game, 1000)
    assert len(table) == 12
    assert exploitability(game, table) < 0.001
    assert exploitability(game, average_policy(game, 1)) > 0.01  # the measure can tell
    jack = {name: dict(mixture) for name, mixture in table.items()}
    # Known of all equilibria of Kuhn poker: J folds to a bet, K calls; second J bluffs and second Q calls 1 in 3 times;
    # first K bets three times as often as first J.
    assert jack["0b"].get(1, 0) < 0.01
    assert jack["2b"][1] > 0.99
    assert jack["0p"][1] == pytest.approx(1 / 3, abs=0.02)
    assert jack["1b"][1] == pytest.approx(1 / 3, abs=0.02)
    assert jack["2"][1] == pytest.approx(3 * jack["0"][1], abs=0.03)


def test_leduc_is_near_equilibrium_and_covers_every_information_state():
    game = make_game("leduc_poker")
    assert exploitability(game, average_policy(game, 60)) < 0.05
    opponent = make_opponent("cfr:iterations=60", game)
    for node in positions(game.root()):
        if node.player >= 0:
            assert sum(probability for _, probability in opponent.policy(node)) == pytest.approx(1)
            assert {action for action, _ in opponent.policy(node)} <= set(node.actions)


def test_the_mixture_is_sampled():
    game = make_game("kuhn_poker")
    opponent = make_opponent("cfr", game)
    assert isinstance(opponent, PolicyOpponent)
    assert opponent.name == "cfr:iterations=1000"
    node = game.root().child(2).child(0).child(0)  # second with J after a check: bluffs a third of the time
    bluff = dict(opponent.policy(node))[1]

    async def share(draws):
        dice = SeededDice(0)
        return sum([await opponent.act(node, dice) for _ in range(draws)]) / draws

    assert asyncio.run(share(4000)) == pytest.approx(bluff, abs=4 * (2 / 9 / 4000) ** 0.5)


def test_solved_once_then_read(own_cache, solved):
    game = make_game("kuhn_poker")
    first = average_policy(game, 50)
    assert average_policy(game, 50) == first
    assert len(solved) == 1
    assert average_policy(game, 51) != first
    assert len(solved) == 2
    assert sorted(path.name for path in own_cache.iterdir()) == [
        "cfr_plus-kuhn_poker-50.json",
        "cfr_plus-kuhn_poker-51.json",
    ]


def spoil_probability(text):
    data = json.loads(text)
    data["policy"]["0"] = [[0, 0.5], [1, 0.5]]
    return json.dumps(data)


def spoil_game(text):
    return json.dumps({**json.loads(text), "game": "leduc_poker()"})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[1, 2]",
        lambda text: "{}",
        spoil_probability,
        spoil_game,
    ],
)
def test_a_damaged_cache_is_solved_anew_and_mended(own_cache, solved, spoil, caplog):
    game = make_game("kuhn_poker")
    good = average_policy(game, 50)
    (path,) = own_cache.iterdir()
    whole = path.read_text()
    path.write_text(spoil(whole))
    assert average_policy(game, 50) == good
    assert len(solved) == 2
    assert "solved anew" in caplog.text
    assert path.read_text() == whole
    assert list(own_cache.iterdir()) == [path]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    table = average_policy(make_game("kuhn_poker"), 10, tmp_path / "file" / "cache")
    assert len(table) == 12
    assert "cannot be written" in caplog.text
