"""The helper process that keeps a worker's leases alive while an extractor is busy.

A process and not a thread: one long regular expression holds the interpreter's lock for as long as it runs. It lives as
long as its stdin: when the worker goes, however it goes, the pipe closes and the leases run out by themselves.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from types import TracebackType
from typing import Final, Self

import psycopg

from facts import open_fact_store
from facts.errors import HarvesterError
from facts.queue import extend_leases

_BEATS_PER_LEASE: Final = 3


class Heartbeat:
    """Started by the worker; `url` travels over the pipe, since arguments are for everyone to see."""

    def __init__(self, *, url: str, schema: str, owner: str, lease_seconds: float) -> None:
        self._order = {"url": url, "schema": schema, "owner": owner, "lease_seconds": lease_seconds}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen([sys.executable, "-m", "crawler.heartbeat"], stdin=subprocess.PIPE)
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(self._order).encode() + b"\n")
            self._process.stdin.flush()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid


def beat(order: dict[str, object], stdin: int) -> None:
    """Until the pipe closes. A beat that fails is tried again at the next one: a lost lease is harmless."""
    url, schema, owner = str(order["url"]), str(order["schema"]), str(order["owner"])
    lease = float(str(order["lease_seconds"]))
    while not _closed(stdin, lease / _BEATS_PER_LEASE):
        try:
            with open_fact_store(url, schema=schema) as store:
                while not _closed(stdin, 0):
                    store.db.run(lambda connection: extend_leases(connection, store.tables, owner=owner, lease=lease))
                    if _closed(stdin, lease / _BEATS_PER_LEASE):
                        return
        except (HarvesterError, psycopg.Error) as error:
            sys.stderr.write(json.dumps({"event": "heartbeat_failed", "error": str(error)}) + "\n")


def _closed(stdin: int, seconds: float) -> bool:
    readable, _, _ = select.select([stdin], [], [], seconds)
    return bool(readable) and not os.read(stdin, 1)


def main() -> None:
    # The worker decides when to stop; a Ctrl-C at the terminal reaches the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return
        line += byte
    beat(json.loads(line), 0)


if __name__ == "__main__":
    main()
