"""Columns of values as PostgreSQL array literals: several times faster to send than adapting each value by itself."""

from collections.abc import Iterable

_BETWEEN = "\x01"


def _quoted(value: str | None) -> str:
    if value is None:
        return "NULL"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def texts(values: Iterable[str | None]) -> str:
    """For `%s::text[]`. The common case (no None, no U+0001) is escaped as one text."""
    column = list(values)
    if not column:
        return "{}"
    if None not in column:
        joined = _BETWEEN.join(column)  # type: ignore[arg-type]
        if joined.count(_BETWEEN) == len(column) - 1:
            escaped = joined.replace("\\", "\\\\").replace('"', '\\"')
            return '{"' + escaped.replace(_BETWEEN, '","') + '"}'
    return "{" + ",".join(map(_quoted, column)) + "}"


def numbers(values: Iterable[float | None]) -> str:
    """For `%s::bigint[]`, `int[]`, `numeric[]`; floats in shortest round-trip form for `float8[]`."""
    return "{" + str(list(values))[1:-1].replace("None", "NULL") + "}"


def flags(values: Iterable[bool]) -> str:
    """For `%s::boolean[]`."""
    return "{" + str(list(values))[1:-1] + "}"
