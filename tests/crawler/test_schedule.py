"""Jobs at their times: each time is taken once, whoever looks; what was missed is done once."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from crawler.errors import BadSetting
from crawler.schedule import Schedule, ScheduledJob, due, jobs_of, keeping_schedule
from crawler.settings import read_settings
from facts import DeleteFactInput, StoreFactInput
from facts.access import Writer
from facts.errors import Unavailable
from facts.uncrawled import CrawlMark

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("since", "now", "at"),
    [
        (NOON, NOON + 9 * MINUTE, None),
        (NOON, NOON + 10 * MINUTE, NOON + 10 * MINUTE),
        (NOON, NOON + 57 * MINUTE, NOON + 50 * MINUTE),
        (NOON + 50 * MINUTE, NOON + 57 * MINUTE, None),
    ],
)
def test_the_latest_time_that_was_missed_is_due(since, now, at):
    assert due("*/10 * * * *", since, now) == at


def counting(done, name="count"):
    return ScheduledJob(name=name, cron="*/10 * * * *", run=lambda _: done.append(name) or {})


def test_a_job_is_done_once_for_all_that_it_missed_and_not_at_first_sight(stores):
    done: list[str] = []
    schedule = Schedule(stores.facts, [counting(done)])
    assert schedule.look(NOON + MINUTE) == []
    assert schedule.look(NOON + 9 * MINUTE) == []
    assert schedule.look(NOON + 45 * MINUTE) == ["count"]
    assert schedule.look(NOON + 46 * MINUTE) == []
    assert done == ["count"]


def test_of_many_that_look_at_once_one_does_it(stores):
    done: list[str] = []
    schedules = [Schedule(stores.facts, [counting(done)]) for _ in range(6)]
    schedules[0].look(NOON)
    barrier = threading.Barrier(6)

    def look(schedule: Schedule) -> None:
        barrier.wait()
        schedule.look(NOON + 10 * MINUTE)

    threads = [threading.Thread(target=look, args=[each]) for each in schedules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == ["count"]


def test_a_job_that_fails_waits_for_its_next_time_and_holds_up_no_other(stores):
    done: list[str] = []

    def fail(_stop):
        done.append("tried")
        raise Unavailable("away")

    schedule = Schedule(stores.facts, [ScheduledJob(name="bad", cron="*/10 * * * *", run=fail), counting(done)])
    schedule.look(NOON)
    schedule.look(NOON + 10 * MINUTE)
    schedule.look(NOON + 11 * MINUTE)
    assert done == ["tried", "count"]


def test_tombstones_are_purged_and_facts_of_sessions_that_are_gone_are_buried(stores):
    facts, settings = stores.facts, read_settings({}, environment={})
    facts.store(StoreFactInput(key="old", value=1, shared=True))
    facts.delete(DeleteFactInput(key="old", shared=True))
    facts.set_crawled([CrawlMark(scope_key="shared:old")])
    facts.sessions.register("kelp")
    facts.store(StoreFactInput(key="plan", value=1), Writer(session_id="kelp"))
    with facts.db.transaction() as conn:
        conn.execute("UPDATE pilotswarm_facts.sessions SET deleted_at = now()")
    schedule = Schedule(facts, jobs_of(facts, stores.url, settings, {}))
    schedule.look(NOON)
    assert schedule.look(NOON + 15 * MINUTE) == ["purge", "sweep"]
    assert facts.inspect("shared:old") is None
    assert facts.inspect("session:kelp:plan").deleted_at is not None


def test_an_ingest_runs_at_its_time_as_a_command(stores, tmp_path):
    (tmp_path / "facts.jsonl").write_text('{"key": "told", "value": 1}\n')
    entry = {"name": "told", "cron": "0 * * * *", "run": ["ingest", "jsonl", str(tmp_path / "facts.jsonl")]}
    off = read_settings({"purge_schedule": "off", "sweep_schedule": "off"}, environment={})
    schedule = Schedule(stores.facts, jobs_of(stores.facts, stores.url, off, {"schedule": [entry]}))
    schedule.look(NOON)
    assert schedule.look(NOON + 60 * MINUTE) == ["run told"]
    assert stores.facts.inspect("shared:told").value == 1


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"name": "x", "cron": "never", "run": ["ingest", "git"]}, "cron"),
        ({"name": "x", "cron": "0 * * * *", "run": ["purge", "--erase"]}, "may be scheduled"),
        ({"name": "x", "cron": "0 * * * *", "run": []}, r"schedule\[0\].run"),
        ({"name": "x", "cron": "0 * * * *", "run": ["ingest"], "when": 1}, r"schedule\[0\].when"),
        ("x", r"schedule\[0\]"),
    ],
)
def test_a_bad_entry_is_named(stores, entry, says):
    with pytest.raises(BadSetting, match=says):
        jobs_of(stores.facts, stores.url, read_settings({}, environment={}), {"schedule": [entry]})


def test_a_bad_expression_in_the_settings_is_named(stores):
    settings = read_settings({"purge_schedule": "often"}, environment={})
    with pytest.raises(BadSetting, match="often") as caught, keeping_schedule(stores.facts, stores.url, settings, {}):
        raise AssertionError("it is kept")
    assert caught.value.argument == "purge_schedule"
