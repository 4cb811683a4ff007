"""`mage train`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from mage.commands.recipes import load_recipe
from mage.errors import MageError, RecipeError, RunError
from mage.run.folder import RunFolder
from mage.show.progress import choose_progress


def train_command(
    recipe: str | None, overrides: Sequence[str], *, run: Path | None, resume: Path | None, json: bool
) -> None:
    """Start a run, or go on with one."""
    if resume is not None:
        given = [*([recipe] if recipe else []), *overrides]
        if given:
            raise RecipeError(f"--resume goes on with the run's own recipe: leave out {' '.join(given)}")
        if run is not None:
            raise RunError("--resume names the run already: leave out --run")
        folder = RunFolder.open(resume)
    elif recipe is None:
        raise RecipeError("which recipe? Give a file or a name of `mage ls recipes`, or --resume RUN")
    else:
        folder = RunFolder.create(load_recipe(recipe, overrides), run)
    _train(folder, resume=resume is not None, json=json)


def _train(folder: RunFolder, *, resume: bool, json: bool) -> None:
    from mage.run.train import train

    run = shlex.quote(str(folder.path))
    try:
        train(folder.recipe, folder, resume=resume, progress=choose_progress(json=json))
    except MageError:
        if not resume:
            folder.discard_unused()
        raise
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; go on with: mage train --resume {run}\n")
        raise
    if not json:
        sys.stdout.write(f"{folder.path}\nnext: mage eval {run} && mage report {run}\n")
