"""What the agent reads around a game's own words: prompts of the natural dialect (files) and of the compact one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, Protocol, get_args

from mage.play.game import Dialect
from mage.play.records import Restart, Result
from mage.recipe_values import MemoryMode


class Series(NamedTuple):
    """What a context's opening tells about the trial."""

    episodes: int
    opponent: bool
    """Whether somebody plays against the agent."""
    restart: Restart
    memory: str
    """Name of the memory, which has a template `memory_NAME`."""


MEMORIES_TOLD: tuple[str, ...] = get_args(MemoryMode)
"""Memories that the natural dialect has words for, in a template `memory_NAME`."""
Recalled = Literal["plans", "cases", "notes"]


class Tip(NamedTuple):
    """What an earlier attempt leaves for later ones."""

    text: str
    action: str
    """The last one taken."""
    score: float
    """What the attempt was worth."""

    def __str__(self) -> str:
        return f"{self.text}; action: {self.action}; score: {self.score:g}"


class Prompts(Protocol):
    """The texts of a trial. Episode numbers count from 1; every text says only what is true and visible to the seat."""

    def system(self, rules: str, series: Series) -> str:
        """The text that opens a context (may be empty)."""
        ...

    def start(self, number: int, episodes: int, head: str, state: str, legal: Sequence[str]) -> str:
        """The first message of an episode; `head` is what the memory tells of earlier ones (may be empty)."""
        ...

    def turn(self, state: str, legal: Sequence[str]) -> str:
        """The message of every later turn of an episode."""
        ...

    def illegal(self, said: str | None, state: str, legal: Sequence[str]) -> str:
        """Asks again after an answer that was not legal (`said`) or had no action (None), naming the legal ones."""
        ...

    def reflect(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """Tells how the episode ended and asks for a remark."""
        ...

    def over(self, number: int, result: Result, outcome: str) -> str:
        """Tells how the episode ended where no remark is asked for."""
        ...

    def remarks(self, remarks: Sequence[str]) -> str:
        """Earlier remarks, oldest first, as the next episode sees them."""
        ...

    def plan(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """Tells how an episode ended that was not won, and asks for a plan as a remark (Reflexion)."""
        ...

    def recalled(self, kind: Recalled, items: Sequence[str]) -> str:
        """Plans, cases or notes from earlier episodes, as the next one sees them."""
        ...

    def tried(self, strategies: Sequence[str], outcome: str, succeeded: bool) -> str:
        """The strategies of an earlier episode and how it ended, to be criticised or to be inspired by (SGE)."""
        ...

    def tip(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """Tells how an episode ended and asks for a tip as a remark (EMPO²)."""
        ...

    def advised(self, message: str, tips: Sequence[Tip]) -> str:
        """A message with tips beside it (EMPO²)."""
        ...


def make_prompts(dialect: Dialect, *, strategy: bool = False) -> Prompts:
    """The prompts of a dialect; with `strategy` they ask for a strategy before the action.

    >>> make_prompts("compact").start(2, 3, "note call Q", "K first", ("bet", "pass"))
    'note call Q ep2 K first'
    """
    return NaturalPrompts("ask_strategy" if strategy else "ask") if dialect == "natural" else CompactPrompts()


def compact_words(episodes: int) -> tuple[str, ...]:
    """Every word that the compact prompts add to a game's own vocabulary in trials of up to `episodes` episodes.

    >>> compact_words(2)
    ('note', 'reflect', 'illegal', 'ep1', 'ep2')
    """
    return ("note", "reflect", "illegal", *(f"ep{number}" for number in range(1, episodes + 1)))


def words_of_memory(name: str) -> tuple[str, ...]:
    """Words that the compact prompts add where this memory is used: only then are they in a vocabulary."""
    return {"strategies": ("tried",), "tips": ("tip",)}.get(name, ())


class CompactPrompts:
    """Prompts of very few words, for a tiny model that must read fast; legal actions are named only after a mistake."""

    __slots__ = ()

    def system(self, rules: str, series: Series) -> str:
        """The rules and nothing else."""
        return rules

    def start(self, number: int, episodes: int, head: str, state: str, legal: Sequence[str]) -> str:
        """`note call Q ep2 STATE`."""
        return f"{head} ep{number} {state}" if head else f"ep{number} {state}"

    def turn(self, state: str, legal: Sequence[str]) -> str:
        """`STATE`."""
        return state

    def illegal(self, said: str | None, state: str, legal: Sequence[str]) -> str:
        """`illegal bet pass`: the state was shown just before, the legal actions follow the word."""
        return f"illegal {' '.join(legal)}"

    def reflect(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """`OUTCOME reflect`."""
        return f"{outcome} reflect"

    def over(self, number: int, result: Result, outcome: str) -> str:
        """`OUTCOME`."""
        return outcome

    def remarks(self, remarks: Sequence[str]) -> str:
        """`note call Q note bet K`; an empty remark keeps its `note`, so that places do not shift."""
        return " ".join([f"note {remark}" if remark else "note" for remark in remarks])

    def plan(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """As `reflect`: a tiny model has one word for both."""
        return self.reflect(number, episodes, result, outcome)

    def recalled(self, kind: Recalled, items: Sequence[str]) -> str:
        """As `remarks`: `note +2 J bet bet`."""
        return self.remarks(items)

    def tried(self, strategies: Sequence[str], outcome: str, succeeded: bool) -> str:
        """`tried 1a 2c jam -2c`."""
        return " ".join(["tried", *strategies, outcome])

    def tip(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """As `reflect`."""
        return self.reflect(number, episodes, result, outcome)

    def advised(self, message: str, tips: Sequence[Tip]) -> str:
        """`tip -2c MESSAGE`: what is asked stands last, where a tiny model looks first."""
        return " ".join([*(f"tip {tip.text}" for tip in tips), message])


class NaturalPrompts:
    """Prompts in sentences, filled into the templates of `play/prompts`; `ask` is the one that asks for an action."""

    __slots__ = ("_ask",)

    def __init__(self, ask: str = "ask") -> None:
        self._ask = ask

    def system(self, rules: str, series: Series) -> str:
        """Rules, the series of episodes, what a restart keeps, what will be remembered."""
        return fill(
            "system",
            rules=rules,
            series=fill("series_opponent" if series.opponent else "series_alone", episodes=series.episodes),
            restart=fill(f"restart_{series.restart}"),
            memory=fill(f"memory_{series.memory}" if series.memory in MEMORIES_TOLD else "memory_other"),
        )

    def start(self, number: int, episodes: int, head: str, state: str, legal: Sequence[str]) -> str:
        """What is remembered, the episode's number, the state, the legal actions and the form of the answer."""
        text = fill("start", number=number, episodes=episodes, state=state, ask=fill(self._ask, legal=", ".join(legal)))
        return f"{head}\n\n{text}" if head else text

    def turn(self, state: str, legal: Sequence[str]) -> str:
        """The state, the legal actions and the form of the answer."""
        return fill("turn", state=state, ask=fill(self._ask, legal=", ".join(legal)))

    def illegal(self, said: str | None, state: str, legal: Sequence[str]) -> str:
        """What was wrong, the legal actions, the state again."""
        complaint = fill("illegal_none") if said is None else fill("illegal_said", said=said)
        return fill("illegal", complaint=complaint, legal=", ".join(legal), state=state)

    def reflect(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """The result as it was, the game's own account of it, and a request that fits it."""
        return fill(
            "reflect",
            number=number,
            episodes=episodes,
            result=fill(f"result_{result}"),
            outcome=outcome,
            advice=fill(f"advice_{result}"),
        )

    def over(self, number: int, result: Result, outcome: str) -> str:
        """The result as it was and the game's own account of it."""
        return fill("over", number=number, result=fill(f"result_{result}"), outcome=outcome)

    def remarks(self, remarks: Sequence[str]) -> str:
        """One line per remark with the number of the episode after which it was written."""
        lines = [fill("remark", number=n, remark=remark or "(nothing)") for n, remark in enumerate(remarks, start=1)]
        return fill("remarks", remarks="\n".join(lines))

    def plan(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """The result as it was, the game's own account of it, and a request for the mistake and a plan."""
        return fill("plan", number=number, episodes=episodes, result=fill(f"result_{result}"), outcome=outcome)

    def recalled(self, kind: Recalled, items: Sequence[str]) -> str:
        """A numbered list under a line that says what it is."""
        return fill(f"recalled_{kind}", items="\n".join(f"{n}. {item}" for n, item in enumerate(items, start=1)))

    def tried(self, strategies: Sequence[str], outcome: str, succeeded: bool) -> str:
        """A numbered list, how it ended, and a request for a critique or to take it up."""
        items = "\n".join(f"{n}. {item}" for n, item in enumerate(strategies, start=1))
        return fill("tried_success" if succeeded else "tried_failure", items=items, outcome=outcome)

    def tip(self, number: int, episodes: int, result: Result, outcome: str) -> str:
        """The result as it was, the game's own account of it, and a request for what was done and learned."""
        return fill("tip", number=number, episodes=episodes, result=fill(f"result_{result}"), outcome=outcome)

    def advised(self, message: str, tips: Sequence[Tip]) -> str:
        """The message, then each tip between tip tags."""
        return "\n".join([message, "", template("advised"), *(f"<tip>{tip}</tip>" for tip in tips)])


def fill(name: str, **values: object) -> str:
    """The template `play/prompts/NAME.txt` with its {placeholders} filled.

    >>> fill("remark", number=1, remark="it folds a Jack")
    'After episode 1: it folds a Jack'
    """
    return template(name).format(**values)


@cache
def template(name: str) -> str:
    """The text of `play/prompts/NAME.txt`, read once; the set of templates is what the package ships."""
    return files("mage.play").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").strip()
