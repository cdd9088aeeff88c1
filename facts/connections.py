"""The connection pool: whole transactions at READ COMMITTED, retried where PostgreSQL says that a retry is right."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Self, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import IsolationLevel
from psycopg import errors as pg
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from facts.errors import InvalidArgument, Unavailable, domain_error

if TYPE_CHECKING:
    from types import TracebackType

    from psycopg import Connection

T = TypeVar("T")

_statement_ms: ContextVar[int | None] = ContextVar("statement_ms", default=None)
SET_TIMEOUT = "SELECT set_config('statement_timeout', %s, false)"
RESET_TIMEOUT = "RESET statement_timeout"

CONNECT_TIMEOUT_S = 10
CHECKOUT_TIMEOUT_S = 30.0
# Then the pool gives up and the next request tries at once; its own back-off would sleep on after the server is back.
RECONNECT_TIMEOUT_S = 10.0
RETRIES = 6
FIRST_PAUSE_S = 0.02


def checked_url(url: str) -> str:
    """`url` when it names a PostgreSQL server, else an error that says what a URL looks like."""
    scheme, separator, _ = url.partition("://")
    if separator and scheme not in {"postgresql", "postgres"}:
        raise InvalidArgument(
            f"{scheme}:// is not PostgreSQL; a database URL looks like postgresql://user@host:5432/name",
            argument="database_url",
        )
    try:
        make_conninfo(url)
    except psycopg.ProgrammingError as error:
        raise InvalidArgument(
            f"not a database URL ({error}); it looks like postgresql://user@host:5432/name", argument="database_url"
        ) from error
    return url


class Database:
    """A pool on one database. Decisions of READ COMMITTED locking rest on it, so no other level is let out."""

    def __init__(self, pool: ConnectionPool[Connection], url: str) -> None:
        self._pool = pool
        self._told: WeakKeyDictionary[Connection, int | None] = WeakKeyDictionary()
        self.url = url

    def __repr__(self) -> str:
        return f"Database({self._pool.name}, {self._pool.get_stats().get('pool_size', 0)} connections)"

    @classmethod
    def open(
        cls,
        url: str,
        *,
        max_size: int = 4,
        checkout_s: float = CHECKOUT_TIMEOUT_S,
        application_name: str = "harvester",
        configure: Callable[[Connection], None] | None = None,
    ) -> Database:
        """A pool that is known to reach its server; `configure` runs once on each new connection.

        :param checkout_s: how long a transaction waits for a connection.
        """
        checked_url(url)
        settings = {"application_name": application_name, "connect_timeout": CONNECT_TIMEOUT_S}
        try:
            psycopg.connect(url, **settings).close()  # type: ignore[arg-type]
        except psycopg.OperationalError as error:
            raise domain_error(error) or Unavailable(str(error)) from error

        def prepare(connection: Connection) -> None:
            connection.isolation_level = IsolationLevel.READ_COMMITTED
            if configure is not None:
                configure(connection)
                connection.commit()

        pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            kwargs=settings,
            min_size=1,
            max_size=max_size,
            timeout=checkout_s,
            reconnect_timeout=RECONNECT_TIMEOUT_S,
            configure=prepare,
            open=True,
            name=application_name,
        )
        return cls(pool, url)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction, committed at the end of the block; driver errors leave it as domain errors."""
        try:
            with self._checked_out() as connection, connection.transaction():
                yield connection
        except psycopg.Error as error:
            raise domain_error(error) or error from error.__cause__ or error

    def run(self, work: Callable[[Connection], T]) -> T:
        """A whole transaction, repeated (bounded, jittered) on 40001, 40P01 and dropped connections.

        A connection may drop after the commit was sent, so `work` must be safe to repeat: all writes of this product
        state a target, they never add to a counter.
        """
        for attempt in range(RETRIES):
            try:
                with self._checked_out() as connection, connection.transaction():
                    return work(connection)
            except psycopg.Error as error:
                if attempt + 1 == RETRIES or not is_transient(error):
                    raise domain_error(error) or error from error
                if isinstance(error, psycopg.OperationalError) and not isinstance(error, pg.TransactionRollback):
                    self._pool.check()
                time.sleep(random.uniform(0.5, 1.5) * FIRST_PAUSE_S * 2**attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")

    @contextmanager
    def statements_within(self, seconds: float | None) -> Iterator[None]:
        """In this block and thread no statement takes longer, or it ends as Busy; None: as the server is configured."""
        before = _statement_ms.set(None if seconds is None else max(int(seconds * 1000), 1))
        try:
            yield
        finally:
            _statement_ms.reset(before)

    @contextmanager
    def _checked_out(self) -> Iterator[Connection]:
        with self._pool.connection() as connection:
            if connection.isolation_level is not IsolationLevel.READ_COMMITTED:
                raise AssertionError("a pooled connection left READ COMMITTED; lock rules need it")
            self._set_timeout(connection)
            yield connection

    def _set_timeout(self, connection: Connection) -> None:
        """Only when it differs from what the connection was last told, so that most transactions pay nothing for it."""
        wanted = _statement_ms.get()
        if self._told.get(connection) == wanted:
            return
        with connection.transaction():
            connection.execute(RESET_TIMEOUT if wanted is None else SET_TIMEOUT, (str(wanted),) if wanted else None)
        self._told[connection] = wanted

    def connect(self, *, autocommit: bool = True) -> Connection:
        """A connection outside the pool, for LISTEN and for locks that outlive a transaction; the caller closes it."""
        try:
            return psycopg.connect(
                self.url, autocommit=autocommit, connect_timeout=CONNECT_TIMEOUT_S, application_name=self._pool.name
            )
        except psycopg.OperationalError as error:
            raise domain_error(error) or error from error

    def close(self) -> None:
        """Close every connection; a second call does nothing."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_transient(error: psycopg.Error) -> bool:
    """Whether repeating the whole transaction is the right answer to `error`."""
    if isinstance(error, PoolTimeout):
        return False  # That was the wait.
    if isinstance(error, pg.SerializationFailure | pg.DeadlockDetected | pg.AdminShutdown | pg.CrashShutdown):
        return True
    # A broken socket carries no SQLSTATE; class 08 and "starting up" do.
    if isinstance(error, pg.ConnectionException | pg.CannotConnectNow):
        return True
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None
