"""Two writers in a chosen order: one stops before a named statement until the other is done, or waits for a lock.

And rules taken out: a store whose query lacks a lock or a condition, so that a test can show what the rule is for.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Event, Thread, current_thread
from typing import Any
from unittest.mock import patch

import psycopg
from psycopg import sql

from facts.sqlfiles import Queries
from graph.store import GraphStore

PATIENCE_S = 30.0
WAITERS = """SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"""


@dataclass(frozen=True, kw_only=True)
class Met:
    """What became of two writers; `overtaken`: the second was done while the first stood still."""

    first: Any
    second: Any
    overtaken: bool


@dataclass
class _Run:
    """An act in a thread of its own; what it raised is its result."""

    act: Callable[[], Any]
    result: Any = None

    def __post_init__(self) -> None:
        self.thread = Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.result = self.act()
        except Exception as error:  # noqa: BLE001 - the test judges it
            self.result = error

    def join(self) -> Any:
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive(), "still at work"
        return self.result


def meet(first: Callable[[], Any], second: Callable[[], Any], *, before: sql.Composable, watch: str) -> Met:
    """Run `first` up to the statement `before`, then `second` as far as it comes, then both to their ends.

    :param watch: a database URL, to see whether the second waits.
    """
    reached, go = Event(), Event()
    one, two = _Run(first), _Run(second)
    with stops(one.thread, before, reached, go):
        one.thread.start()
        assert reached.wait(PATIENCE_S), f"the first never came to it: {one.result!r}"
        two.thread.start()
        overtaken = _done_or_waiting(two.thread, watch)
        go.set()
        return Met(first=one.join(), second=two.join(), overtaken=overtaken)


def _done_or_waiting(thread: Thread, watch: str) -> bool:
    with psycopg.connect(watch, autocommit=True) as looker:
        for _ in range(200_000):
            if not thread.is_alive():
                return True
            if looker.execute(WAITERS).fetchone() != (0,):
                return False
    raise AssertionError("the second neither ends nor waits")


@contextmanager
def stops(thread: Thread, before: sql.Composable, reached: Event, go: Event) -> Iterator[None]:
    """The thread stands still before this statement, once. Statements are sent one by one meanwhile."""
    execute = psycopg.Cursor.execute
    wanted = before.as_string(None)

    def asking(self: "psycopg.Cursor[Any]", query: Any, *args: Any, **kwargs: Any) -> Any:
        mine = isinstance(query, sql.Composable) and current_thread() is thread and not reached.is_set()
        if mine and query.as_string(None) == wanted:
            reached.set()
            assert go.wait(PATIENCE_S), "nobody let it go on"
        return execute(self, query, *args, **kwargs)

    one_by_one = patch.object(psycopg.Connection, "pipeline", lambda _: nullcontext())
    with patch.object(psycopg.Cursor, "execute", asking), one_by_one:
        yield


def taken_out(store: GraphStore, place: str, rule: str, instead: str = "") -> None:
    """Take a rule out of one named query of this store (`edges.lock_edges`; `facts.receipts.lock_cited`)."""
    *where, file, name = place.split(".")
    tables: Any = store.facts.tables if where else store.tables
    queries = getattr(tables, file)
    text = getattr(queries, name).as_string(None)
    assert rule in text, f"{place} has no {rule!r}"
    rendered = {each: getattr(queries, each) for each in queries}
    changed = Queries(file, rendered | {name: sql.SQL(text.replace(rule, instead))})  # type: ignore[dict-item,arg-type]
    altered = replace(tables, **{file: changed})
    if where:
        store.facts.tables = altered
    else:
        store.tables = altered
