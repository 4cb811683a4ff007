"""One training step, end to end, beside TRL's GRPOTrainer: tokens per second and peak memory. The goal: 4 times TRL's.

    pip install "mage-rl[bench]"
    python bench/step.py

The same work on both sides: the tiny model of `recipes/kuhn_history.toml` in float32, 64 prompts out of played trials,
8 completions of each, all of exactly the same length (nothing ends a response) at temperature 1, a reward from the
completion's tokens, advantages against the group's mean, one clipped policy-gradient step of AdamW on all of them; no
KL, no entropy bonus. Prompts are token for token the same. Two lengths: 8 new tokens, what a recipe allows an action if
it says nothing else, and 64. A new token counts once, when it has been sampled and trained on; tokens of prompts do not
count. The first step of each process, which warms up, is not counted.

The model is the base before its warm-up, whose words are near uniform: completions are all different (their number is
reported), so nothing is gained from equal answers, as it would be with a model that knows the form of an answer.

- **mage**: `LocalEngine.sample`, `forward_backward`, `optim_step`. What shares a beginning is computed once, in
  sampling and in training; here that is the prompt of a group.
- **trl**: `GRPOTrainer` with generation by Transformers, in its faster settings: float32 (its default, bfloat16, is
  slower on a CPU), no gradient checkpointing (its default has it), micro-batches of 64 completions (faster than all at
  once, and less memory), no saving, no reports. `min_new_tokens` keeps the end token from being sampled.

Micro-batches of both hold the same number of tokens; both run on one thread (`--threads`), which for so small a model
is fastest. Each side runs in processes of its own, in turn; given are the median over all counted steps, and as peak
memory the largest resident size of a process (`ru_maxrss`), imports included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common import machine, show, write
from mage.chance import derive

RECIPE = Path(__file__).parents[1] / "recipes" / "kuhn_history.toml"
LR, CLIP = 1e-4, 0.2


def reward(tokens: Sequence[int]) -> float:
    """Share of even token ids: something to learn that costs nothing to compute."""
    return sum(token % 2 == 0 for token in tokens) / len(tokens)


def prepare(prompts: int) -> tuple[Path, list[list[int]]]:
    """Folder of the tiny model, and prompts (token ids): contexts of random play, up to its last turn."""
    from mage.engine.local import LocalEngine
    from mage.play.actors import RandomActor
    from mage.play.collect import collect
    from mage.play.opponents.population import draw_tasks
    from mage.recipe_file import read_recipe
    from mage.run.arena import make_arena
    from mage.run.base_model import starting_model

    recipe = read_recipe(RECIPE, ["engine.warmup_steps=0"])
    arena, folder = make_arena(recipe), starting_model(recipe)
    renderer = LocalEngine.open(folder).renderer
    actor = RandomActor(renderer=renderer, encode=renderer.encode)
    tasks = draw_tasks(
        arena.population, groups=prompts, seats=arena.seats, episodes=3, restart="redeal", seed=0, iteration=0
    )
    trials = asyncio.run(collect(tasks, 1, arena.player(actor))).trials
    return folder, [list(trial.contexts[0][: trial.turns[-1].start]) for trial in trials]


def run_mage(work: dict[str, Any]) -> dict[str, Any]:
    """Our side; seconds of each step."""
    from mage.engine.base import AdamParams, Datum, LossConfig, SamplingParams
    from mage.engine.local import LocalEngine

    longest = max(map(len, work["prompts"])) + work["tokens"]
    engine = LocalEngine.open(Path(work["model"]), max_tokens_per_batch=work["micro_batch"] * longest)
    params = SamplingParams(max_tokens=work["tokens"])
    prompts = [tuple(prompt) for prompt in work["prompts"] for _ in range(work["group"])]

    def datum(prompt: tuple[int, ...], tokens: tuple[int, ...], logprobs: tuple[float, ...], gain: float) -> Datum:
        zeros = np.zeros(len(prompt) + len(tokens), np.float32)
        sampled = np.arange(len(zeros)) >= len(prompt)
        old, advantages = zeros.copy(), zeros.copy()
        old[sampled], advantages[sampled] = logprobs, gain
        return Datum(np.array(prompt + tokens, np.int64), sampled, old, advantages, zeros, zeros)

    async def step(number: int) -> int:
        seeds = [derive(0, number, index) >> 1 for index in range(len(prompts))]
        samples = await asyncio.gather(
            *(engine.sample(prompt, params, seed) for prompt, seed in zip(prompts, seeds, strict=True))
        )
        rewards = np.array([reward(sample.tokens) for sample in samples]).reshape(-1, work["group"])
        gains = (rewards - rewards.mean(axis=1, keepdims=True)).reshape(-1)
        data = [datum(p, s.tokens, s.logprobs, gain) for p, s, gain in zip(prompts, samples, gains, strict=True)]
        await engine.forward_backward(data, LossConfig(clip_low=CLIP, clip_high=CLIP))
        await engine.optim_step(AdamParams(lr=LR))
        return len({(prompt, sample.tokens) for prompt, sample in zip(prompts, samples, strict=True)})

    async def steps() -> dict[str, Any]:
        seconds, distinct = [], []
        for number in range(work["steps"] + 1):
            start = time.perf_counter()
            distinct.append(await step(number))
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds[1:], "distinct": min(distinct)}

    return asyncio.run(steps())


def run_trl(work: dict[str, Any]) -> dict[str, Any]:
    """TRL's side; seconds of each step."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    tokenizer = AutoTokenizer.from_pretrained(work["model"])
    tokenizer.eos_token = tokenizer.pad_token  # it needs one; `min_new_tokens` keeps it from being sampled
    texts = tokenizer.batch_decode(work["prompts"])
    if tokenizer(texts)["input_ids"] != work["prompts"]:
        raise SystemExit("TRL would be given other tokens than mage")
    whole = len(texts) * work["group"]
    batch = min(work["micro_batch"], whole)
    seconds: list[float] = []
    distinct: list[int] = []

    class Clock(TrainerCallback):
        """Notes when steps begin and end; TRL samples within a step."""

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.start = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            seconds.append(time.perf_counter() - self.start)

    def rewards(prompts: list[str], completion_ids: list[list[int]], **_: Any) -> list[float]:
        if {len(ids) for ids in completion_ids} != {work["tokens"]}:
            raise SystemExit("TRL sampled completions of another length")
        distinct.append(len(set(zip(prompts, map(tuple, completion_ids), strict=True))))
        return [reward(ids) for ids in completion_ids]

    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=whole // batch,
            num_generations=work["group"],
            max_completion_length=work["tokens"],
            generation_kwargs={"min_new_tokens": work["tokens"]},
            max_steps=work["steps"] + 1,
            learning_rate=LR,
            lr_scheduler_type="constant",
            epsilon=CLIP,
            beta=0.0,
            temperature=1.0,
            scale_rewards="none",
            gradient_checkpointing=False,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            report_to="none",
            logging_steps=1000,
            disable_tqdm=True,
            seed=0,
        )
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(work["model"], dtype="float32"),
            reward_funcs=rewards,
            args=config,
            train_dataset=Dataset.from_dict({"prompt": texts}),
            processing_class=tokenizer,
            callbacks=[Clock()],
        )
        trainer.train()
    return {"seconds": seconds[1:], "distinct": min(distinct)}


