"""What a machine needs to run this: what was found and, if something is wrong, the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from mage.cache import cache_folder

Status = Literal["ok", "warning", "problem"]
GIB = 1024**3
MEMORY_NEEDED = 3 * GIB
DISK_NEEDED = 1 * GIB
OPTIONAL = ("tensorboard", "wandb")


@dataclass(frozen=True, slots=True)
class Check:
    """One finding."""

    name: str
    status: Status
    found: str
    mend: str = ""
    """A command, or a sentence, that mends it."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def examine(folder: Path = Path()) -> list[Check]:
    """All checks; `folder` is where runs would be written. Takes some seconds (PyTorch and OpenSpiel are imported)."""
    checks: list[Callable[[], Check]] = [
        check_python,
        check_packages,
        check_torch,
        check_openspiel,
        check_cores,
        check_memory,
        lambda: check_disk(folder),
        check_cache,
        check_optional,
    ]
    return [check() for check in checks]


def check_python(version: tuple[int, ...] = tuple(sys.version_info[:3])) -> Check:
    """Python 3.11 to 3.13."""
    found = ".".join(map(str, version))
    if (3, 11) <= version[:2] <= (3, 13):
        return Check("python", "ok", f"{found} on {platform.system()} {platform.machine()}")
    return Check("python", "problem", f"{found}; 3.11 to 3.13 are supported", "python3.13 -m venv .venv")


def check_packages(distribution: str = "mage-rl") -> Check:
    """The packages that the distribution requires are there in versions that fit."""
    from packaging.requirements import Requirement

    wrong = []
    requirements = [Requirement(line) for line in metadata.requires(distribution) or ()]
    needed = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    for requirement in needed:
        version = installed(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append((f"{requirement.name} {version or 'is missing'}", f"'{requirement}'"))
    if not wrong:
        return Check("packages", "ok", f"{len(needed)} required packages are installed")
    names, specs = zip(*wrong, strict=True)
    return Check("packages", "problem", ", ".join(names), f"{sys.executable} -m pip install {' '.join(specs)}")


def check_torch() -> Check:
    """PyTorch multiplies, and on what."""
    try:
        import torch

        finite = bool(torch.isfinite(torch.ones(64, 64) @ torch.ones(64, 64)).all())
    except Exception as error:  # a broken native library fails in many ways
        return Check("torch", "problem", f"{type(error).__name__}: {error}", f"{sys.executable} -m pip install torch")
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"
    status: Status = "ok" if finite else "problem"
    return Check("torch", status, f"{torch.__version__} on {device}, {torch.get_num_threads()} threads")


def check_openspiel() -> Check:
    """A hand of Kuhn poker can be played."""
    mend = f"{sys.executable} -m pip install 'open-spiel>=2.0,<3'"
    try:
        import pyspiel

        state = pyspiel.load_game("kuhn_poker").new_initial_state()
        for action in (2, 0, 1, 1):  # K and J dealt, bet, call
            state.apply_action(action)
        returns = list(state.returns())
    except Exception as error:  # a broken native library fails in many ways
        return Check("open-spiel", "problem", f"{type(error).__name__}: {error}", mend)
    if returns != [2.0, -2.0]:
        return Check("open-spiel", "problem", f"a hand of Kuhn poker ended with {returns}, not [2.0, -2.0]", mend)
    return Check("open-spiel", "ok", f"{installed('open-spiel')}, a hand of Kuhn poker ends as it should")


def check_cores() -> Check:
    """Cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Check("cores", "ok", f"{cores}")


def check_memory(free: int | None = None) -> Check:
    """Free memory, against what the default runs take."""
    free = free_memory() if free is None else free
    if free is None:
        return Check("memory", "ok", "not known on this system")
    found = f"{free / GIB:.1f} GiB free"
    if free >= MEMORY_NEEDED:
        return Check("memory", "ok", found)
    return Check("memory", "warning", found, "the default runs take up to 3 GB: close other programs")


def check_disk(folder: Path) -> Check:
    """Free disk where runs are written."""
    free = shutil.disk_usage(folder).free
    found = f"{free / GIB:.1f} GiB free in {folder.resolve()}"
    if free >= DISK_NEEDED:
        return Check("disk", "ok", found)
    return Check("disk", "warning", found, "free some space, or write runs elsewhere: mage train … --run DIR")


def check_cache() -> Check:
    """The folder of what is computed once can be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        mend = "export MAGE_CACHE_DIR=/a/folder/that/can/be/written"
        return Check("cache", "problem", f"{folder}: {error.strerror}", mend)
    return Check("cache", "ok", str(folder))


def check_optional() -> Check:
    """Extras."""
    found = [f"{name} {installed(name) or '–'}" for name in OPTIONAL]
    return Check("extras", "ok", ", ".join(found))


def installed(name: str) -> str | None:
    """Version of an installed distribution, None if there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def free_memory() -> int | None:
    """Bytes that this process may still take: of the machine and of its control group. None if not known."""
    machine = _meminfo(Path("/proc/meminfo"))
    limit = _number(Path("/sys/fs/cgroup/memory.max"))
    used = _number(Path("/sys/fs/cgroup/memory.current"))
    if machine is None or limit is None or used is None:
        return machine
    return min(machine, limit - used)


def _meminfo(path: Path) -> int | None:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no control group, or "max"
        return None
