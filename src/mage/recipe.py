"""The recipe: one typed schema for everything a run depends on."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from mage.recipe_values import (
    AdvantageKind,
    BaselineKey,
    Clip,
    Count,
    Decay,
    Factor,
    Fraction,
    MemoryMode,
    Positive,
    Rate,
    Reference,
    ReturnKind,
    Temperature,
    Weight,
)


class Section(BaseModel):
    """A part of a recipe: unknown keys and values of another type are refused, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, strict=True, allow_inf_nan=False)


class GameSection(Section):
    """What is played."""

    name: str = "kuhn_poker"
    dialect: Literal["natural", "compact"] = "compact"
    """How states are shown: sentences, or the few words of the tiny model."""


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
    """How memories with a store find and keep things (`a-mem`, `memento`)."""

    embedder: str = "hashed"
    """How texts become keys: `hashed` (words, no model), or a model of the package sentence-transformers."""
    scope: Literal["trial", "game"] = "trial"
    """Who sees an entry: the trial that left it, or all later trials."""
    count: Count = 5
    """Entries recalled at the start of an episode."""
    limit: Count = 1000
    """Entries kept; the oldest go first."""
    path: str | None = None
    """File of the store (SQLite), which outlives the run; default: in memory."""


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


class CreditSection(Section):
    """How rewards become advantages."""

    returns: ReturnKind = "differential"
    gamma_step: Fraction = 1.0
    """Discount per turn inside an episode."""
    gamma_traj: Fraction = 0.6
    """Discount per episode border."""
    advantage: AdvantageKind | Reference = "gigpo"
    baseline: tuple[BaselineKey, ...] = Field(default=("group", "opponent", "episode"), strict=False)
    """What the turns that share one baseline have in common; empty: all turns of a phase are compared."""
    std: bool = False
    """Divide by the standard deviation: of the baseline's group (GRPO's form, GiGPO's mean_std_norm), for `gae` and
    `reinforce++` of all turns."""
    gae_lambda: Fraction = 0.95
    """λ of `gae`: 1 trusts returns, 0 the value function."""
    step_weight: Weight = 1.0
    """GiGPO: ω, weight of the step term beside the trial term."""
    trial_weight: Weight = 1.0
    """GiGPO: weight of the trial term (1 in the paper)."""
    reward_scale: Factor = 1.0
    """Game units are multiplied by this before credit is computed."""
    invalid_penalty: Weight = 2.0
    """Taken from the turn that was illegal or malformed."""
    length_penalty: Weight = 0.0
    """Taken at the full token limit; grows linearly from half of it."""

    @field_validator("baseline")
    @classmethod
    def _each_once(cls, keys: tuple[BaselineKey, ...]) -> tuple[BaselineKey, ...]:
        if len(set(keys)) < len(keys):
            raise ValueError("should name each key once")
        return keys

    @model_validator(mode="before")
    @classmethod
    def _grpo_divides(cls, data: Any) -> Any:
        """With `grpo` a `std` that is left open is true: it always divides."""
        if isinstance(data, dict) and data.get("advantage") == "grpo":
            return {"std": True, **data}
        return data


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


class OptimSection(Section):
    """How the policy is updated."""

    lr: Annotated[Rate, Field(gt=0)] = 1e-3
    lr_end: Rate = 1e-4
    """Learning rate of the last iteration (linear decay)."""
    lr_warmup: Annotated[int, Field(ge=0)] = 10
    """Iterations of linear warm-up."""
    minibatches: Count = 2
    epochs: Count = 1
    clip_low: Clip = 0.2
    clip_high: Clip = 0.2
    grad_clip: Weight = 1.0
    weight_decay: Annotated[float, Field(ge=0, le=1e3)] = 0.0
    beta1: Decay = 0.9
    beta2: Decay = 0.95
    entropy: Weight = 0.15
    """Entropy bonus on action tokens at the start."""
    entropy_end: Weight = 0.02
    entropy_until: Fraction = 0.667
    """Share of the run over which bonus and `kl_action` go linearly to their ends."""
    entropy_remark: Weight = 0.0
    """Entropy bonus on remark tokens, scheduled likewise towards 0."""
    kl: Literal["k3", "full"] = "k3"
    """How the KL to the frozen start is measured: `k3` from the sampled token, `full` over the whole vocabulary."""
    kl_action: Weight = 0.0
    """KL to the frozen start on action tokens."""
    kl_action_end: Weight | None = None
    """KL on action tokens after the fall; default: it stays. A tiny base plays legally at random, so this holds entropy
    without rewarding malformed answers, as an entropy bonus does."""
    kl_remark: Weight = 0.2
    """KL to the frozen start on remark tokens."""
    value_weight: Weight = 0.5
    """Weight of the value loss where there is a value function (`credit.advantage = "gae"`)."""
    value_clip: Clip = 0.2
    """How far the value may move from its old one before the loss stops pulling (PPO's clipped value loss)."""


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
    trial: TrialSection = TrialSection()
    recall: RecallSection = RecallSection()
    population: PopulationSection = PopulationSection()
    credit: CreditSection = CreditSection()
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
