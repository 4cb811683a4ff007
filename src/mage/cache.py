"""Where what is computed once is kept: equilibria and tiny bases."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$MAGE_CACHE_DIR`, else `~/.cache/mage`; it need not exist yet."""
    return Path(os.environ.get("MAGE_CACHE_DIR") or Path.home() / ".cache" / "mage")
