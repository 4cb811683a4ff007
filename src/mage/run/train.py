"""Training: play an iteration's trials, give credit, learn, write down, again."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from mage.engine.base import AdamParams, Datum, Engine, LossConfig
from mage.engine.local import LocalEngine, set_threads
from mage.errors import MageError, RunError
from mage.learn.credit import Credit, assign_credit
from mage.learn.data import Coefficients, training_data
from mage.play.collect import Collected, collect
from mage.play.opponents.population import draw_tasks
from mage.play.records import Phase
from mage.recipe import Recipe
from mage.run.arena import Arena, make_arena
from mage.run.base_model import starting_model
from mage.run.checkpoints import Checkpoint
from mage.run.files import Row, remove, sync, writing
from mage.run.folder import RunFolder
from mage.run.metrics import trial_metrics
from mage.run.progress import ProgressSink
from mage.run.schedule import schedule
from mage.run.trackers import Tracker, open_trackers
from mage.run.trial_file import TrialFile


def train(recipe: Recipe, folder: RunFolder, *, resume: bool = False, progress: ProgressSink) -> None:
    """Run a recipe to its end in `folder`, from the start or from its last checkpoint.

    Raises MageError for what the user can mend; everything saved before stays.
    """
    RunFolder.open(folder.path, recipe)  # a run of this recipe
    if not resume and folder.metrics_path.exists():
        raise RunError(f"{folder.path} has iterations already: resume the run, or choose another folder")
    arena = make_arena(recipe)
    with folder.lock():
        progress.start(recipe, folder)
        try:
            set_threads(recipe.engine.threads)
            checkpoint = folder.latest_checkpoint() if resume else None
            if checkpoint and checkpoint.iteration == recipe.loop.iterations:
                progress.note(f"the run is complete: all {recipe.loop.iterations} iterations are done")
                if not folder.model_path.is_dir():
                    engine = _open_engine(recipe, progress)
                    engine.load_state(checkpoint.path)
                    save_model(engine, folder.model_path)
                    progress.note("the model, which was missing, was written again from the last checkpoint")
                return
            start = checkpoint.iteration if checkpoint else 0
            trackers = open_trackers(folder, recipe.trackers, start + 1)
            try:
                engine = _open_engine(recipe, progress)
                if resume:
                    _restore(folder, engine, checkpoint, progress)
                asyncio.run(_Run(arena, engine, folder, progress, trackers).iterations(start))
            finally:
                for tracker in trackers:
                    tracker.close()
        finally:
            progress.done()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Leave the search for cyclic garbage to explicit calls: inside an iteration it would walk live records in vain."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _open_engine(recipe: Recipe, progress: ProgressSink) -> Engine:
    """The model a run starts from; it is the reference of the KL penalty too."""
    section = recipe.engine
    if section.model is None:
        progress.note("preparing the tiny base (built once, then cached)")
    engine = LocalEngine.open(starting_model(recipe), max_tokens_per_batch=section.max_tokens_per_batch)
    if recipe.optim.kl_action or recipe.optim.kl_action_end or recipe.optim.kl_remark:
        engine.freeze_reference()
    return engine


def _restore(folder: RunFolder, engine: Engine, checkpoint: Checkpoint | None, progress: ProgressSink) -> None:
    """Take up the last checkpoint; later metrics are dropped. Says if versions or threads are others than before."""
    done = 0 if checkpoint is None else checkpoint.iteration
    if checkpoint is not None:
        engine.load_state(checkpoint.path)
    folder.truncate_metrics(done)
    progress.note(f"resumed after iteration {done}" if done else "no checkpoint yet: starting from the beginning")
    changed = folder.changed_since_start()
    if changed:
        progress.note(f"not bit for bit what an unbroken run would be: {changed}")


class _Run:
    """One run under way."""

    def __init__(
        self, arena: Arena, engine: Engine, folder: RunFolder, progress: ProgressSink, trackers: Sequence[Tracker]
    ) -> None:
        self.arena, self.engine, self.folder = arena, engine, folder
        self.progress, self.trackers = progress, trackers
        self.recipe = arena.recipe
        self.play = arena.player(arena.actor(engine, self.recipe.loop.temperature))

    async def iterations(self, start: int) -> None:
        """Iterations `start` (from 0) to the last."""
        with collector_paused():
            for index in range(start, self.recipe.loop.iterations):
                await self._iteration(index)
                gc.collect()

    async def _iteration(self, index: int) -> None:
        """Play, give credit, learn, write down."""
        began = time.perf_counter()
        collected = await self._collect(index)
        played = time.perf_counter()
        metrics = {"iteration": index + 1, **trial_metrics(collected, self.recipe.trial.episodes)}
        credit = self._credit(collected)
        metrics |= await self._learn(collected, credit, index)
        ended = time.perf_counter()
        timings = {
            "iteration": index + 1,
            "seconds": ended - began,
            "sample_seconds": played - began,
            "train_seconds": ended - played,
            "tokens_per_second": (metrics["tokens_sampled"] + metrics["tokens_read"]) / (ended - began),
        }
        self._write(metrics, timings, collected, credit)

    async def _collect(self, index: int) -> Collected:
        """Play the iteration's groups. Raises RunError when too many had to be dropped."""
        recipe = self.recipe
        tasks = draw_tasks(
            self.arena.population,
            groups=recipe.loop.groups,
            seats=self.arena.seats,
            episodes=recipe.trial.episodes,
            restart=recipe.trial.restart,
            seed=recipe.seed,
            iteration=index,
        )
        collected = await collect(tasks, recipe.loop.group_size, self.play)
        if collected.failure_share > recipe.loop.failure_share or not collected.groups:
            reasons = "; ".join(sorted({dropped.reason for dropped in collected.dropped})[:3])
            raise RunError(
                f"iteration {index + 1}: {len(collected.dropped)} of {len(tasks)} groups had to be dropped "
                f"(loop.failure_share = {recipe.loop.failure_share}): {reasons}"
            )
        return collected

    def _credit(self, collected: Collected) -> Credit:
        trial = self.recipe.trial
        limits: dict[Phase, int] = {"act": trial.max_action_tokens, "reflect": trial.max_remark_tokens}
        return assign_credit(collected.trials, self.recipe.credit, max_tokens=limits)

    async def _learn(self, collected: Collected, credit: Credit, index: int) -> Row:
        """All epochs and minibatches of an iteration; what was seen in the first (before any step) and the means."""
        optim, now = self.recipe.optim, schedule(self.recipe.optim, index, self.recipe.loop.iterations)
        coefficients = Coefficients(now.entropy, now.entropy_remark, now.kl_action, optim.kl_remark)
        batches = minibatches(collected, credit, coefficients, optim.minibatches)
        loss = LossConfig("policy", optim.clip_low, optim.clip_high, optim.kl, self.recipe.loop.temperature)
        adam = AdamParams(now.lr, optim.beta1, optim.beta2, weight_decay=optim.weight_decay, grad_clip=optim.grad_clip)
        steps = []
        for _ in range(optim.epochs):
            for batch in batches:
                seen = await self.engine.forward_backward(batch, loss)
                steps.append(seen | await self.engine.optim_step(adam))
        fresh = {name: steps[0][name] for name in ("logprob_diff_mean", "logprob_diff_max")}
        return (
            means(steps, ("loss", "entropy", "kl", "clip_fraction", "grad_norm"))
            | fresh
            | credit.diagnostics
            | {"lr": now.lr, "entropy_coefficient": now.entropy, "kl_coefficient": now.kl_action}
        )

    def _write(self, metrics: Row, timings: Row, collected: Collected, credit: Credit) -> None:
        """Records, checkpoint and progress of a finished iteration."""
        loop, done = self.recipe.loop, metrics["iteration"]
        last = done == loop.iterations
        self.folder.append_metrics(metrics)
        self.folder.append_timings(timings)
        if last or (loop.record_trials_every and done % loop.record_trials_every == 0):
            table = TrialFile(self.folder.trials_file(done))
            advantages = [turns.tolist() for turns in credit.advantages]
            table.write(zip(collected.trials, advantages, strict=True), self.engine.token_texts)
        if last:
            save_model(self.engine, self.folder.model_path)
        if last or done % loop.checkpoint_every == 0:
            with self.folder.checkpoint(done) as path:
                self.engine.save_state(path)
        for tracker in self.trackers:
            tracker.log(done, metrics, timings)
        self.progress.iteration(metrics, timings)


