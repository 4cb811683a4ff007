"""Training: play an iteration's trials, give credit, learn, write down, again."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from mage.chance import derive
from mage.engine.base import Critic, Engine
from mage.engine.local import LocalEngine, set_threads
from mage.errors import RunError
from mage.explore import make_novelty
from mage.explore.novelty import Novelty
from mage.learn.credit import Credit, assign_credit, find_advantage
from mage.learn.data import Coefficients, StateValues, by_turn, training_data
from mage.learn.table import Reals
from mage.methods import prompts_only
from mage.play.collect import Collected, collect
from mage.play.memories.shelf import STORE
from mage.play.memories.store_file import check_writable, take_up, write_back
from mage.play.memory import Memory
from mage.play.opponents.population import draw_tasks
from mage.play.records import Phase
from mage.recipe import Recipe
from mage.references import is_reference
from mage.run.arena import Arena, make_arena
from mage.run.base_model import starting_model
from mage.run.checkpoints import Checkpoint
from mage.run.files import Row
from mage.run.folder import RunFolder
from mage.run.metrics import trial_metrics
from mage.run.mode import Mode, draw_mode
from mage.run.model_folder import save_model
from mage.run.progress import ProgressSink
from mage.run.resume import resume_point
from mage.run.seal import damage
from mage.run.trackers import Tracker, open_trackers
from mage.run.trial_file import TrialFile
from mage.run.update import update


def train(recipe: Recipe, folder: RunFolder, *, resume: bool = False, progress: ProgressSink) -> None:
    """Run a recipe to its end in `folder`, from the start or from its last checkpoint.

    Raises MageError for what the user can mend; everything saved before stays.
    """
    RunFolder.open(folder.path, recipe)  # a run of this recipe
    check_trainable(recipe)
    with folder.lock():  # before anything that can fail: who fails without it has no say about the folder
        if not resume and folder.metrics_path.exists():
            raise RunError(f"{folder.path} has iterations already: resume the run, or choose another folder")
        arena = make_arena(recipe)
        progress.start(recipe, folder)
        try:
            set_threads(recipe.engine.threads)
            checkpoint = resume_point(folder, progress) if resume else None
            if checkpoint and checkpoint.iteration == recipe.loop.iterations:
                progress.note(f"the run is complete: all {recipe.loop.iterations} iterations are done")
                _mend_model(folder, checkpoint, progress)
                return
            start = checkpoint.iteration if checkpoint else 0
            _begin_memory(folder, arena.memory)
            trackers = open_trackers(folder, recipe.trackers, start + 1)
            try:
                engine = _open_engine(recipe, progress)
                novelty = make_novelty(recipe.novelty, derive(recipe.seed, "novelty"))
                if resume:
                    _restore(folder, engine, arena, novelty, checkpoint, progress)
                asyncio.run(_Run(arena, engine, novelty, folder, progress, trackers).iterations(start))
            finally:
                for tracker in trackers:
                    tracker.close()
        finally:
            progress.done()


def _mend_model(folder: RunFolder, last: Checkpoint, progress: ProgressSink) -> None:
    """Write the trained model again where it is not what was written at the end of the run."""
    wrong = damage(folder.model_path)
    if wrong:
        engine = _open_engine(folder.recipe, progress)
        engine.load_state(last.path)
        save_model(engine, folder.model_path)
        progress.note(f"the model was written again from the last checkpoint: in {folder.model_path.name}, {wrong}")


def check_trainable(recipe: Recipe) -> None:
    """Raise RunError for a prompting method: there is nothing to train. RecipeError for an advantage that is none."""
    if prompts_only(recipe.method):
        raise RunError(
            f"method = {recipe.method!r} prompts a model and trains nothing: measure it with "
            "`mage eval MODEL --recipe RECIPE` or `mage compare`"
        )
    if is_reference(recipe.credit.advantage):
        find_advantage(recipe.credit.advantage)


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
    engine = LocalEngine.open(
        starting_model(recipe),
        max_tokens_per_batch=section.max_tokens_per_batch,
        critic=recipe.credit.advantage == "gae",
    )
    if recipe.optim.kl_action or recipe.optim.kl_action_end or recipe.optim.kl_remark:
        engine.freeze_reference()
    return engine


def _begin_memory(folder: RunFolder, memory: Memory) -> None:
    """Fill a memory from `recall.path`, as it was when the run began: a copy is kept beside the checkpoints."""
    if not folder.recipe.recall.path:
        return
    check_writable(memory)
    copy = folder.path / STORE
    if copy.exists():
        take_up(memory, copy)
    else:
        take_up(memory)
        memory.save(folder.path)


def _restore(
    folder: RunFolder,
    engine: Engine,
    arena: Arena,
    novelty: Novelty | None,
    checkpoint: Checkpoint | None,
    progress: ProgressSink,
) -> None:
    """Take up the last checkpoint; later metrics are dropped. Says if versions or threads are others than before."""
    done = 0 if checkpoint is None else checkpoint.iteration
    if checkpoint is not None:
        engine.load_state(checkpoint.path)
        arena.memory.load(checkpoint.path)
        if novelty:
            novelty.load(checkpoint.path)
    folder.truncate_metrics(done)
    progress.note(f"resumed after iteration {done}" if done else "no checkpoint yet: starting from the beginning")
    changed = folder.changed_since_start()
    if changed:
        progress.note(f"not bit for bit what an unbroken run would be: {changed}")


class _Run:
    """One run under way."""

    def __init__(
        self,
        arena: Arena,
        engine: Engine,
        novelty: Novelty | None,
        folder: RunFolder,
        progress: ProgressSink,
        trackers: Sequence[Tracker],
    ) -> None:
        self.arena, self.engine, self.novelty, self.folder = arena, engine, novelty, folder
        self.progress, self.trackers = progress, trackers
        self.recipe = arena.recipe
        self.actor = arena.actor(engine, self.recipe.loop.temperature, explores=True)

    async def iterations(self, start: int) -> None:
        """Iterations `start` (from 0) to the last."""
        with collector_paused():
            for index in range(start, self.recipe.loop.iterations):
                await self._iteration(index)
                gc.collect()

    async def _iteration(self, index: int) -> None:
        """Play, give credit, learn, write down."""
        began = time.perf_counter()
        mode = draw_mode(self.recipe.hybrid, self.recipe.seed, index)
        collected = await self._collect(index, mode)
        played = time.perf_counter()
        metrics = {"iteration": index + 1, **trial_metrics(collected, self.recipe.trial.episodes)}
        values = await self._values(collected) if self.recipe.credit.advantage == "gae" else None
        credit = self._credit(collected, values)
        metrics |= await update(self.engine, self.recipe, collected, credit, index, mode)
        if self.recipe.hybrid.aids:
            metrics |= {"aided": float(mode.aided), "off_policy": float(mode.off_policy)}
        ended = time.perf_counter()
        timings = {
            "iteration": index + 1,
            "seconds": ended - began,
            "sample_seconds": played - began,
            "train_seconds": ended - played,
            "tokens_per_second": (metrics["tokens_sampled"] + metrics["tokens_read"]) / (ended - began),
        }
        self._write(metrics, timings, collected, credit)

    async def _collect(self, index: int, mode: Mode) -> Collected:
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
        collected = await collect(tasks, recipe.loop.group_size, self.arena.player(self.actor, mode.aided))
        self.arena.memory.settle(collected.kept)
        if collected.failure_share > recipe.loop.failure_share or not collected.groups:
            reasons = "; ".join(sorted({dropped.reason for dropped in collected.dropped})[:3])
            raise RunError(
                f"iteration {index + 1}: {len(collected.dropped)} of {len(tasks)} groups had to be dropped "
                f"(loop.failure_share = {recipe.loop.failure_share}): {reasons}"
            )
        return collected

    async def _values(self, collected: Collected) -> list[Reals]:
        """What the value function says of each turn's state before the update, one array per trial."""
        if not isinstance(self.engine, Critic):
            raise RunError("credit.advantage = 'gae' needs an engine with a value function: engine.kind tiny or local")
        blank = [np.zeros(len(trial.turns)) for trial in collected.trials]
        everywhere = [np.ones(len(trial.turns), dtype=np.bool_) for trial in collected.trials]
        data = training_data(collected.trials, blank, Coefficients(), StateValues(blank, blank, everywhere)).data
        return by_turn(collected.trials, await self.engine.values(data))

    def _credit(self, collected: Collected, values: Sequence[Reals] | None) -> Credit:
        trial = self.recipe.trial
        strategy = self.recipe.actor.max_strategy_tokens if self.recipe.actor.kind == "strategy" else 0
        limits: dict[Phase, int] = {"act": trial.max_action_tokens + strategy, "reflect": trial.max_remark_tokens}
        found = self.novelty.rewards(collected.trials) if self.novelty else None
        return assign_credit(collected.trials, self.recipe.credit, max_tokens=limits, values=values, rewards=found)

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
            write_back(self.arena.memory)
        if last or done % loop.checkpoint_every == 0:
            with self.folder.checkpoint(done) as path:
                self.engine.save_state(path)
                self.arena.memory.save(path)
                if self.novelty:
                    self.novelty.save(path)
        for tracker in self.trackers:
            tracker.log(done, metrics, timings)
        self.progress.iteration(metrics, timings)
