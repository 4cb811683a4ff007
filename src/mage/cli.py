"""The command line. Each command imports what it needs when it is called, so that `mage --help` is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import mage
from mage.errors import MageError
from mage.process import run as run_app

app = typer.Typer(
    name="mage",
    help="Train language agents that explore, reflect and adapt over several episodes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: mage train kuhn, then mage eval runs/kuhn, then mage report runs/kuhn",
)

Json = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]


class Kind(StrEnum):
    """What `mage ls` lists."""

    recipes = "recipes"
    games = "games"
    opponents = "opponents"
    methods = "methods"


class ActorKind(StrEnum):
    """Who is evaluated."""

    model = "model"
    random = "random"
    oracle = "oracle"


class RestartKind(StrEnum):
    """How episodes of a trial begin."""

    redeal = "redeal"
    replay = "replay"


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        sys.stdout.write(f"mage {mage.__version__}\n")
        raise typer.Exit


@app.command(epilog="Example: mage train kuhn seed=1 loop.iterations=100 --run runs/short")
def train(
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A TOML file or a name of `mage ls recipes`.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="key=value", help="Settings that replace the recipe's.")
    ] = None,
    run: Annotated[Path | None, typer.Option(help="Folder of the run; default: runs/<name of the recipe>.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Go on with a run that was stopped.")] = None,
    json: Json = False,
) -> None:
    """Train an agent as a recipe says, or go on with a run."""
    from mage.commands.train import train_command

    train_command(recipe, overrides or [], run=run, resume=resume, json=json)


@app.command(name="eval", epilog="Example: mage eval runs/kuhn --shuffle-remarks")
def evaluate(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|MODEL",
            help="A run folder, or a model's folder with --recipe; for play without a model a recipe.",
        ),
    ],
    recipe: Annotated[str | None, typer.Option(help="Play by this recipe instead of the run's.")] = None,
    against: Annotated[
        list[str] | None, typer.Option(metavar="OPPONENT", help="Only these opponents (repeatable).")
    ] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="The opponents that training never saw.")] = False,
    exact: Annotated[
        bool | None, typer.Option("--exact/--sampled", help="Enumerate all deals, or sample them.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="0 is greedy; default: the recipe's.")] = None,
    trials: Annotated[int | None, typer.Option(min=2, help="Sampled trials per opponent.")] = None,
    shuffle_remarks: Annotated[
        bool, typer.Option("--shuffle-remarks", help="Swap remarks among trials: is what is written used?")
    ] = False,
    memory: Annotated[
        str | None, typer.Option("--memory", help="What the agent remembers, where it is not what the recipe says")
    ] = None,
    actor: Annotated[ActorKind, typer.Option(help="The model, random legal play, or an oracle's.")] = ActorKind.model,
    seed: Annotated[int | None, typer.Option(help="Seed of the evaluation tasks.")] = None,
    json: Json = False,
) -> None:
    """Measure an agent: payoff by episode, per opponent, beside the exact values."""
    from mage.commands.evaluate import eval_command

    if against and held_out:
        raise MageError("--against and --held-out both say whom to meet: give one of them")
    options = {
        "opponents": against or None,
        "held_out": held_out,
        "exact": exact,
        "temperature": temperature,
        "trials": trials,
        "shuffle_remarks": shuffle_remarks,
        "memory": memory,
        "actor": actor.value,
        "seed": seed,
    }
    eval_command(target, recipe=recipe, json=json, options=options)


@app.command(epilog="Example: mage compare kuhn --methods mage,lamer,grpo --seeds 0,1,2")
def compare(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A TOML file or a name of `mage ls recipes`.")],
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="Methods; the first is what others are held against.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="key=value", help="Settings of all of them.")] = None,
    seeds: Annotated[str, typer.Option(metavar="X,Y,…", help="A run of each method for each of them.")] = "0,1,2",
    parallel: Annotated[int | None, typer.Option(min=1, help="Runs at a time; default: as the cores allow.")] = None,
    run: Annotated[Path | None, typer.Option(help="Folder of all runs; default: runs/compare-<recipe>.")] = None,
    json: Json = False,
) -> None:
    """Hold methods against one another: same tasks, deals and opponents for all."""
    from mage.commands.compare import compare_command

    compare_command(recipe, overrides or [], methods=methods, seeds=seeds, parallel=parallel, folder=run, json=json)


@app.command(epilog="Example: mage limit kuhn_poker --pool conservative,aggressive,intermediate --episodes 3")
def limit(
    game: Annotated[str, typer.Argument(help="A game of `mage ls games`.")],
    pool: Annotated[str | None, typer.Option(metavar="A,B,…", help="Opponents, one of which is met.")] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of a trial.")] = 3,
    weights: Annotated[str | None, typer.Option(metavar="X,Y,…", help="Their shares; default: equal.")] = None,
    restart: Annotated[RestartKind, typer.Option(help="New deals, or the same one again.")] = RestartKind.redeal,
    json: Json = False,
) -> None:
    """Exact values: the best that cannot adapt, the adaptive optimum, the opponent known."""
    from mage.commands.limit import limit_command

    limit_command(game, pool=pool, weights=weights, episodes=episodes, restart=restart.value, json=json)


@app.command(epilog="Example: mage peers evidence --selectors linucb,random --seeds 0,1,2")
def peers(
    setting: Annotated[str, typer.Argument(help="delegation, parametric or evidence.")],
    selectors: Annotated[
        str, typer.Option(metavar="A,B,…", help="Who chooses whom to ask.")
    ] = "linucb,greedy,ucb1,in_context,random,fixed,oracle",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of a run.")] = 50,
    seeds: Annotated[str, typer.Option(metavar="X,Y,…", help="A run for each of them.")] = "0,1,2",
    trial_rounds: Annotated[
        int | None, typer.Option(min=0, help="Rounds of the trial phase; default: 60% of them.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(min=0, help="LinUCB: weight of the bonus.")] = None,
    ridge: Annotated[float | None, typer.Option(help="LinUCB: λ, the weight of the prior.")] = None,
    models: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Peers that are models: run or Transformers folders.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--peers", help="As so many peers one model answers, each with its own notes.")
    ] = None,
    selector_model: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The model whose choice is in_context.")
    ] = None,
    json: Json = False,
) -> None:
    """Whom to ask: regret of peer selectors side by side (MACE)."""
    from mage.commands.peers import peers_command

    peers_command(
        setting,
        selectors=selectors,
        rounds=rounds,
        trial_rounds=trial_rounds,
        seeds=seeds,
        alpha=alpha,
        ridge=ridge,
        models=models,
        peers=count,
        selector_model=selector_model,
        json=json,
    )


@app.command(epilog="Example: mage report runs/kuhn")
def report(run: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Write the run's report, one HTML file that needs no network."""
    from mage.run.folder import RunFolder
    from mage.show.report import write_report

    sys.stdout.write(f"{write_report(RunFolder.open(run)).resolve()}\n")


