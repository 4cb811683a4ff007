"""Draws docs/adaptation.svg, payoff by episode beside the exact values, from results of `mage eval`.

    python docs/make_picture.py runs/kuhn/eval/default.json runs/kuhn/eval/shuffle_remarks.json
    python docs/make_picture.py "own remarks=runs/adaptation/kuhn-seed*/eval/default.json"

An argument is a file, or a pattern for several; before `=` may stand a label. Results that share a label are one line
through their mean with a thin line for each. Without a label it is what the evaluation was (`trained agent`,
`remarks shuffled`, `random play`). Equal results give equal bytes.
"""

from __future__ import annotations

import argparse
import glob
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mage.show.charts import adaptation_figure, save_svg

Row = dict[str, Any]
PICTURE = Path(__file__).with_name("adaptation.svg")


def read_results(argument: str) -> list[Row]:
    """The results that `[label=]pattern` means. Raises SystemExit where no file fits, or one is no result."""
    label, equals, pattern = argument.rpartition("=")
    paths = sorted(glob.glob(pattern))
    if not paths:
        raise SystemExit(f"no such file: {pattern}")
    results = []
    for path in paths:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(result, dict) or "pooled" not in result:
            raise SystemExit(f"{path}: not a result of mage eval (it has no 'pooled')")
        results.append({**result, "label": label} if equals else result)
    return results


def draw(results: Sequence[Row], path: Path) -> None:
    """Write the picture."""
    save_svg(adaptation_figure(results), path, "adaptation")


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw what the command line names."""
    parser = argparse.ArgumentParser(description="Draw payoff by episode from results of mage eval.")
    parser.add_argument(
        "results", nargs="+", metavar="[LABEL=]FILE", help="results of mage eval; patterns are expanded"
    )
    parser.add_argument("--out", type=Path, default=PICTURE, help="default: docs/adaptation.svg")
    options = parser.parse_args(arguments)
    draw([result for argument in options.results for result in read_results(argument)], options.out)
    sys.stdout.write(f"{options.out}\n")


if __name__ == "__main__":
    main()
