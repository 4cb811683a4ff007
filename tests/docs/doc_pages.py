"""Markdown pages taken apart: code blocks, commands, links, headings, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block. The info string says what it is: `python`, `python file=NAME`, `sh`, `sh run`, `toml`, `text`."""

    language: str
    options: tuple[str, ...]
    text: str
    output: str | None
    """The `text` block right after it, if there is one: what it prints."""

    @property
    def file(self) -> str | None:
        """The file that the block is to be saved as."""
        return next((option.removeprefix("file=") for option in self.options if option.startswith("file=")), None)

    def commands(self) -> list[str]:
        """The lines of a shell block."""
        return [line.strip() for line in self.text.splitlines() if line.strip() and not line.startswith("#")]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    source = page.read_text(encoding="utf-8")
    matches = list(_FENCE.finditer(source))
    found = []
    for index, match in enumerate(matches):
        language, *options = match["info"].split() or [""]
        following = matches[index + 1] if index + 1 < len(matches) else None
        output = None
        if following and following["info"].strip() == "text" and not source[match.end() : following.start()].strip():
            output = following["text"]
        found.append(Block(language, tuple(options), match["text"], output))
    return found


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def code_spans(page: Path) -> Iterator[str]:
    """Everything between single backticks, on one line or broken over two."""
    for match in re.finditer(r"`([^`]+)`", prose(page)):
        yield " ".join(match[1].split())


def links(page: Path) -> Iterator[tuple[str, str]]:
    """(path, anchor) of every link to something in the repository; the path is empty for the page itself."""
    for match in re.finditer(r"\]\(([^)\s]+)\)", prose(page)):
        if not re.match(r"[a-z]+:", match[1]):
            path, _, anchor = match[1].partition("#")
            yield path, anchor


def anchors(page: Path) -> set[str]:
    """The anchors that headings make."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def rows(page: Path) -> Iterator[list[str]]:
    """The cells of every table row, backticks removed from cells that are one code span."""
    for line in prose(page).splitlines():
        if line.startswith("|") and not set(line) <= set("|-: "):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            yield [cell[1:-1] if re.fullmatch(r"`[^`]+`", cell) else cell for cell in cells]
