import asyncio
import math
import random
from pathlib import Path

from mage.play.actors import RandomActor
from mage.play.games import make_game
from mage.play.memories import make_memory
from mage.play.opponents import make_opponent
from mage.play.records import Task
from mage.play.trial import play_trial
from mage.recipe import Recipe
from mage.recipe_file import parse_recipe
from mage.run.folder import RunFolder
from mage.run.trial_file import TrialFile

POOL = ("conservative", "aggressive", "intermediate")
ENDS = (0.117, 0.198, 0.242)


class Words:
    """A renderer whose tokens are words."""

    def __init__(self):
        self.words = []

    def encode(self, text):
        for word in text.split():
            if word not in self.words:
                self.words.append(word)
        return tuple(self.words.index(word) for word in text.split())

    def texts(self, tokens):
        return [f"{self.words[token]} " for token in tokens]

    system = user = encode

    def close(self, sampled):
        return ()


def metrics_row(iteration, total):
    noise = random.Random(iteration)
    way = 1 - math.exp(-4 * iteration / total)
    payoff = [-0.2 + (end + 0.2) * way + noise.gauss(0, 0.03) for end in ENDS]
    return {
        "iteration": iteration,
        "payoff": payoff,
        "payoff_sem": [0.03] * 3,
        "payoff_by_opponent": {name: [value + 0.02 * k for value in payoff] for k, name in enumerate(POOL)},
        "payoff_sem_by_opponent": {name: [0.05] * 3 for name in POOL},
        "trials_by_opponent": dict.fromkeys(POOL, 341),
        "won": [0.5, 0.55, 0.6],
        "drawn": [0.0, 0.0, 0.0],
        "lost": [0.5, 0.45, 0.4],
        "trials": 1024,
        "dropped_groups": 0,
        "drop_reasons": {},
        "invalid_share": 0.05 * math.exp(-iteration / 20),
        "truncated_share": 0.0,
        "silent_groups": 0.1 + 0.2 * way,
        "entropy": 0.6 - 0.4 * way,
        "kl": 0.08 * way,
        "clip_fraction": 0.1,
        "logprob_diff_mean": 2e-7,
        "logprob_diff_max": 3e-6 * (1 + noise.random()),
        "grad_norm": 0.5 + noise.random(),
        "loss": 0.1,
        "lr": 1e-3,
        "entropy_coef": 0.1,
        "tokens_sampled": 30_000,
        "tokens_read": 60_000,
    }


def timings_row(iteration):
    return {
        "iteration": iteration,
        "seconds": 1.2,
        "sample_seconds": 0.7,
        "train_seconds": 0.5,
        "tokens_per_second": 25_000.0,
    }


def eval_result(*, kind="exact", shuffled=False, actor="model"):
    payoff = [0.117, 0.104, 0.104] if shuffled else list(ENDS)

    def row(shift):
        values = [value + shift for value in payoff]
        wide = 0.0 if kind == "exact" else 0.03
        return {
            "held_out": False,
            "trials": 432,
            "payoff": values,
            "interval": [[value - wide, value + wide] for value in values],
            "by_seat": {"0": values, "1": values},
            "won": [0.5, 0.55, 0.6],
            "drawn": [0.0, 0.0, 0.0],
            "lost": [0.5, 0.45, 0.4],
            "pass_at_k": [0.5, 0.7, 0.8],
            "turns": [1.5, 1.5, 1.5],
        }

    return {
        "kind": kind,
        "why_not_exact": None if kind == "exact" else "the tree has too many positions",
        "target": "runs/fake",
        "iteration": 400,
        "temperature": 0.0,
        "shuffle_remarks": shuffled,
        "actor": actor,
        "episodes": 3,
        "units": "chips per hand",
        "opponents": {name: row(0.05 * k - 0.05) for k, name in enumerate(POOL)},
        "pooled": row(0.0),
        "limits": {
            "non_adaptive": 0.1111,
            "adaptive": 0.2423,
            "adaptive_by_episodes": [0.1111, 0.2037, 0.2423],
            "known": 0.2778,
        },
        "invalid_share": 0.001,
        "seconds": 3.2,
    }


def fake_recipe(**loop) -> Recipe:
    pool = [{"name": name} for name in POOL]
    return parse_recipe({"name": "fake", "population": {"train": pool}, "loop": loop}, "fake")


async def fake_trials(count):
    game, words = make_game("kuhn_poker"), Words()
    actor = RandomActor(reports=True, renderer=words, encode=words.encode)
    memory = make_memory("reflection")
    opponents = {name: make_opponent(name, game) for name in POOL}
    pairs = []
    for index in range(count):
        task = Task(index, index % 2, POOL[index % 3], 3, "redeal", 1000 + index)
        trial = await play_trial(task, 0, game=game, opponent=opponents[task.opponent], actor=actor, memory=memory)
        pairs.append((trial, [random.Random(index * 31 + k).gauss(0, 1) for k in range(len(trial.turns))]))
    return pairs, words


def fill(path: Path, iterations=120, trials=60) -> RunFolder:
    folder = RunFolder.create(fake_recipe(iterations=iterations), path)
    for iteration in range(1, iterations + 1):
        folder.append_metrics(metrics_row(iteration, iterations))
        folder.append_timings(timings_row(iteration))
    pairs, words = asyncio.run(fake_trials(trials))
    TrialFile(folder.trials_file(iterations)).write(pairs, words.texts)
    folder.write_eval("default", eval_result())
    folder.write_eval("shuffle_remarks", eval_result(kind="sampled", shuffled=True))
    return folder
