"""Episodes that read answers themselves, and those that know how they are won."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from counting import CountingEpisode, CountingGame, LineSampler, text

from mage.chance import SeededDice
from mage.errors import GameError
from mage.play.actors import PlainActor, RandomActor
from mage.play.game import Guided
from mage.play.games import make_game
from mage.play.games.guided import GuidedGame
from mage.play.memories import make_memory
from mage.play.records import Task
from mage.play.trial import play_trial

TASK = Task(0, 0, "", 1, "replay", 3)


def played(game, actor, task=TASK):
    memory = make_memory("none")
    return asyncio.run(play_trial(task, 0, game=game, opponent=None, actor=actor, memory=memory))


def test_an_answer_is_what_the_episode_reads_in_it():
    lines = [
        "<action>Up,  LEFT</action>",
        "<action>fly</action>",
        "<action>down</action>",
        "<action>up up up up</action>",
    ]
    sampler = LineSampler(lines, 100_000)
    game = make_game("sokoban:boxes=1", "natural")
    trial = played(game, PlainActor(sampler, max_action_tokens=40, max_remark_tokens=40))
    assert [(turn.said, turn.legal) for turn in trial.turns] == [
        ("up, left", True),
        ("fly", False),
        ("down", True),
        ("up up up up", False),
    ]
    assert trial.episodes[0].forfeited
    context = text(trial.contexts[0])
    assert "one to 3 of up, down, left, right (separated by commas)" in context
    assert "up, up, down" not in context  # the list of all answers is not shown


def test_an_oracle_plays_the_best_action_and_no_other():
    game = GuidedGame(make_game("sokoban:boxes=1"))
    episode = asyncio.run(game.start(SeededDice(3)))
    assert len(episode.legal()) == 1
    for seed in range(20):
        assert played(game, RandomActor(), replace(TASK, seed=seed)).episodes[0].reward == 1
    mines = GuidedGame(make_game("minesweeper:turns=36"))
    assert not isinstance(mines, Guided)
    assert played(mines, RandomActor(reports=True)).episodes[0].outcome == "clear"
    assert mines.units == "boards cleared per episode"


def test_games_that_an_oracle_cannot_play_are_refused():
    with pytest.raises(GameError, match="kuhn_poker has 2 seats: an oracle plays games of one"):
        GuidedGame(make_game("kuhn_poker"))
    with pytest.raises(GameError, match="does not say how it is won: no oracle can play it"):
        asyncio.run(GuidedGame(CountingGame()).start(SeededDice(0)))


class PartlyEpisode(CountingEpisode):
    """Pays a part of 1 for every step up; it is won at the goal only. Holds something until it is closed."""

    def __init__(self, goal, log, breaks):
        super().__init__(goal)
        self.log, self.breaks = log, breaks

    async def step(self, action):
        if self.breaks:
            raise OSError("gone")
        await super().step(action)

    def returns(self):
        return (self.count / 10,)

    def won(self):
        return self.count == self.goal

    async def close(self):
        self.log.append(self.over)


class PartlyGame(CountingGame):
    def __init__(self, breaks=False):
        self.log, self.breaks = [], breaks

    async def start(self, dice):
        return PartlyEpisode(2, self.log, self.breaks)


def test_an_episode_of_partial_scores_says_whether_it_was_won():
    said = ["up", "stop", "up", "up"]
    game = PartlyGame()
    sampler = LineSampler([f"<action>{word}</action>" for word in said], 100_000)
    trial = played(game, PlainActor(sampler, max_action_tokens=40, max_remark_tokens=40), replace(TASK, episodes=2))
    assert [(episode.reward, episode.result) for episode in trial.episodes] == [(0.1, "lost"), (0.2, "won")]
    assert game.log == [True, True]  # each closed once, after its end


def test_an_episode_gives_back_what_it_holds_when_its_trial_fails():
    game = PartlyGame(breaks=True)
    with pytest.raises(OSError, match="gone"):
        played(game, RandomActor())
    assert game.log == [False]