@app.command(epilog="Example: mage play kuhn_poker --against runs/kuhn --episodes 5")
def play(
    game: Annotated[str, typer.Argument(help="A game of `mage ls games`.")],
    against: Annotated[
        str | None,
        typer.Option(metavar="RUN|OPPONENT", help="A run folder, or a name of `mage ls opponents`; not with one seat."),
    ] = None,
    seat: Annotated[int | None, typer.Option(help="Your seat, from 0; default: drawn.")] = None,
    episodes: Annotated[int | None, typer.Option(min=1, help="Default: 3, or as the run was trained.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the deals; default: drawn.")] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Of the trained agent; 0 is greedy.")] = 0.0,
) -> None:
    """Play a game yourself in the terminal."""
    from mage.commands.play import play_command

    play_command(game, against=against, seat=seat, episodes=episodes, seed=seed, temperature=temperature)


@app.command(name="ls", epilog="Example: mage ls opponents")
def list_(what: Annotated[Kind, typer.Argument(help="What to list.")], json: Json = False) -> None:
    """List recipes, games, opponents or methods."""
    from mage.commands.listing import list_command

    list_command(what.value, json=json)


@app.command(epilog="Example: mage doctor")
def doctor(json: Json = False) -> None:
    """Examine this machine; each problem comes with what mends it."""
    from mage.commands.listing import doctor_command

    raise typer.Exit(doctor_command(json=json))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see `mage.process.run`."""
    return run_app(app, arguments)
