"""Several harvesters on one database: a process each, watched by a parent that adds up what they did.

A worker that dies is replaced; what it held comes back when its lease has run out, one fact at a time, so that a fact
that kills workers is found and parked.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import Any, Final

import structlog

from crawler.alias_merges import AliasMerges
from crawler.harvest import Harvester, Pace, Tally
from crawler.heartbeat import Heartbeat
from crawler.logs import configure_logs
from crawler.loop import DeadlineReached, Steps, Stop, Waits, run_loop, stop_on_signals
from crawler.settings import Settings
from crawler.wiring import Stores, connect_stores, rules_of
from facts.errors import HarvesterError, Unavailable
from facts.queue import Backoff
from graph.merge_policy import MergePolicy

log = structlog.get_logger()

_ALLOCATIONS_A_LOOK: Final = 200_000
_SWITCH_SECONDS: Final = 0.0001
_MOST_QUICK_DEATHS: Final = 10
_QUICK_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 5.0
_CONNECT_ATTEMPTS: Final = 60
_CONNECT_PAUSE_SECONDS: Final = 2.0
_CRASHED: Final = 70
_LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker process is told; plain values, since it crosses to another process."""

    url: str
    settings: Settings
    config: dict[str, Any]
    once: bool


def owner_name() -> str:
    """Unique among all harvesters that ever ran: host, process and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def work(job: Job, stores: Stores, stop: Stop, on_step: Callable[[Tally], None] | None = None) -> Tally:
    """One harvester in this process, until stopped or (``once``) until nothing is due."""
    settings = job.settings
    settle_memory()
    rules = rules_of(job.config, settings)
    pace = Pace(
        batch_size=settings.batch_size,
        lease_seconds=settings.lease_seconds,
        backoff=Backoff(
            first_s=settings.backoff_seconds, most_s=settings.backoff_max_seconds, max_attempts=settings.max_attempts
        ),
    )
    waits = Waits(
        poll_min=settings.poll_min_seconds, poll_max=settings.poll_max_seconds, shutdown=settings.shutdown_seconds
    )
    harvester = Harvester(stores.facts, stores.needed_graph(), rules, owner=owner_name(), pace=pace)
    beating = nullcontext() if rules.is_quick else Heartbeat(
        url=job.url, schema=settings.facts_schema, owner=harvester.owner, lease_seconds=settings.lease_seconds
    )  # fmt: skip
    with stop_on_signals(stop, deadline=settings.shutdown_seconds), beating:
        steps: Steps = harvester
        if MergePolicy(settings.merge_policy) is MergePolicy.EXACT_ALIAS:
            steps = AliasMerges(harvester, stores.needed_graph())
        return run_loop(steps, once=job.once, stop=stop, waits=waits, on_step=on_step)


def settle_memory() -> None:
    """A batch makes hundreds of thousands of short-lived values and no cycles: looking for cycles that often costs a third
    of a drain. What start-up made is set aside, and the collector looks seldom. The thread that writes a batch waits for
    the server at every step; the one that makes the next batch ready must let it go on as soon as the answer is there.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_A_LOOK, 50, 50)


def run_workers(job: Job, count: int, stop: Stop, on_step: Callable[[Tally], None] | None = None) -> Tally:
    """``count`` worker processes; returns when all have ended. A stop reaches them through the parent's signal."""
    crew = _Crew(job, on_step)
    try:
        with stop_on_signals(stop, deadline=job.settings.shutdown_seconds + _GRACE_SECONDS):
            for _ in range(count):
                crew.start()
            while crew.members:
                crew.look()
                if stop:
                    crew.stop()
    except DeadlineReached:
        log.warning("workers_killed", workers=len(crew.members), detail="what they held comes back with its lease")
    finally:
        crew.kill()
    return crew.total


def watch_workers(job: Job, count: int, stopping: threading.Event) -> Tally:
    """The same beside a server: no signals (it may run in any thread), an event instead."""
    crew, give_up_at = _Crew(job, None), math.inf
    try:
        for _ in range(count):
            crew.start()
        while crew.members and time.monotonic() < give_up_at:
            crew.look()
            if stopping.is_set() and give_up_at == math.inf:
                crew.stop()
                give_up_at = time.monotonic() + job.settings.shutdown_seconds + _GRACE_SECONDS
        if crew.members:
            log.warning("workers_killed", workers=len(crew.members), detail="what they held comes back with its lease")
    finally:
        crew.kill()
    return crew.total


class _Crew:
    def __init__(self, job: Job, on_step: Callable[[Tally], None] | None) -> None:
        self._job = job
        self._on_step = on_step
        self._quick_deaths = 0
        self._stopping = False
        self._born: dict[Pipe, float] = {}
        self.members: dict[Pipe, SpawnProcess] = {}
        self.total = Tally()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_worker, args=(self._job, theirs), name="harvester-worker")
        process.start()
        theirs.close()
        self.members[ours] = process
        self._born[ours] = time.monotonic()

    def look(self) -> None:
        """Take what workers report; an end of the pipe is the end of its worker."""
        for pipe in wait(list(self.members), timeout=_LOOK_SECONDS):
            if not isinstance(pipe, Pipe):
                continue
            try:
                done: Tally = pipe.recv()
            except (EOFError, OSError):
                self._ended(pipe)
                continue
            self.total.add(done)
            if self._on_step is not None:
                self._on_step(done)

    def stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        for process in self.members.values():
            process.terminate()

    def kill(self) -> None:
        """Nothing outlives the parent; after an orderly end there is nobody left."""
        for process in self.members.values():
            process.kill()
            process.join()

    def _ended(self, pipe: Pipe) -> None:
        process = self.members.pop(pipe)
        lived = time.monotonic() - self._born.pop(pipe)
        pipe.close()
        process.join()
        if process.exitcode == 0 or self._stopping:
            return
        log.warning("worker_died", pid=process.pid, exit_code=process.exitcode, lived_seconds=round(lived, 1))
        self._quick_deaths = self._quick_deaths + 1 if lived < _QUICK_SECONDS else 0
        if self._quick_deaths > _MOST_QUICK_DEATHS:
            raise HarvesterError(f"workers keep dying ({self._quick_deaths} in a row); the log above says how")
        time.sleep(min(0.1 * self._quick_deaths, 2.0))
        self.start()


def _worker(job: Job, pipe: Pipe) -> None:
    configure_logs(style=job.settings.log_format, level=job.settings.log_level)
    stop = Stop()

    def report(done: Tally) -> None:
        try:
            pipe.send(done)
        except OSError:
            stop.set()  # The parent is gone; nobody would stop this worker any more.

    try:
        with ExitStack() as open_until_the_end:
            work(job, _connected(job, open_until_the_end), stop, report)
    except HarvesterError as error:
        log.error("worker_failed", error=error.message)  # noqa: TRY400 - the message is for a person
        raise SystemExit(_CRASHED) from error


def _connected(job: Job, stack: ExitStack) -> Stores:
    """A worker may be born while the database restarts: the parent has seen it, so it will be back."""
    for _ in range(_CONNECT_ATTEMPTS):
        try:
            return stack.enter_context(connect_stores(job.url, job.settings))
        except Unavailable as error:
            log.warning("database_away", error=error.message, retry_seconds=_CONNECT_PAUSE_SECONDS)
            time.sleep(_CONNECT_PAUSE_SECONDS)
    return stack.enter_context(connect_stores(job.url, job.settings))
