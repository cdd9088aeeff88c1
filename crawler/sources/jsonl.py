"""Lines of JSON: ``{"key", "value", "tags"?, "shared"?}``. A bad line is reported and skipped."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from crawler.errors import SourceFailed
from crawler.sources.contract import KnownKeys, SourceFact, SourceItem, Unreadable
from crawler.sources.lines import bounded_lines

_FIELDS: Final = {"key", "value", "tags", "shared"}
STDIN: Final = "-"


class JsonLines:
    """``path`` is a file or ``-``; ``prefix`` says which stored keys a prune may judge by this file."""

    name: Final = "jsonl"
    description: Final = None

    def __init__(self, path: str, *, prefix: str = "") -> None:
        self._path = path
        self.prefix = prefix

    def size(self) -> int | None:
        return None

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:  # noqa: ARG002 - for sources that skip
        if self._path == STDIN:
            yield from self._read(sys.stdin.buffer)
            return
        try:
            with Path(self._path).open("rb") as file:
                yield from self._read(file)
        except OSError as error:
            raise SourceFailed(f"cannot read {self._path}: {error.strerror}", argument="source") from error

    def _read(self, file: BinaryIO) -> Iterator[SourceItem]:
        for number, line in enumerate(bounded_lines(file), 1):
            if line is not None and not line.strip():
                continue
            item = "the line is too long" if line is None else read_line(line)
            if isinstance(item, str):
                yield Unreadable(where=f"{self._path}:{number}", reason=item)
            elif not item.key.startswith(self.prefix):
                yield Unreadable(where=f"{self._path}:{number}", reason=f"its key does not start with {self.prefix!r}")
            else:
                yield item


def read_line(line: bytes) -> SourceFact | str:
    """The fact, or what is wrong with the line."""
    try:
        read = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(read, dict):
        return "not an object"
    unknown = set(read) - _FIELDS
    if unknown:
        return f"unknown field {min(unknown)!r}; a line has key, value, tags, shared"
    if "value" not in read:
        return "value is missing (null must be said)"
    return _fact(read)


def _fact(read: dict[str, Any]) -> SourceFact | str:
    tags, shared = read.get("tags") or [], read.get("shared")
    if not isinstance(read.get("key"), str):
        return "key must be a text"
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return "tags must be a list of texts"
    if shared is not None and not isinstance(shared, bool):
        return "shared must be true or false"
    return SourceFact(key=read["key"], value=read["value"], tags=tuple(tags), shared=shared)


def _refuse_constant(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
