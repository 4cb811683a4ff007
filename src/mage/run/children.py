"""Commands of this program in processes of their own, which end when their parent is told to."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from mage.errors import RunError
from mage.run.files import writing


class Children:
    """The processes under way. What they write goes to logs: `LABEL.out` (stdout) and `LABEL.log` (stderr)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def run(self, arguments: Sequence[str], folder: Path, label: str) -> None:
        """Run `mage ARGUMENTS` to its end. Raises RunError with its own last words where it fails."""
        log = folder / f"{label}.log"
        with writing(log), (folder / f"{label}.out").open("wb") as out, log.open("wb") as errors:
            with self._lock:
                if self.stopped:
                    raise RunError("stopped")
                process = subprocess.Popen(
                    [sys.executable, "-m", "mage", *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=errors
                )
                self._running.add(process)
            try:
                status = process.wait()
            finally:
                with self._lock:
                    self._running.discard(process)
        if status:
            raise RunError(f"`mage {' '.join(arguments)}` failed: {_last_words(status, log)} (all of it: {log})")

    def stop(self) -> None:
        """Tell those under way to end, and let none begin. They save what they have and end in good order."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                process.terminate()


def _last_words(status: int, log: Path) -> str:
    """The error that a process told, or how it ended where it told none."""
    if status < 0:
        return f"killed by signal {-status} ({signal.Signals(-status).name})"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].removeprefix("mage: error: ") if lines else f"ended with status {status}"
