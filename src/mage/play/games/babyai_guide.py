"""The oracle of BabyAI: minigrid's `BabyAIBot`, which plays along in a world of its own and is put right when lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mage.play.games.babyai_levels import library

MOST = 60
"""Subgoals that the bot may add before it acts: more and it goes in circles."""
PATIENCE = 5
"""Times in a row that no plan is found until none is looked for: some levels have missions that cannot be done."""
WAITING = 0
"""The action where no plan is found: to turn left, which harms nothing."""


class Plan(list[Any]):
    """The bot's stack of subgoals. Raises RuntimeError where too many are added to it."""

    def __init__(self, subgoals: Sequence[Any]) -> None:
        super().__init__(subgoals)
        self.added = 0

    def append(self, subgoal: Any) -> None:
        """Put a subgoal on top."""
        self.added += 1
        if self.added > MOST:
            raise RuntimeError("the bot goes in circles")
        super().append(subgoal)


class Guide:
    """Advice for one episode.

    The bot reads the whole world, and only as it was before each action: so it has a world of its own, made like the
    agent's, in which it is told what the agent did. An episode that asks for no advice does not pay for it.

    Args:
        world: makes the world of the episode anew.
    """

    def __init__(self, world: Callable[[], Any]) -> None:
        self._world = world()
        self._module = library("minigrid.utils.baby_ai_bot")
        self._bot: Any = None
        self._advice: int | None = None
        self._last: int | None = None
        self._followed = 0
        self._failures = 0

    def advise(self, actions: Sequence[int]) -> int:
        """What to do after `actions`, all that the agent has done so far."""
        for action in actions[self._followed :]:
            self._ask()
            self._world.step(self._world.actions(action))
            self._last, self._advice = action, None
        self._followed = len(actions)
        return self._ask()

    def _ask(self) -> int:
        if self._advice is None:
            self._advice = self._replanned()
        return self._advice

    def _replanned(self) -> int:
        """The bot's advice; where it has none or fails, that of a new one, with errands if it needs them."""
        ways = (self._go_on, self._begin, self._begin_with_errand)
        for way in ways[self._bot is None :] if self._failures < PATIENCE else ():
            try:
                taken = way()
                self._bot.stack.added = 0
                advice = int(self._bot.replan(taken))
            except Exception:  # asserts, its own errors and slips of code that does not foresee what an agent may do
                continue
            if advice == self._world.actions.done and _filled(self._world.grid.get(*self._world.front_pos)):
                advice = int(self._world.actions.toggle)
            if advice != self._world.actions.done:
                self._failures = 0
                return advice
        self._failures += 1
        return WAITING

    def _go_on(self) -> int | None:
        """Leave the bot as it is: it is to be told the last action."""
        return self._last

    def _begin(self) -> None:
        """Take a new bot for what is still to do; it knows what was seen."""
        bot = self._module.BabyAIBot(self._world)
        if self._bot is not None:
            bot.vis_mask |= self._bot.vis_mask
        self._bot = bot
        bot._process_obs()
        bot.stack = Plan(())
        todo = list(_todo(self._world.instrs))
        for instruction in reversed(todo):
            bot._process_instr(instruction)
        carried = self._world.carrying
        if carried and todo and carried in getattr(getattr(todo[0], "desc_move", None), "obj_set", ()):
            del bot.stack[-2:]  # what is to be fetched is in hand
        elif carried:  # its plans begin with empty hands
            bot.stack.append(self._module.DropSubgoal(bot))
            bot.stack.append(self._module.GoNextToSubgoal(bot, bot._find_drop_pos()))
        bot._remember_current_state()

    def _begin_with_errand(self) -> None:
        """Take a new bot that sees everything, and send it where it does not look by itself.

        It does not look into boxes, and of two locked doors it may choose the one whose key is behind the other.
        """
        self._begin()
        bot, module = self._bot, self._module
        bot.vis_mask[:] = True
        things = [thing for thing in self._world.grid.grid if thing is not None]
        boxes = [thing for thing in things if _filled(thing)]
        if boxes and not self._world.carrying:
            bot.stack = Plan([module.GoNextToSubgoal(bot, boxes[0])])
        for door in (thing for thing in things if thing.type == "door" and thing.is_locked):
            keys = [thing for thing in things if (thing.type, thing.color) == ("key", door.color)]
            if not self._world.carrying and any(self._reaches(key) for key in keys):
                bot.stack.append(module.OpenSubgoal(bot))
                bot.stack.append(module.GoNextToSubgoal(bot, door, reason="Open"))
                return

    def _reaches(self, thing: Any) -> bool:
        path, _, _ = self._bot._shortest_path(lambda pos, cell: cell is thing, try_with_blockers=True)
        return bool(path)


def _filled(thing: Any) -> bool:
    return thing is not None and thing.contains is not None


def _todo(instruction: Any) -> Iterator[Any]:
    """The single instructions that are not yet done, in an order in which they may be done."""
    if not hasattr(instruction, "instr_a"):
        yield instruction
        return
    parts = [(instruction.instr_a, instruction.a_done), (instruction.instr_b, instruction.b_done)]
    if type(instruction).__name__ == "AfterInstr":
        parts.reverse()
    for part, done in parts:
        if done != "success":
            yield from _todo(part)
