"""`mage ls` and `mage doctor`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from mage.run.files import Row, encode


def list_command(what: str, *, json: bool) -> None:
    """Show what exists of a kind."""
    kinds: dict[str, Callable[[], list[Row]]] = {
        "recipes": _recipes,
        "games": _games,
        "opponents": _opponents,
        "methods": _methods,
    }
    rows = kinds[what]()
    if json:
        sys.stdout.write(encode(rows) + "\n")
    else:
        _show(rows)


def doctor_command(*, json: bool) -> int:
    """Examine the machine; returns 1 if something keeps runs from working."""
    from mage.run.doctor import examine

    checks = examine()
    if json:
        sys.stdout.write(encode([check.as_dict() for check in checks]) + "\n")
    else:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2), show_header=False)
        styles = {"ok": "green", "warning": "yellow", "problem": "bold red"}
        for check in checks:
            mend = f"\nmend: {check.mend}" if check.mend else ""
            table.add_row(check.name, Text(check.status, styles[check.status]), Text(check.found + mend))
        Console(highlight=False).print(table)
    return int(any(check.status == "problem" for check in checks))


def _recipes() -> list[Row]:
    from mage.commands.recipes import shipped_recipes, summary

    return [{"name": name, "summary": summary(path), "path": str(path)} for name, path in shipped_recipes().items()]


def _games() -> list[Row]:
    from mage.play.games import describe_game, game_extra, game_names, game_parameters, make_game

    rows = []
    for name in game_names():
        row: Row = {"name": name, "summary": describe_game(name), "extra": game_extra(name)}
        if not row["extra"]:
            game = make_game(name)
            row |= {"seats": game.seats, "chance": game.has_chance}
        else:
            row |= {"seats": None, "chance": None}  # known when it is made, which needs the extra
        rows.append({**row, "parameters": list(game_parameters(name))})
    return rows


def _opponents() -> list[Row]:
    from mage.play.opponents import opponents

    return [
        {"name": info.name, "summary": info.summary, "games": info.needs, "parameters": list(info.parameters)}
        for info in opponents()
    ]


def _methods() -> list[Row]:
    from mage.methods import methods

    return [
        {
            "name": method.name,
            "kind": method.kind,
            "paper": method.paper,
            "summary": method.summary,
            "knobs": [
                f"{section}.{key} = {value}" for section, keys in method.defaults.items() for key, value in keys.items()
            ],
            "defaults": method.defaults,
        }
        for method in methods()
    ]


def _show(rows: list[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    from mage.show.width import wide_console

    table = Table(box=None, padding=(0, 1), header_style="dim")
    columns = [key for key in rows[0] if key not in ("path", "defaults")] if rows else []
    for column in columns:
        table.add_column(column, no_wrap=column == "name", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row[column])) for column in columns))
    wide_console().print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value)
