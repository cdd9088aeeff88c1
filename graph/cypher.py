"""Ad-hoc Cypher for unrestricted callers: read-only, bounded in time and rows, always rolled back.

The quirks of AGE 1.7 that this rests on, each pinned by a test:

- the text must be a literal, so it is quoted with a random dollar tag; its parameters travel as one bound value;
- `cypher()` works only after some function of AGE was called in the session;
- a scalar agtype does not cast to json, a list of it does: rows travel as one list each, and never through agtype's text;
- a wrong number of columns is an error of the parser, so the width can be found by trying;
- a function name that Cypher lacks falls through to any SQL function in the search path, `pg_reload_conf` included: names
  are checked here against AGE's own;
- writing clauses, those that would create labels included, refuse to run in a read-only transaction.
"""

from __future__ import annotations

import json
import re
import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors as pg
from psycopg import sql

from facts.errors import InvalidArgument, NotPermitted, Unsupported
from graph.columns import texts
from graph.queries import Caps, checked_text

if TYPE_CHECKING:
    from graph.reading import Reading

CYPHER_BYTES = 64 * 1024
CYPHER_SECONDS = 5.0
DEFAULT_ROWS = 100
MOST_ROWS = 1_000
MOST_COLUMNS = 32

_WRONG_WIDTH = "column definition list"
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*""", re.DOTALL)
_CALLED = re.compile(r"(?P<dot>\.\s*)?(?P<name>`[^`]*`|[^\W\d]\w*)\s*\(")
# Words that Cypher itself puts before a parenthesis, and functions that are part of its grammar.
_GRAMMAR = frozenset(
    """
    match optional where and or xor not in return with unwind as on case when then else end distinct by order skip limit
    union all any none single exists count coalesce yield call create merge set remove delete detach is contains starts
    ends asc desc ascending descending explain verbose analyze
    """.split()  # noqa: SIM905 - a list of fifty literals is harder to read
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CypherQuery:
    """Cypher text and its parameters (`$name` in the text). Without `columns` as many are made as the text returns."""

    cypher: str
    params: Mapping[str, Any] | None = None
    columns: Sequence[str] | None = None
    limit: int = DEFAULT_ROWS


@dataclass(frozen=True, kw_only=True, slots=True)
class CypherResult:
    """Rows of JSON values: vertices, edges and paths as objects and lists. `truncated`: there are more rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    cut: tuple[str, ...] = ()


def run_cypher(reading: Reading, query: CypherQuery) -> CypherResult:
    """The rows, as one unrestricted caller sees the whole graph."""
    if not reading.access.unrestricted:
        raise NotPermitted("Cypher sees the whole graph; it is for unrestricted callers")
    caps = Caps()
    limit = caps.count(query.limit, argument="limit", most=MOST_ROWS)
    text = checked_text(query.cypher, argument="cypher", most=CYPHER_BYTES)
    params = _encoded(query.params)
    columns = None if query.columns is None else _checked_columns(query.columns)
    try:
        with reading.conn.transaction(force_rollback=True):
            columns, rows = _run(reading, text, params, columns, limit + 1)
    except (pg.ReadOnlySqlTransaction, psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError,
            pg.InternalError_) as error:  # fmt: skip
        raise _explained(error) from error
    return CypherResult(columns=columns, rows=tuple(rows[:limit]), truncated=len(rows) > limit, cut=caps.cut)