def save_model(engine: Engine, path: Path) -> None:
    """Write the model as a Transformers folder, whole or not at all. Raises RunError if it cannot be written."""
    part = path.with_name(f".{path.name}.partial")
    with writing(path):
        remove(part)
        part.mkdir()
        try:
            engine.save_model(part)
            for file in (*part.iterdir(), part):
                sync(file)
            remove(path)
            part.replace(path)
            sync(path.parent)
        finally:
            remove(part)


def means(steps: Sequence[Row], names: Sequence[str]) -> Row:
    """Mean of each over the steps that measured it; what none did is left out (KL where no token asked for it)."""
    measured = {name: [step[name] for step in steps if name in step] for name in names}
    return {name: float(np.mean(values)) for name, values in measured.items() if values}


def minibatches(collected: Collected, credit: Credit, coefficients: Coefficients, count: int) -> list[list[Datum]]:
    """The iteration's data in `count` parts of whole groups, in the order they were drawn."""
    bounds = np.linspace(0, len(collected.groups), count + 1).astype(int)
    sizes = np.cumsum([0, *(len(group.trials) for group in collected.groups)])
    trials = collected.trials
    parts = []
    for first, last in zip(sizes[bounds[:-1]].tolist(), sizes[bounds[1:]].tolist(), strict=True):
        part = training_data(trials[first:last], credit.advantages[first:last], coefficients).data
        if part:
            parts.append(part)
    if not parts:
        raise MageError(
            "nothing was sampled in this iteration: a prompt and trial.max_action_tokens do not fit the model's context"
        )
    return parts
