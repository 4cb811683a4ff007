"""A game without a tree, a renderer of one token per character, a sampler that says given lines: all hand-checkable."""

from __future__ import annotations

import asyncio

from mage.engine.base import Sample
from mage.errors import GameError


class CountingEpisode:
    """One seat: say `up` until the count reaches `goal` (drawn by the dice from 1 to 3); `stop` ends with nothing."""

    def __init__(self, goal):
        self.goal, self.count, self.over, self.forfeited = goal, 0, False, False

    @property
    def seat(self):
        return None if self.over else 0

    def observe(self, seat):
        return f"at {self.count}"

    def legal(self):
        return ("up", "stop")

    async def step(self, action):
        if action not in self.legal():
            raise GameError(action)
        await asyncio.sleep(0)
        self.count += action == "up"
        self.over = action == "stop" or self.count == self.goal

    async def forfeit(self, seat):
        self.over = self.forfeited = True

    def returns(self):
        return (-1.0 if self.forfeited else float(self.count == self.goal),)

    def outcome(self, seat):
        return f"goal {self.goal} count {self.count}"


class CountingGame:
    name, seats, has_chance, dialect = "counting", 1, True, "compact"

    def rules(self, seat):
        return "R"

    def vocabulary(self):
        return ("at", "goal", "count", "up", "stop", "0", "1", "2", "3")

    async def start(self, dice):
        return CountingEpisode(1 + dice.pick((1, 1, 1)))

    def facts(self, episode, seat):
        return (f"goal {episode.goal}",)


class CharacterRenderer:
    """`{system}`, `<user>`, and `.` after a response that has not ended with it."""

    def encode(self, text):
        return tuple(map(ord, text))

    def system(self, text):
        return self.encode(f"{{{text}}}")

    def user(self, text):
        return self.encode(f"[{text}]")

    def close(self, sampled):
        return () if sampled[-1:] == (ord("."),) else (ord("."),)


class LineSampler:
    """Says the lines given, in order, and keeps what it was asked."""

    def __init__(self, lines, context_length=10_000):
        self.renderer = CharacterRenderer()
        self.context_length = context_length
        self.lines = iter(lines)
        self.prompts, self.params, self.seeds = [], [], []

    async def sample(self, prompt, params, seed):
        self.prompts.append(text(prompt))
        self.params.append(params)
        self.seeds.append(seed)
        line = next(self.lines)
        stopped = any(end in line for end in params.stop)
        tokens = self.renderer.encode(line)
        return Sample(tokens, tuple(-0.5 for _ in tokens), "stop" if stopped else "length", line)


def text(tokens):
    """The characters that token ids stand for."""
    return "".join(map(chr, tokens))
