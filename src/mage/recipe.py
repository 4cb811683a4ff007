"""The recipe: one typed schema for everything a run depends on."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from mage.recipe_learn import CreditSection, HybridSection, NoveltySection, OptimSection
from mage.recipe_play import (
    ActorSection,
    GameSection,
    PopulationSection,
    RecallSection,
    Share,
    StrategiesSection,
    TrialSection,
)
from mage.recipe_values import (
    Count,
    Fraction,
    MemoryMode,
    Reference,
    Section,
    Temperature,
)
from mage.references import is_reference

__all__ = [
    "ActorSection",
    "CreditSection",
    "EngineSection",
    "EvalSection",
    "GameSection",
    "HybridSection",
    "LoopSection",
    "NoveltySection",
    "OptimSection",
    "PopulationSection",
    "RecallSection",
    "Recipe",
    "Section",
    "Share",
    "StrategiesSection",
    "TrialSection",
]


class EngineSection(Section):
    """The model and what runs it."""

    kind: Literal["tiny", "local"] = "tiny"
    model: str | None = None
    """A Transformers folder (kind `local`), or a folder to start the tiny model from; default: the warmed-up base."""
    hidden: Count = 64
    layers: Count = 2
    heads: Count = 4
    architecture: Literal["llama", "qwen3"] = "llama"
    warmup_steps: Annotated[int, Field(ge=0)] = 300
    """Supervised steps on random play that teach the tiny base the form of answers."""
    base_seed: int = 0
    """Seed of the tiny base: one base serves runs of all seeds."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads of PyTorch; 0 takes the machine's cores."""
    max_tokens_per_batch: Count = 16384
    """Token budget of one micro-batch in training."""

    @field_validator("model")
    @classmethod
    def _names_a_model(cls, model: str | None) -> str | None:
        if model == "":
            raise ValueError("should be the folder of a Transformers model, or be left out")
        return model


class LoopSection(Section):
    """How much is played."""

    iterations: Count = 400
    groups: Count = 64
    """Tasks per iteration."""
    group_size: Count = 16
    """Trials per task."""
    temperature: Temperature = 1.0
    checkpoint_every: Count = 50
    keep_checkpoints: Count = 2
    record_trials_every: Annotated[int, Field(ge=0)] = 50
    """Iterations between records of all trials (Parquet); 0 records none but the last iteration's."""
    failure_share: Fraction = 0.1
    """The run halts when more than this share of an iteration's groups had to be dropped."""


class EvalSection(Section):
    """How the result is measured."""

    trials: Annotated[int, Field(ge=2)] = 384
    """Trials per opponent where the payoff is sampled; an interval needs at least 2."""
    temperature: Annotated[float, Field(ge=0, le=100)] = 0.0
    """0 is greedy: the most likely token, whatever `top_p` and `top_k`."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Only the most likely tokens that together have this probability are sampled; 1 means all."""
    top_k: Annotated[int, Field(ge=0)] = 0
    """Only so many of the most likely tokens are sampled; 0 means all."""
    exact: bool = True
    """Enumerate all deals where the game's tree and the pool allow it."""
    memory: MemoryMode | Reference | None = None
    """What the agent remembers where it is measured; default: `trial.memory`, as in training."""
    seed: int = 1_000_003
    """Seed of evaluation tasks; never used in training."""

    @field_validator("temperature")
    @classmethod
    def _greedy_or_warm(cls, temperature: float) -> float:
        if 0 < temperature < 0.01:
            raise ValueError("should be 0 (greedy) or at least 0.01")
        return temperature


