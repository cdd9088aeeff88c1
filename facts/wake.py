"""Waking the facts manager: a notification is a hint, so the consumer listens before it reads and polls anyway."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from facts.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from facts.connections import Database
    from facts.tables import FactTables

LONGEST_CHANNEL = 63
NOTIFIED_IDS = 20
FALLBACK_S = 6 * 3600.0


def intake_channel(schema: str) -> str:
    """The notification channel of one fact store; names of several stores in one database do not meet."""
    channel = f"{schema}_intake"
    if len(channel) <= LONGEST_CHANNEL:
        return channel
    return f"intake_{hashlib.sha256(schema.encode()).hexdigest()[:32]}"


def notify_intake(db: Database, tables: FactTables, fact_ids: Sequence[int]) -> bool:
    """Tell whoever listens, after the commit, in a transaction of its own. False: it could not be told; it polls."""
    # Beyond a handful, one note without an id says the same.
    ids = [str(fact_id) for fact_id in fact_ids] if len(fact_ids) <= NOTIFIED_IDS else [""]
    try:
        with db.transaction() as conn:
            conn.execute(tables.writes.notify, {"channel": intake_channel(tables.schema), "ids": json.dumps(ids)})
    except (psycopg.Error, Unavailable):
        # The write is committed and must not fail for its hint; the consumer's poll finds it.
        return False
    return True


class Cause(StrEnum):
    START = "start"
    NOTIFIED = "notified"
    RECONNECTED = "reconnected"
    FALLBACK = "fallback"


class Listening(StrEnum):
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wake:
    """A reason to look at the intake now; notifications that came together are one."""

    cause: Cause
    fact_ids: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WakeTimes:
    """Seconds: the longest time without a look, between signs of life, and between attempts to reconnect."""

    fallback_s: float = FALLBACK_S
    poll_s: float = 30.0
    coalesce_s: float = 0.2
    first_pause_s: float = 0.5
    most_pause_s: float = 30.0


class WakeListener:
    """Yields a Wake at start, on notifications, after each reconnect, and at the latest every `fallback_s`."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        schema: str,
        times: WakeTimes | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connect = connect
        self._channel = intake_channel(schema)
        self._times = times or WakeTimes()
        self._clock = clock
        self._sleep = sleep
        self._stopped = False
        self._last: float | None = None
        self.status = Listening.RECONNECTING

    def __repr__(self) -> str:
        return f"WakeListener({self._channel}, {self.status})"

    def stop(self) -> None:
        """End the walk at the next poll, or at once while it waits to reconnect."""
        self._stopped = True

    def wakes(self) -> Generator[Wake, None, None]:
        """Until stopped. The consumer reads after each Wake, hence always after listening began."""
        pause = self._times.first_pause_s
        while not self._stopped:
            try:
                with self._listening() as conn:
                    pause = self._times.first_pause_s
                    yield self._wake(Cause.START if self._last is None else Cause.RECONNECTED)
                    yield from self._notified(conn)
            except (psycopg.Error, Unavailable):
                self.status = Listening.RECONNECTING
            if not self._stopped:
                if self._last is not None and self._overdue():
                    yield self._wake(Cause.FALLBACK)
                self._sleep(pause)
                pause = min(pause * 2, self._times.most_pause_s)
        self.status = Listening.STOPPED

    def _listening(self) -> Connection:
        conn = self._connect()
        conn.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        self.status = Listening.CONNECTED
        return conn

    def _notified(self, conn: Connection) -> Iterator[Wake]:
        while not self._stopped:
            notes = list(conn.notifies(timeout=self._patience(), stop_after=1))
            if notes:
                notes += list(conn.notifies(timeout=self._times.coalesce_s))
                yield self._wake(Cause.NOTIFIED, _ids(note.payload for note in notes))
            elif self._overdue():
                yield self._wake(Cause.FALLBACK)
            else:
                # A socket that died without a word is found by using it.
                conn.execute("SELECT 1")

    def _wake(self, cause: Cause, fact_ids: tuple[int, ...] = ()) -> Wake:
        self._last = self._clock()
        return Wake(cause=cause, fact_ids=fact_ids)

    def _since_last(self) -> float:
        return self._clock() - (self._last or 0.0)

    def _overdue(self) -> bool:
        return self._since_last() >= self._times.fallback_s

    def _patience(self) -> float:
        return max(0.0, min(self._times.poll_s, self._times.fallback_s - self._since_last()))


def _ids(payloads: Iterator[str]) -> tuple[int, ...]:
    found: set[int] = set()
    for payload in payloads:
        with suppress(ValueError):
            found.add(int(payload))
    return tuple(sorted(found))