def _run(
    reading: Reading, text: str, params: str, columns: tuple[str, ...] | None, limit: int
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    cypher = reading.tables.cypher
    reading.conn.execute(cypher.read_only)
    reading.bound_time(CYPHER_SECONDS)
    _check_functions(reading, text)
    reading.conn.execute(cypher.load_age)
    reading.conn.execute(cypher.see_operators)
    if columns is not None:
        return columns, _rows(reading, text, params, columns, limit)
    for width in range(1, MOST_COLUMNS + 1):
        named = tuple(f"column{number}" for number in range(1, width + 1))
        try:
            with reading.conn.transaction():
                return named, _rows(reading, text, params, named, limit)
        except pg.DatatypeMismatch as error:
            if _WRONG_WIDTH not in str(error):
                raise
    raise InvalidArgument(f"the query returns more than {MOST_COLUMNS} columns", argument="cypher")


def _rows(reading: Reading, text: str, params: str, columns: tuple[str, ...], limit: int) -> list[tuple[Any, ...]]:
    statement = sql.SQL(
        "SELECT ag_catalog.agtype_build_list({values})::json FROM ag_catalog.cypher({graph}, {text}, %(params)s)"
        " AS row ({columns}) LIMIT {limit}"
    ).format(
        values=sql.SQL(", ").join(sql.Identifier(name) for name in columns),
        graph=sql.Literal(reading.tables.graph),
        text=_dollar_quoted(text),
        columns=sql.SQL(", ").join(sql.SQL("{} ag_catalog.agtype").format(sql.Identifier(name)) for name in columns),
        limit=sql.Literal(limit),
    )
    rows = reading.conn.execute(statement, {"params": params}, prepare=False).fetchall()
    return [tuple(row[0]) for row in rows]


def _dollar_quoted(text: str) -> sql.SQL:
    """The text as one literal that nothing in it can end; a percent sign is doubled for the driver."""
    tag = f"t{secrets.token_hex(8)}"
    while tag in text:
        tag = f"t{secrets.token_hex(8)}"
    escaped = text.replace("%", "%%")
    return sql.SQL(f"${tag}$ {escaped} ${tag}$")  # the one place where text becomes SQL


def _encoded(params: Mapping[str, Any] | None) -> str:
    try:
        encoded = json.dumps(dict(params or {}), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"params must be a JSON object ({error})", argument="params") from None
    if "\\u0000" in encoded.replace("\\\\", ""):
        raise InvalidArgument("params hold NUL (U+0000)", argument="params")
    return checked_text(encoded, argument="params", most=CYPHER_BYTES)


def _checked_columns(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not 1 <= len(columns) <= MOST_COLUMNS or len(set(columns)) != len(columns):
        raise InvalidArgument(f"columns must be 1 to {MOST_COLUMNS} different names", argument="columns")
    named = tuple(checked_text(name, argument="columns", most=63) for name in columns)
    if not all(named) or any("%" in name for name in named):
        raise InvalidArgument("a column name is not empty and holds no '%'", argument="columns")
    return named


def called_functions(text: str) -> set[str]:
    """The names that a Cypher text calls as functions, its quoted texts and comments apart; qualified names keep a dot."""
    bare = _QUOTED.sub("''", text)
    called = {f"{'.' if found['dot'] else ''}{found['name'].lower()}" for found in _CALLED.finditer(bare)}
    return called - _GRAMMAR


def _check_functions(reading: Reading, text: str) -> None:
    called = called_functions(text)
    names = {f"age_{name}": name for name in called if name[0] not in ".`"}
    known = reading.conn.execute(reading.tables.cypher.cypher_functions, {"names": texts(names)}).fetchall()
    foreign = sorted(called - {names[name] for (name,) in known})
    if foreign:
        raise InvalidArgument(
            f"{foreign[0].lstrip('.')} is no function of Cypher; only those may be called", argument="cypher"
        )


def _explained(error: psycopg.Error) -> InvalidArgument | NotPermitted:
    if isinstance(error, pg.ReadOnlySqlTransaction):
        return NotPermitted("this Cypher writes; change the graph through its tools", argument="cypher")
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    if _WRONG_WIDTH in first:
        return InvalidArgument("columns must name as many columns as the query returns", argument="columns")
    return InvalidArgument(f"Cypher says: {first}", argument="cypher")


def as_models(result: CypherResult) -> list[tuple[Any, ...]]:
    """The rows with `apache-age-python`'s Vertex, Edge and Path where the graph has them.

    Fed from JSON: that package's own parser leaves escapes in texts. A list that alternates vertex, edge, vertex is a path.
    """
    return [tuple(_modelled(value) for value in row) for row in result.rows]


def _modelled(value: Any) -> Any:
    models = _age_models()
    if isinstance(value, list):
        return (
            models.Path([_modelled(part) for part in value]) if _is_path(value) else [_modelled(part) for part in value]
        )
    if not isinstance(value, dict):
        return value
    if value.keys() == _VERTEX:
        return models.Vertex(value["id"], value["label"], value["properties"])
    if value.keys() == _EDGE:
        edge = models.Edge(value["id"], value["label"], value["properties"])
        edge.start_id, edge.end_id = value["start_id"], value["end_id"]
        return edge
    return {name: _modelled(part) for name, part in value.items()}


_VERTEX = {"id", "label", "properties"}
_EDGE = _VERTEX | {"start_id", "end_id"}
_SHORTEST_PATH = 3


def _is_path(parts: list[Any]) -> bool:
    shapes = [part.keys() if isinstance(part, dict) else None for part in parts]
    ends, steps = shapes[::2], shapes[1::2]
    return (
        len(parts) >= _SHORTEST_PATH
        and len(parts) % 2 == 1
        and all(shape == _VERTEX for shape in ends)
        and all(shape == _EDGE for shape in steps)
    )


def _age_models() -> Any:
    with warnings.catch_warnings():
        # Its sources hold escapes that newer Pythons warn of when they compile them.
        warnings.simplefilter("ignore")
        try:
            from age import models  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise Unsupported("Cypher models need the extra `models` (apache-age-python)") from error
    return models
