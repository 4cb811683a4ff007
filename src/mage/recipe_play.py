"""The sections of a recipe that say what is played, by whom, and what is remembered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from mage.recipe_values import (
    Count,
    Fraction,
    MemoryMode,
    Positive,
    Reference,
    Section,
    Temperature,
)


class GameSection(Section):
    """What is played."""

    name: str = "kuhn_poker"
    dialect: Literal["natural", "compact"] = "compact"
    """How states are shown: sentences, or the few words of the tiny model."""


class ActorSection(Section):
    """How one answer comes about."""

    kind: Literal["plain", "strategy"] = "plain"
    """`plain`: the answer as a whole; `strategy`: first a strategy, then the action that follows from it (SGE)."""
    strategy_temperature: Temperature = 1.2
    """At which the strategy is sampled; the action at `loop.temperature`."""
    max_strategy_tokens: Count = 8
    remark_temperature: Temperature | None = None
    """At which remarks are sampled in training; default: `loop.temperature`."""


class TrialSection(Section):
    """How a trial goes."""

    episodes: Count = 3
    restart: Literal["replay", "redeal"] = "redeal"
    """`replay`: the same deal in every episode; `redeal`: new chance, same opponent and seat."""
    memory: MemoryMode | Reference = "reflection"
    """What the next episode sees of those before it."""
    seats: Literal["both"] | Annotated[int, Field(ge=0)] = "both"
    """The agent's seat; `both` balances the seats over the groups of an iteration."""
    stop_at_success: bool = False
    reprompts: Annotated[int, Field(ge=0)] = 1
    """How often an illegal action is asked for again in an episode before the agent forfeits."""
    max_action_tokens: Count = 8
    max_remark_tokens: Count = 8


class RecallSection(Section):
    """How memories with a store find and keep things (`a-mem`, `memento`, `tips`)."""

    embedder: str = "hashed"
    """How texts become keys: `hashed` (words, no model), or a model of the package sentence-transformers."""
    scope: Literal["trial", "game"] = "trial"
    """Who sees an entry: the trial that left it, or all later trials."""
    count: Count = 5
    """Entries recalled at the start of an episode."""
    limit: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1000
    """Entries kept; the oldest go first."""
    path: str | None = None
    """File (SQLite) that the memory begins with and is written to when the run has ended well; default: none."""
    rank: Literal["likeness", "value"] = "likeness"
    """Which cases are recalled (`memento`): those most alike, or those worth most by what is learned."""
    least: Annotated[float, Field(ge=-1, le=1)] = 0.5
    """Tips less alike than this (cosine) are not recalled (`tips`)."""

    @field_validator("embedder", "path")
    @classmethod
    def _not_empty(cls, name: str | None) -> str | None:
        if name is not None and not name.strip():
            raise ValueError("should not be empty; leave it out for the default")
        return name

    @model_validator(mode="after")
    def _path_outlives(self) -> RecallSection:
        if self.path is not None and self.scope != "game":
            raise ValueError(
                f"recall.path = {self.path!r} keeps what outlives a trial: with recall.scope = 'trial' nothing does; "
                "set recall.scope = 'game'"
            )
        return self


class StrategiesSection(Section):
    """How rollouts learn from strategies tried before (memory `strategies`)."""

    size: Count = 32
    """Sequences kept in each of the two buffers, of failures and of successes; the oldest go first."""
    failure: Fraction = 0.25
    """Share of episodes that are shown a failed sequence and what came of it."""
    success: Fraction = 0.1
    """Share of episodes that are shown a sequence that succeeded."""

    @model_validator(mode="after")
    def _shares(self) -> StrategiesSection:
        if self.failure + self.success > 1:
            raise ValueError(
                f"strategies.failure = {self.failure:g} and strategies.success = {self.success:g} are shares of the "
                "same trials: their sum is at most 1"
            )
        return self


class Share(Section):
    """An opponent and its share of a population."""

    name: str
    """An opponent of `mage ls opponents`, parameters as in `mcts:simulations=100`."""
    share: Positive = 1.0


class PopulationSection(Section):
    """Whom the agent meets."""

    train: tuple[Share, ...] = Field(default=(Share(name="random"),), min_length=1, strict=False)
    """Shares are kept exactly over the groups of an iteration (largest remainders)."""
    held_out: tuple[Share, ...] = Field(default=(), strict=False)
    """Met in evaluation only."""
