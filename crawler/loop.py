"""The harvester's loop in one process: step while there is work, wait longer and longer while there is none.

It stops on request with the batch in hand finished, gives back its leases, and outlives a database that goes away.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final, Protocol

import structlog

from crawler.harvest import Tally
from facts.errors import Busy, HarvesterError, Unavailable

log = structlog.get_logger()

_FIRST_RECONNECT_SECONDS: Final = 0.5
_LONGEST_RECONNECT_SECONDS: Final = 5.0


class Steps(Protocol):
    """What the loop needs of a harvester."""

    def step(self) -> Tally: ...

    def release(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """All in seconds. ``patience``: how long a run with ``once`` waits for a database that went away."""

    poll_min: float = 0.2
    poll_max: float = 5.0
    shutdown: float = 20.0
    patience: float = 300.0


class DeadlineReached(BaseException):
    """Raised in the main thread when a stopped worker's time is up; the batch in hand is given back."""


class Stop:
    """A request to stop. `set` may be called from a signal handler."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __bool__(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)


@contextmanager
def stop_on_signals(stop: Stop, *, deadline: float) -> Iterator[None]:
    """SIGTERM and SIGINT ask to stop, then the deadline runs; a second SIGINT ends the wait at once.

    Not a second SIGTERM: a worker may get a terminal's SIGINT and then its parent's SIGTERM, for one request.
    """

    def ask(number: int, _frame: FrameType | None) -> None:
        if stop:
            if number == signal.SIGINT:
                raise DeadlineReached
            return
        log.info("stopping", signal=signal.Signals(number).name, deadline_seconds=deadline)
        stop.set()
        signal.setitimer(signal.ITIMER_REAL, max(deadline, 0.001))

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise DeadlineReached

    handlers = {signal.SIGTERM: ask, signal.SIGINT: ask, signal.SIGALRM: give_up}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def run_loop(
    harvester: Steps,
    *,
    once: bool,
    stop: Stop,
    waits: Waits | None = None,
    on_step: Callable[[Tally], None] | None = None,
) -> Tally:
    """Until stopped, or with ``once`` until nothing is due. Leases that are still held are given back at the end."""
    total = Tally()
    waits = waits or Waits()
    pause = waits.poll_min
    outage = _Outage(waits.patience if once else None)
    try:
        while not stop:
            done = outage.step(harvester, stop)
            if done is None:
                continue
            total.add(done)
            if on_step is not None:
                on_step(done)
            if done.claimed:
                pause = waits.poll_min
            elif once:
                break
            else:
                stop.wait(pause)
                pause = min(pause * 2, waits.poll_max)
    except DeadlineReached:
        log.warning("deadline_reached", detail="the batch in hand goes back on the queue")
    _give_back(harvester)
    return total


class _Outage:
    """Steps that outlive a database which goes away. ``patience``: seconds to wait for it; None: for ever.

    What was in hand when it went is given back once it is there again, so that it need not wait for the lease to run
    out. Only once per step that worked, though: a batch that takes the database down each time must not come back as
    if nothing had been; its leases run out, and then its facts are tried one by one.
    """

    def __init__(self, patience: float | None) -> None:
        self._patience = patience
        self._trusts = True

    def step(self, harvester: Steps, stop: Stop) -> Tally | None:
        """One step; None when it was asked to stop while the database was away."""
        pause = _FIRST_RECONNECT_SECONDS
        give_up_at = None if self._patience is None else time.monotonic() + self._patience
        gives_back = False
        while not stop:
            try:
                if gives_back:
                    harvester.release()
                    gives_back = False
                done = harvester.step()
            except (Unavailable, Busy) as error:
                if give_up_at is not None and time.monotonic() > give_up_at:
                    raise
                log.warning("database_away", error=error.message, retry_seconds=pause)
                gives_back, self._trusts = gives_back or self._trusts, False
            else:
                self._trusts = self._trusts or done.acked > 0
                return done
            stop.wait(pause)
            pause = min(pause * 2, _LONGEST_RECONNECT_SECONDS)
        return None


def _give_back(harvester: Steps) -> None:
    """Best effort: a lease that cannot be given back runs out by itself."""
    try:
        released = harvester.release()
    except HarvesterError as error:
        log.warning("leases_not_released", error=error.message)
        return
    if released:
        log.info("leases_released", facts=released)
