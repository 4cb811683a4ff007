"""What every measurement writes beside its numbers: machine, versions, date; and the table it prints."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    cpuinfo = Path("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in _lines(cpuinfo) if line.startswith("model name")]
    total = [int(line.split()[1]) for line in _lines(Path("/proc/meminfo")) if line.startswith("MemTotal")]
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(total[0] / 2**20, 1) if total else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def versions(*distributions: str) -> dict[str, str | None]:
    """The installed version of each distribution, None where there is none."""
    return {name: _version(name) for name in distributions}


def write(name: str, on: Mapping[str, Any], settings: Mapping[str, Any], result: Any) -> Path:
    """Write `bench/results/NAME.json` and return its path. `on`: `machine()`, taken before the work started."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    packages = versions("mage-rl", "open-spiel", "numpy", "torch", "transformers", "ray", "trl")
    everything = {"date": date, "machine": on, "versions": packages, "settings": settings, "result": result}
    path.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    return path


def as_recorded(parser: argparse.ArgumentParser, options: argparse.Namespace) -> bool:
    """Whether a run was asked for as it is recorded: only such a one replaces the figures that are kept."""
    asked = {name: value for name, value in vars(options).items() if name != "parallel"}
    same = all(value == parser.get_default(name) for name, value in asked.items())
    if not same:
        print("a run with other settings than those recorded: what is kept stays as it is")
    return same


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: words to the left, numbers to the right."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if rows and isinstance(rows[0][index], str) else "right")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, str) else _number(cell) for cell in row))
    Console().print(table)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:,.2f}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