class Recipe(Section):
    """Everything a run depends on."""

    name: str = "run"
    method: str = "mage"
    seed: int = 0
    game: GameSection = GameSection()
    actor: ActorSection = ActorSection()
    trial: TrialSection = TrialSection()
    recall: RecallSection = RecallSection()
    strategies: StrategiesSection = StrategiesSection()
    population: PopulationSection = PopulationSection()
    credit: CreditSection = CreditSection()
    novelty: NoveltySection = NoveltySection()
    hybrid: HybridSection = HybridSection()
    engine: EngineSection = EngineSection()
    optim: OptimSection = OptimSection()
    loop: LoopSection = LoopSection()
    eval: EvalSection = EvalSection()
    trackers: tuple[Literal["tensorboard", "wandb"], ...] = Field(default=(), strict=False)

    @field_validator("name")
    @classmethod
    def _names_a_folder(cls, name: str) -> str:
        if not re.fullmatch(r"\w[\w .+-]*", name):
            raise ValueError(
                "should be the name of a folder: letters, digits, spaces and . _ + -, a letter or digit first"
            )
        return name

    @model_validator(mode="after")
    def _fits_together(self) -> Recipe:
        compares = self.credit.advantage != "gae"  # a value function needs nobody beside
        if compares and self.loop.group_size == 1 and "group" in self.credit.baseline:
            raise ValueError(
                "loop.group_size = 1 leaves nothing to compare: a baseline keyed by 'group' needs at least 2"
            )
        if self.credit.advantage == "rloo" and self.loop.group_size < 2:
            raise ValueError("credit.advantage = 'rloo' needs loop.group_size of at least 2")
        if self.credit.advantage == "grpo" and not self.credit.std:
            raise ValueError(
                "credit.advantage = 'grpo' divides by the standard deviation: credit.std = false does not fit; "
                "without the division it is 'reinforce'"
            )
        if self.trial.memory == "strategies" and self.actor.kind != "strategy":
            raise ValueError("trial.memory = 'strategies' keeps strategies: it needs actor.kind = 'strategy'")
        if self.hybrid.aids and self.trial.memory != "tips":
            raise ValueError(
                f"hybrid.on_policy and hybrid.off_policy show tips: trial.memory = {self.trial.memory!r} has none, "
                "it should be 'tips'"
            )
        if self.trial.memory == "tips" and not self.hybrid.aids:
            raise ValueError(
                "trial.memory = 'tips' with hybrid.on_policy = hybrid.off_policy = 0 would write tips and never show "
                "them: set one of them, or take method = 'empo2'"
            )
        stored = self.trial.memory in ("a-mem", "memento", "tips") or is_reference(self.trial.memory)
        if self.recall.path and not stored:
            raise ValueError(
                f"recall.path = {self.recall.path!r}: memory {self.trial.memory!r} has no store to keep there"
            )
        if self.recall.rank == "value" and (self.trial.memory != "memento" or self.recall.scope != "game"):
            raise ValueError(
                "recall.rank = 'value' learns from all trials what cases are worth: it needs trial.memory = 'memento' "
                "and recall.scope = 'game'"
            )
        if self.credit.advantage == "gae" and self.hybrid.off_policy:
            raise ValueError(
                "hybrid.off_policy takes tips away from what is learned from, and the value function saw them: "
                "it does not fit credit.advantage = 'gae'"
            )
        trained = {share.name for share in self.population.train}
        both = sorted(trained & {share.name for share in self.population.held_out})
        if both:
            raise ValueError(f"population.held_out has {both[0]!r}, which is in population.train: it would be seen")
        if self.loop.groups % self.optim.minibatches:
            raise ValueError(
                f"optim.minibatches = {self.optim.minibatches} does not divide loop.groups = {self.loop.groups}"
            )
        if self.engine.hidden % (2 * self.engine.heads):
            raise ValueError(
                f"engine.hidden = {self.engine.hidden} must be a multiple of 2 · engine.heads = {2 * self.engine.heads}"
            )
        if self.engine.kind == "local" and not self.engine.model:
            raise ValueError("engine.kind = 'local' needs engine.model: the folder of a Transformers model")
        if self.engine.kind == "tiny" and self.game.dialect != "compact":
            raise ValueError("engine.kind = 'tiny' reads game.dialect = 'compact' only, not 'natural'")
        return self
