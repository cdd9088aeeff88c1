"""The time of each named statement of the product, seen from the client: server, wire and driver."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import Any

import psycopg
from psycopg import sql

from facts.tables import FactTables, fact_tables
from graph.tables import DEFAULT_GRAPH, DEFAULT_REGISTRY, graph_queries


class Statements:
    """Seconds a statement. What no statement accounts for is Python and the commit."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._known: dict[int, str] = {}
        self.seconds: dict[str, float] = defaultdict(float)

    @classmethod
    def known(cls) -> "Statements":
        """Every named query of `facts` and `graph`, under the default names."""
        facts = {field: getattr(fact_tables(), field) for field in FactTables.__slots__ if field != "schema"}
        names: dict[str, str] = {}
        for stem, queries in (facts | graph_queries(DEFAULT_GRAPH, DEFAULT_REGISTRY)).items():
            names |= {text(getattr(queries, name)): f"{stem}.{name}" for name in queries}
        return cls(names)

    def name(self, query: Any) -> str:
        """The name of a statement; one that has none is `other`."""
        found = self._known.get(id(query))
        if found is None:
            found = self._names.get(text(query), "other")
            self._known[id(query)] = found
        return found

    def shares(self, seconds: float) -> dict[str, float]:
        """Each statement's part of a run that took so long, largest first, and the rest."""
        parts = {name: spent / seconds for name, spent in sorted(self.seconds.items(), key=lambda item: -item[1])}
        return parts | {"python and commit": 1 - sum(parts.values())}


def text(query: Any) -> str:
    """The text of a statement."""
    return query.as_string(None) if isinstance(query, sql.Composable) else str(query)


def one_by_one(_connection: psycopg.Connection) -> "nullcontext[None]":
    """No pipeline: a statement's time is its own only when it is waited for."""
    return nullcontext()


@contextmanager
def timed_statements(statements: Statements) -> Iterator[None]:
    """Time every statement that this process sends."""
    execute, pipeline = psycopg.Cursor.execute, psycopg.Connection.pipeline

    def timed(self: "psycopg.Cursor[Any]", query: Any, *args: Any, **kwargs: Any) -> Any:
        began = perf_counter()
        try:
            return execute(self, query, *args, **kwargs)
        finally:
            statements.seconds[statements.name(query)] += perf_counter() - began

    psycopg.Cursor.execute = timed  # type: ignore[method-assign]
    psycopg.Connection.pipeline = one_by_one  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        psycopg.Cursor.execute = execute  # type: ignore[method-assign]
        psycopg.Connection.pipeline = pipeline  # type: ignore[method-assign]
