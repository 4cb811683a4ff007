"""Where a stopped run goes on."""

from __future__ import annotations

from mage.errors import RunError
from mage.run.checkpoints import Checkpoint
from mage.run.files import set_aside, unbroken_rows
from mage.run.folder import RunFolder
from mage.run.progress import ProgressSink


def resume_point(folder: RunFolder, progress: ProgressSink) -> Checkpoint | None:
    """The newest whole checkpoint up to which the metrics have every iteration; None means the beginning.

    Metrics that lack some are copied before they are written again, and that is said. Raises RunError if there are
    checkpoints and all are damaged.
    """
    newest = folder.latest_checkpoint()
    rows, lines = unbroken_rows(folder.metrics_path)
    if newest is None or newest.iteration <= rows:
        return newest
    try:
        earlier = folder.latest_checkpoint(up_to=rows)
    except RunError:  # those that the metrics reach are damaged; nothing is lost by playing all of it again
        earlier = None
    back = f"the checkpoint of iteration {earlier.iteration}" if earlier else "the beginning"
    kept = f"; what was there is kept in {set_aside(folder.metrics_path).name}" if lines > rows else ""
    progress.note(
        f"{folder.metrics_path.name} has no whole row of iteration {rows + 1}: going back from iteration "
        f"{newest.iteration} to {back}{kept}"
    )
    return earlier
