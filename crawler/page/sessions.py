"""Browsers that are signed in: a random token in a cookie, its SHA-256 in a table, beside the key it was got with."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from facts.sqlfiles import load_queries

if TYPE_CHECKING:
    from facts.connections import Database
    from facts.sqlfiles import Queries

SESSION_SECONDS: Final = 7 * 24 * 3600
_TOKEN_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSessions:
    """The sessions of one fact store's database."""

    db: Database
    schema: str

    @property
    def _queries(self) -> Queries:
        return load_queries("crawler.page", "sql/page_sessions", facts=self.schema)

    def open(self, key_id: int) -> str:
        """A new session of this key; the token is not kept anywhere. What has ended is swept on the way."""
        page_sessions, token = self._queries, secrets.token_urlsafe(_TOKEN_BYTES)
        given = {"digest": _digest(token), "key_id": key_id, "seconds": SESSION_SECONDS}
        with self.db.transaction() as connection:
            connection.execute(page_sessions.sweep_sessions)
            connection.execute(page_sessions.open_session, given)
        return token

    def key_of(self, token: str) -> int | None:
        """Whose session this is; None: it is over, or never was."""
        page_sessions = self._queries
        with self.db.transaction() as connection:
            row = connection.execute(page_sessions.find_session, {"digest": _digest(token)}).fetchone()
        return None if row is None else int(row[0])

    def close(self, token: str) -> None:
        page_sessions = self._queries
        with self.db.transaction() as connection:
            connection.execute(page_sessions.close_session, {"digest": _digest(token)})


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
