"""Key patterns of rules, read once and rendered twice: for PostgreSQL's LIKE and for Python.

The language is that of `read_facts`: ``*`` and ``%`` stand for any run of characters, a backslash makes the next
``* % _ \\`` literal, everything else (``_`` too) is itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WILDCARDS: Final = "*%"
_ESCAPABLE: Final = "*%_\\"


def like_pattern(pattern: str) -> str:
    return "".join("%" if literal is None else _like_literal(literal) for literal in _pieces(pattern))


def regex_source(pattern: str) -> str:
    return "".join(".*" if literal is None else re.escape(literal) for literal in _pieces(pattern))


def like_below(namespace: str) -> tuple[str, str]:
    """LIKE patterns for the key itself and for everything below it."""
    literal = "".join(map(_like_literal, namespace))
    return literal, f"{literal}/%"


def regex_below(namespace: str) -> str:
    return f"{re.escape(namespace)}(?:/.*)?"


def _like_literal(char: str) -> str:
    return f"\\{char}" if char in "%_\\" else char


def _pieces(pattern: str) -> Iterator[str | None]:
    """Each literal character, or None for a wildcard."""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and pattern[at + 1 : at + 2] and pattern[at + 1] in _ESCAPABLE:
            yield pattern[at + 1]
            at += 2
            continue
        yield None if char in _WILDCARDS else char
        at += 1