def side(name: str, work: dict[str, Any]) -> dict[str, Any]:
    """One side in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work.json"
        path.write_text(json.dumps(work), encoding="utf-8")
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        command = [sys.executable, __file__, "--side", name, "--work", str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def run_side(name: str, path: Path) -> None:
    """The work of such a process: read what to do, write what was seen in its place."""
    import torch

    work: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    torch.set_num_threads(work["threads"])
    result = run_mage(work) if name == "mage" else run_trl(work)
    scale = 1 if sys.platform == "darwin" else 1024
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 2**20
    path.write_text(json.dumps(result), encoding="utf-8")


def compare(work: dict[str, Any], repeat: int) -> dict[str, Any]:
    """Both sides in turn; medians over all counted steps, and the ratios."""
    runs: dict[str, list[dict[str, Any]]] = {"mage": [], "trl": []}
    for _ in range(repeat):
        for name, seen in runs.items():
            seen.append(side(name, work))
    count = len(work["prompts"]) * work["group"] * work["tokens"]
    sides = {}
    for name, seen in runs.items():
        seconds = statistics.median(second for run in seen for second in run["seconds"])
        sides[name] = {
            "seconds_per_step": seconds,
            "tokens_per_second": count / seconds,
            "peak_mb": max(run["peak_mb"] for run in seen),
            "distinct_completions": min(run["distinct"] for run in seen),
            "seconds": [run["seconds"] for run in seen],
        }
    ratio = sides["mage"]["tokens_per_second"] / sides["trl"]["tokens_per_second"]
    memory = sides["mage"]["peak_mb"] / sides["trl"]["peak_mb"]
    return {"new_tokens": work["tokens"], "sides": sides, "ratio": ratio, "memory_ratio": memory}


def main() -> None:
    """Measure, print, write `bench/results/step.json`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--group", type=int, default=8, help="completions of each prompt")
    parser.add_argument("--tokens", type=int, nargs="+", default=[8, 64], help="new tokens of each completion")
    parser.add_argument("--steps", type=int, default=5, help="counted steps of each process")
    parser.add_argument("--repeat", type=int, default=3, help="processes of each side")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument("--micro-batch", type=int, default=64, help="completions in a micro-batch of training")
    parser.add_argument("--side", choices=("mage", "trl"), help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        return run_side(options.side, options.work)
    on = machine()
    settings = {key: value for key, value in vars(options).items() if key not in ("side", "work")}
    model, prompts = prepare(options.prompts)
    work = settings | {"model": str(model), "prompts": prompts}
    results = [compare(work | {"tokens": tokens}, options.repeat) for tokens in options.tokens]
    settings["prompt_tokens"] = [len(prompt) for prompt in prompts]
    path = write("step", on, settings, results)
    rows = []
    for result in results:
        for name, seen in result["sides"].items():
            ratios = (result["ratio"], result["memory_ratio"]) if name == "mage" else (1, 1)
            keys = ("seconds_per_step", "tokens_per_second", "peak_mb", "distinct_completions")
            rows.append((str(result["new_tokens"]), name, *(seen[key] for key in keys), *ratios))
    title = f"One step: {options.prompts} prompts, {options.group} completions of each"
    columns = ("new tokens", "", "s", "tokens / s", "peak MB", "distinct", "rate / TRL", "memory / TRL")
    show(title, columns, rows)
    print(path)


if __name__ == "__main__":
    main()
