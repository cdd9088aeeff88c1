"""The PostgreSQL that ships in the wheel: for a person who has no server, and for every test."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psycopg
from psycopg import sql

from facts.errors import Unavailable

if TYPE_CHECKING:
    from types import TracebackType

    from pgserver.postgres_server import PostgresServer

DEFAULT_PGDATA = Path(".harvester/pgdata")
# The SQLSTATE in each log line is what a search for deadlocks (40P01) needs.
LOG_LINE_PREFIX = "%m [%p] %e %q%a "
START_ATTEMPTS = 3


class EmbeddedServer:
    """One embedded server on one data folder. Processes share it; the last one to close it stops it."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def __repr__(self) -> str:
        return f"EmbeddedServer({self._server.pgdata})"

    @classmethod
    def start(cls, pgdata: Path = DEFAULT_PGDATA) -> EmbeddedServer:
        """Start or join the server on `pgdata` (made when missing). Works as root: the server runs as its own user."""
        pgdata = pgdata.expanduser().resolve()
        pgdata.parent.mkdir(parents=True, exist_ok=True)
        embedded = cls(_start(pgdata))
        embedded._configure()
        return embedded

    @property
    def url(self) -> str:
        """URL of the database `postgres`."""
        return self.database_url("postgres")

    @property
    def log_path(self) -> Path:
        """The server's log."""
        return Path(self._server.log)

    @property
    def pid(self) -> int:
        """Process id of the postmaster."""
        pid = self._server.get_pid()
        if pid is None:
            raise Unavailable(f"the embedded server on {self._server.pgdata} is not running")
        return pid

    def database_url(self, name: str) -> str:
        """URL of a database on this server."""
        return str(self._server.get_uri(database=name))

    def create_database(self, name: str, template: str | None = None) -> str:
        """Make a database, as a copy of `template` when given, and return its URL."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, connections included."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def close(self) -> None:
        """Let go of the server; the last process to do so stops it."""
        self._server.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _configure(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute("SHOW log_line_prefix").fetchone()
            if row == (LOG_LINE_PREFIX,):
                return
            connection.execute(sql.SQL("ALTER SYSTEM SET log_line_prefix = {}").format(sql.Literal(LOG_LINE_PREFIX)))
            connection.execute("SELECT pg_reload_conf()")


def _start(pgdata: Path) -> PostgresServer:
    # Imported here: the wheel probes folders at import, and a user with a server of their own never needs it.
    with warnings.catch_warnings():
        # A container rarely has a runtime folder; the fallback that the warning names is fine for a socket.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pgserver.postgres_server import PostgresServer, get_server  # noqa: PLC0415

    last: subprocess.SubprocessError | None = None
    for _ in range(START_ATTEMPTS):
        try:
            return get_server(pgdata, cleanup_mode="stop")
        except subprocess.SubprocessError as error:
            # pg_ctl waits 10 s only; on a loaded machine the server comes up later and the next call joins it.
            PostgresServer._instances.pop(pgdata, None)  # noqa: SLF001
            last = error
    raise Unavailable(f"the embedded PostgreSQL on {pgdata} did not start; its log is {pgdata / 'log'}") from last
