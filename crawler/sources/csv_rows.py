"""A CSV file: one fact a row, under ``csv/<name>/<key columns>``. Everything is text, as it is in the file."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from crawler.errors import BadSetting, SourceFailed
from crawler.sources.contract import KnownKeys, SourceFact, SourceItem, Unreadable
from crawler.sources.keys import bounded_key, source_prefix
from crawler.sources.lines import LONGEST_LINE
from graph.keys import tokens

_DELIMITERS: Final = ",;\t|"
_LONGEST_NAME: Final = 120
"""Characters. A longer cell is prose, not the name of a thing: it stays in the row and makes no cell."""
_LONGEST_KIND: Final = 16


class CsvRows:
    """``key``: the columns whose cells tell the rows apart; empty: the first one. ``delimiter`` None: the one among
    comma, semicolon, tabulator and bar that stands most often in the header.
    """

    name: Final = "csv"

    def __init__(
        self,
        path: Path,
        *,
        key: Sequence[str] = (),
        name: str | None = None,
        delimiter: str | None = None,
        encoding: str = "utf-8-sig",
    ) -> None:
        if delimiter is not None and len(delimiter) != 1:
            raise BadSetting("--delimiter is one character", argument="delimiter")
        _require_encoding(encoding)
        self._path = path
        self._key = tuple(key)
        self._table = name or path.stem
        self._delimiter = delimiter
        self._encoding = encoding
        self.prefix = source_prefix(self.name, self._table)
        self.description = f"The rows of the table {self._table}: each with what its cells name."

    def size(self) -> int | None:
        return None

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:  # noqa: ARG002 - for sources that skip
        try:
            with self._path.open(encoding=self._encoding, errors="surrogateescape", newline="") as file:
                yield from self._rows(_Lines(file))
        except OSError as error:
            raise SourceFailed(f"cannot read {self._path}: {error.strerror}", argument="source") from error
        except UnicodeError as error:
            raise SourceFailed(f"{self._path} is not {self._encoding}: {error}", argument="encoding") from error

    def _rows(self, lines: _Lines) -> Iterator[SourceItem]:
        header, delimiter = self._header(lines)
        columns = self._key_columns(header)
        seen: set[bytes] = set()
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except (_BadLine, csv.Error) as error:
                yield self._bad(lines, str(error))
                continue
            if row:
                yield self._row(header, row, columns, seen, lines)

    def _header(self, lines: _Lines) -> tuple[list[str], str]:
        try:
            first = next(lines)
            delimiter = self._delimiter or max(_DELIMITERS, key=first.count)
            header = [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter, strict=True))]
        except StopIteration:
            raise SourceFailed(f"{self._path} is empty: its first line names the columns", argument="source") from None
        except (_BadLine, csv.Error) as error:
            raise SourceFailed(f"{self._path}: its first line cannot be read: {error}", argument="source") from error
        header = [cell or f"column {at}" for at, cell in enumerate(header, 1)]
        twice = [cell for cell, count in Counter(header).items() if count > 1]
        if twice:
            raise SourceFailed(f"{self._path}: the column {twice[0]!r} is there twice", argument="source")
        return header, delimiter

    def _key_columns(self, header: Sequence[str]) -> list[int]:
        for column in self._key:
            if column not in header:
                there = ", ".join(header)
                raise BadSetting(f"{self._path} has no column {column!r}; it has {there}", argument="key")
        return [header.index(column) for column in self._key or header[:1]]

    def _row(
        self, header: Sequence[str], row: Sequence[str], columns: Sequence[int], seen: set[bytes], lines: _Lines
    ) -> SourceItem:
        if len(row) != len(header):
            return self._bad(lines, f"{len(row)} cells where the header has {len(header)}")
        parts = [row[column].strip() for column in columns]
        if not all(parts):
            return self._bad(lines, f"the key column {header[columns[parts.index('')]]!r} is empty")
        key = bounded_key(self.prefix + "/".join(part.replace("/", "%2F") for part in parts))
        digest = hashlib.blake2b(key.encode(), digest_size=16).digest()
        if digest in seen:
            return Unreadable(where=self._where(lines), reason=f"the key {'/'.join(parts)} came before", keeps=key)
        seen.add(digest)
        return SourceFact(key=key, value=read_row(self._table, header, row, columns), tags=("csv",))

    def _bad(self, lines: _Lines, reason: str) -> Unreadable:
        return Unreadable(where=self._where(lines), reason=reason)

    def _where(self, lines: _Lines) -> str:
        return f"{self._path}:{lines.number}"


def read_row(table: str, header: Sequence[str], row: Sequence[str], columns: Sequence[int]) -> dict[str, Any]:
    """``row`` is for readers; ``cells`` for rules, since JMESPath cannot go through the fields of an object."""
    return {
        "table": table,
        "id": "/".join(row[column].strip() for column in columns),
        "row": dict(zip(header, row, strict=True)),
        "cells": [
            {"column": column, "kind": _kind(column), "value": cell.strip()}
            for at, (column, cell) in enumerate(zip(header, row, strict=True))
            if at not in columns and 0 < len(cell.strip()) <= _LONGEST_NAME
        ],
    }


def _kind(column: str) -> str:
    """The column as a kind of node, which needs a word and has 64 bytes."""
    return column[:_LONGEST_KIND] if tokens(column[:_LONGEST_KIND]) else "value"


class _BadLine(Exception):
    """A line that is no text or too long; the reader goes on with the next."""


class _Lines:
    """Counts physical lines, holds none longer than the limit, and says what is no text."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.number = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._file.readline(LONGEST_LINE)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) >= LONGEST_LINE and not line.endswith("\n"):
            while (rest := self._file.readline(LONGEST_LINE)) and not rest.endswith("\n"):
                pass
            raise _BadLine("the line is too long")
        if "\0" in line or any("\ud800" <= letter <= "\udfff" for letter in ("" if line.isascii() else line)):
            raise _BadLine("the line is not text in the encoding of the file")
        return line


def _require_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError as error:
        raise BadSetting(f"there is no encoding {encoding!r}", argument="encoding") from error
