"""Jobs at their times: purges, sweeps of sessions, ingests. Of all processes on one database, one does a job that is due.

Times are cron expressions in UTC. A process that was away does once what it missed, not once for each time. A job that
fails says so in the log and waits for its next time.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import structlog
from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crawler.errors import BadSetting, complaint
from crawler.migrations import serving_migrations
from crawler.settings import OFF, Settings, environment_for_child, environment_of
from facts import FactStore
from facts.errors import HarvesterError
from facts.migrations import require_current
from facts.sqlfiles import load_queries

log = structlog.get_logger()

_LOOK_SECONDS: Final = 15.0
_STOP_SECONDS: Final = 10.0
SCHEDULED_COMMANDS: Final = ("ingest", "import")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJob:
    """``run`` does it and says what it did; it is told to stop by the event."""

    name: str
    cron: str
    run: Callable[[threading.Event], Mapping[str, object]]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=100)
    cron: str
    run: Annotated[list[str], Field(min_length=1)]


def checked_cron(text: str, *, argument: str) -> str:
    """The expression. :raises BadSetting: it is none."""
    try:
        CronSim(text, datetime.now(UTC))
    except CronSimError as error:
        raise BadSetting(f"{text!r} is not a cron expression: {error}", argument=argument) from error
    return text


def due(cron: str, since: datetime, now: datetime) -> datetime | None:
    """The latest time of an expression after ``since`` and not after ``now``."""
    latest = next(CronSim(cron, now + timedelta(seconds=1), reverse=True))
    return latest if latest > since else None


def jobs_of(facts: FactStore, url: str, settings: Settings, config: Mapping[str, Any]) -> list[ScheduledJob]:
    """The house's own jobs, and those of ``[[schedule]]`` in harvest.toml. :raises BadSetting: it names the entry."""
    own = {
        "purge": (settings.purge_schedule, lambda _: {"purged": facts.purge_all()}),
        "sweep": (settings.sweep_schedule, lambda _: {"buried": facts.sessions.sweep_gone()}),
    }
    jobs = [
        ScheduledJob(name=name, cron=checked_cron(cron, argument=f"{name}_schedule"), run=run)
        for name, (cron, run) in own.items()
        if cron != OFF
    ]
    environment = environment_of(settings.model_copy(update={"database_url": url}))
    return jobs + [_configured(entry, at, environment) for at, entry in enumerate(config.get("schedule", []))]


def _configured(entry: object, at: int, environment: Mapping[str, str]) -> ScheduledJob:
    place = f"schedule[{at}]"
    try:
        read = _Entry.model_validate(entry)
    except ValidationError as error:
        where, said = complaint(error)
        raise BadSetting(f"{place}.{where}: {said}", argument=place) from error
    if read.run[0] not in SCHEDULED_COMMANDS:
        raise BadSetting(
            f"{place}.run starts with {read.run[0]!r}; what may be scheduled: {', '.join(SCHEDULED_COMMANDS)}",
            argument=place,
        )
    cron = checked_cron(read.cron, argument=f"{place}.cron")
    return ScheduledJob(name=f"run {read.name}", cron=cron, run=lambda stop: _command(read.run, environment, stop))


def _command(arguments: Sequence[str], environment: Mapping[str, str], stop: threading.Event) -> Mapping[str, object]:
    """One of our own commands as a process of its own, under the settings of this one; a stop ends it."""
    process = subprocess.Popen(  # noqa: S603 - our own command, as the operator's file names it
        [sys.executable, "-m", "crawler", *arguments],
        env=environment_for_child(**environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None:
        if stop.wait(0.2):
            process.terminate()
            process.wait(_STOP_SECONDS)
    return {"exit_code": process.returncode}


class Schedule:
    """The jobs of one database. ``look`` does what is due."""

    def __init__(self, facts: FactStore, jobs: Sequence[ScheduledJob], *, stop: threading.Event | None = None) -> None:
        self._db = facts.db
        self._queries = load_queries("crawler", "sql/schedule", facts=facts.tables.schema)
        self._jobs = jobs
        self.stop = stop or threading.Event()
        require_current(self._db, serving_migrations(facts.tables.schema))

    def look(self, now: datetime) -> list[str]:
        """Do what is due; the names of the jobs that this process did."""
        return [job.name for job in self._jobs if not self.stop.is_set() and self._takes(job, now) and self._does(job)]

    def _takes(self, job: ScheduledJob, now: datetime) -> bool:
        self._db.run(lambda conn: conn.execute(self._queries.see_job, {"job": job.name, "now": now}))
        row = self._db.run(lambda conn: conn.execute(self._queries.last_taken, {"job": job.name}).fetchone())
        at = None if row is None else due(job.cron, row[0], now)
        if at is None:
            return False
        taking = {"job": job.name, "due": at}
        return self._db.run(lambda conn: conn.execute(self._queries.take, taking).fetchone()) is not None

    def _does(self, job: ScheduledJob) -> bool:
        try:
            log.info("scheduled_job_done", job=job.name, **job.run(self.stop))
        except (HarvesterError, OSError) as error:
            log.warning("scheduled_job_failed", job=job.name, error=str(error))
        return True

    def keep(self) -> None:
        """Look now and again until stopped; a database that is away is looked for again."""
        while not self.stop.is_set():
            try:
                self.look(datetime.now(UTC))
            except HarvesterError as error:
                log.warning("schedule_waits", error=error.message)
            self.stop.wait(_LOOK_SECONDS)


@contextmanager
def keeping_schedule(facts: FactStore, url: str, settings: Settings, config: Mapping[str, Any]) -> Iterator[None]:
    """Jobs are done at their times while this is open, in a thread of their own."""
    schedule = Schedule(facts, jobs_of(facts, url, settings, config))
    thread = threading.Thread(target=schedule.keep, name="schedule", daemon=True)
    thread.start()
    try:
        yield
    finally:
        schedule.stop.set()
        thread.join(_STOP_SECONDS + 1)
