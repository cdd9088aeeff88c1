"""How commands print: JSON for programs, tables for people; results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from facts.limits import unstorable


def emit_json(value: Any) -> None:
    """One line of JSON; stored text of any kind survives any terminal."""
    text = json.dumps(value, ensure_ascii=not _speaks_utf8(), allow_nan=False)
    if unstorable(text) is not None:
        # A lone surrogate has no UTF-8; it goes out as the escape that came in.
        text = json.dumps(value, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """A line for a person, never read as markup."""
    _console().print(Text(text), soft_wrap=True)


def emit_line(text: str) -> None:
    """A line that whoever started this command waits for."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def hint(text: str) -> None:
    """A line beside the result: what happened on the way, what to do next."""
    Console(stderr=True).print(Text(text, style="dim"), soft_wrap=True)


def show_table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    _console().print(table)


def short(value: Any, width: int = 100) -> str:
    """JSON text of a value, cut for a table."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=200, no_color=True, highlight=False)


def _speaks_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
