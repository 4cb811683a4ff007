"""The sections of a recipe that say what is learned, and how the model is updated."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from mage.recipe_values import (
    AdvantageKind,
    BaselineKey,
    Clip,
    Count,
    Decay,
    Factor,
    Fraction,
    Rate,
    Reference,
    ReturnKind,
    Section,
    Weight,
)


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
    entropy_weight: Weight = 0.0
    """α of the entropy advantage A + min(α·H, |A|/2), H the entropy each token was drawn from; 0: left out."""

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


class NoveltySection(Section):
    """A reward for what was not seen before, beside the game's own."""

    kind: Literal["none", "counts", "rnd"] = "none"
    """`counts`: 1/n, with n how often a similar state was seen; `rnd`: the error of random network distillation."""
    weight: Weight = 1.0
    similar: Fraction = 1.0
    """From which cosine on two states are the same to `counts`; 1: only equal texts."""
    limit: Count = 10_000
    """States that are kept; those not seen for longest go first."""


class HybridSection(Section):
    """Updates on and off policy: with tips in sight or taken away (EMPO²). Each iteration draws its mode."""

    on_policy: Fraction = 0.0
    """Probability that an iteration is played with tips and learned from with them."""
    off_policy: Fraction = 0.0
    """Probability that it is played with tips and learned from as if there had been none; the rest is without tips."""
    ratio: Literal["behaviour", "unaided"] = "behaviour"
    """Denominator of the off-policy importance ratio: π_old(a | s, tips), or π_old(a | s)."""
    mask: Literal["none", "token", "turn"] = "none"
    """What off-policy updates leave out: `token`, those of probability below `mask_below` to the model being trained;
    `turn`, those with a token of log-probability below `mask_log` when it was sampled."""
    mask_below: Annotated[float, Field(ge=0, lt=1)] = 1e-3
    mask_log: Annotated[float, Field(le=0)] = -5.0

    @property
    def aids(self) -> bool:
        """Whether tips are ever shown."""
        return self.on_policy + self.off_policy > 0

    @model_validator(mode="after")
    def _shares(self) -> HybridSection:
        if self.on_policy + self.off_policy > 1:
            raise ValueError(
                f"hybrid.on_policy = {self.on_policy:g} and hybrid.off_policy = {self.off_policy:g} are shares of the "
                "same iterations: their sum is at most 1"
            )
        return self


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
