"""A browsable sample of recorded trials: which ones to show, and their turns as a page needs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Turns = list[dict[str, Any]]

MOST_TRIALS = 48
MOST_TOKENS = 60_000


@dataclass(frozen=True, slots=True)
class TokenView:
    """A piece of text with its colour."""

    text: str
    sign: str
    """`pos`, `neg` or `zero`: which colour."""
    strength: float
    """0 to 1: how much of it."""
    title: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """What the agent was shown and what it wrote."""

    phase: str
    observation: str
    said: str
    legal: bool
    truncated: bool
    advantage: float
    tokens: tuple[TokenView, ...]


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """The turns of an episode, the reflection after it included, and how it ended."""

    number: int
    result: str
    reward: float | None
    outcome: str
    acts: tuple[TurnView, ...]
    reflections: tuple[TurnView, ...]


@dataclass(frozen=True, slots=True)
class TrialView:
    """One trial."""

    trial: int
    group: int
    member: int
    opponent: str
    seat: int
    stop: str
    illegal: bool
    episodes: tuple[EpisodeView, ...]

    @property
    def results(self) -> str:
        """Results of the episodes, such as `lost won won`."""
        return " ".join(episode.result for episode in self.episodes)


def view_trials(trials: Sequence[Turns]) -> list[TrialView]:
    """A sample of `trials` (as `TrialFile.read` gives them) that shows every opponent and every pattern of results."""
    chosen = list(choose(trials))
    scale = max((abs(value) for turns in chosen for turn in turns for value in turn["advantages"]), default=0.0) or 1.0
    return [_trial(turns, scale) for turns in chosen]


def choose(trials: Sequence[Turns]) -> Iterator[Turns]:
    """Trials in rounds, one of each (opponent, results) pattern in turn, as many as a page can carry."""
    kinds: dict[tuple[str, ...], list[Turns]] = defaultdict(list)
    for turns in trials:
        results = {turn["episode"]: str(turn["result"]) for turn in turns}
        kinds[(turns[0]["opponent"], *results.values())].append(turns)
    queues = [kinds[key] for key in sorted(kinds)]
    rounds = max((len(queue) for queue in queues), default=0)
    left, room = MOST_TRIALS, MOST_TOKENS
    for number in range(rounds):
        for queue in queues:
            if number < len(queue):
                room -= sum(len(turn["tokens"]) for turn in queue[number])
                if left == 0 or (room < 0 and left < MOST_TRIALS):
                    return
                left -= 1
                yield queue[number]


def _trial(turns: Turns, scale: float) -> TrialView:
    first = turns[0]
    numbers = sorted({turn["episode"] for turn in turns})
    return TrialView(
        trial=first["trial"],
        group=first["group"],
        member=first["member"],
        opponent=first["opponent"],
        seat=first["seat"],
        stop=first["stop"].replace("_", " "),
        illegal=not all(turn["legal"] for turn in turns),
        episodes=tuple(_episode([turn for turn in turns if turn["episode"] == number], scale) for number in numbers),
    )


def _episode(turns: Turns, scale: float) -> EpisodeView:
    first = turns[0]
    return EpisodeView(
        number=first["episode"] + 1,
        result=first["result"] or "unfinished",
        reward=first["reward"],
        outcome=first["outcome"] or "",
        acts=tuple(_turn(turn, scale) for turn in turns if turn["phase"] == "act"),
        reflections=tuple(_turn(turn, scale) for turn in turns if turn["phase"] != "act"),
    )


def _turn(turn: dict[str, Any], scale: float) -> TurnView:
    texts, advantages = turn["token_texts"], turn["advantages"]
    mean = sum(advantages) / len(advantages) if advantages else 0.0
    if texts:
        spaced = spaced_as_in(turn["text"], texts)
        tokens = tuple(map(_token, spaced, advantages, turn["logprobs"], [scale] * len(texts)))
    else:
        tokens = (_token(turn["text"], mean, sum(turn["logprobs"]), scale),)
    return TurnView(turn["phase"], turn["observation"], turn["said"], turn["legal"], turn["truncated"], mean, tokens)


def spaced_as_in(text: str, tokens: Sequence[str]) -> list[str]:
    """Texts of tokens with the spaces that stand before them in `text`, where a tokenizer drops those.

    >>> spaced_as_in("<remark> bet Q </remark>", ["<remark>", "bet", "Q", "</remark>"])
    ['<remark>', ' bet', ' Q', ' </remark>']
    """
    spaced, rest = [], text
    for token in tokens:
        bare = rest.lstrip()
        if not rest.startswith(token) and bare.startswith(token):
            spaced.append(rest[: len(rest) - len(bare)] + token)
            rest = bare[len(token) :]
        else:
            spaced.append(token)
            rest = rest.removeprefix(token)
    return spaced


def _token(text: str, advantage: float, logprob: float, scale: float) -> TokenView:
    sign = "pos" if advantage > 0 else "neg" if advantage < 0 else "zero"
    title = f"advantage {advantage:+.3f} · log-prob {logprob:.3f}"
    return TokenView(text, sign, round(abs(advantage) / scale, 3), title)
