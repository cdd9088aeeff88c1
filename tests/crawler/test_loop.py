"""The loop: it stops when asked, waits for what is away, and gives back what it holds."""

import os
import signal
import threading

import pytest

from crawler.extractors.triples import TriplesExtractor
from crawler.harvest import Harvester, Pace, Tally
from crawler.heartbeat import Heartbeat
from crawler.loop import Stop, Waits, run_loop, stop_on_signals
from crawler.rules import read_rules
from facts.errors import Unavailable
from facts.queue import claim
from facts.uncrawled import EntriesQuery, QueueState, queue_entries
from tests.crawler.conftest import RESERVED, triple

WAITS = Waits(poll_min=0.01, poll_max=0.02, shutdown=5, patience=0.3)


def leased(stores):
    with stores.facts.db.transaction() as connection:
        return queue_entries(connection, stores.facts.tables, EntriesQuery(state=QueueState.LEASED))


class Scripted:
    """A harvester whose steps are scripted: tallies, or errors to raise."""

    owner = "scripted"

    def __init__(self, *steps):
        self.steps = list(steps)
        self.released = 0

    def step(self):
        done = self.steps.pop(0) if self.steps else Tally()
        if isinstance(done, BaseException):
            raise done
        return done

    def release(self):
        self.released += 1
        return 0


def test_once_ends_when_nothing_is_due_and_adds_up():
    scripted = Scripted(Tally(claimed=3, acked=3), Tally(claimed=1, failed=1))
    total = run_loop(scripted, once=True, stop=Stop(), waits=WAITS)
    assert (total.claimed, total.acked, total.failed, scripted.released) == (4, 3, 1, 1)


def test_without_once_it_goes_on_until_it_is_stopped():
    stop, idle = Stop(), []

    def on_step(done):
        idle.append(done.claimed)
        if len(idle) == 4:
            stop.set()

    run_loop(Scripted(Tally(claimed=1)), once=False, stop=stop, waits=WAITS, on_step=on_step)
    assert idle == [1, 0, 0, 0]


def test_a_database_that_went_away_is_waited_for():
    scripted = Scripted(Unavailable("gone"), Tally(claimed=1, acked=1))
    assert run_loop(scripted, once=True, stop=Stop(), waits=Waits(patience=30)).acked == 1


def test_what_was_in_hand_when_the_database_went_is_given_back_once():
    scripted = Scripted(Tally(claimed=2, acked=2), Unavailable("gone"), Unavailable("gone"), Tally(claimed=1, acked=1))
    run_loop(scripted, once=True, stop=Stop(), waits=Waits(patience=30))
    assert scripted.released == 2, "after the outage, and at the end"


def test_a_batch_that_takes_the_database_down_again_waits_for_its_leases():
    steps = [Unavailable("down"), Tally(claimed=1, failed=1), Unavailable("down"), Tally()]
    scripted = Scripted(*steps)
    run_loop(scripted, once=True, stop=Stop(), waits=Waits(patience=30))
    assert scripted.released == 2, "after the first outage, and at the end"


def test_once_does_not_wait_for_ever():
    with pytest.raises(Unavailable):
        run_loop(Scripted(*[Unavailable("gone")] * 9), once=True, stop=Stop(), waits=WAITS)


def test_a_stop_ends_the_wait_for_a_database():
    stop = Stop()
    stop.set()
    assert run_loop(Scripted(Unavailable("gone")), once=False, stop=stop, waits=WAITS).claimed == 0


def test_sigterm_lets_the_batch_in_hand_finish(stores, put):
    class Terminated(TriplesExtractor):
        def extract(self, facts):
            os.kill(os.getpid(), signal.SIGTERM)
            return super().extract(facts)

    put({f"k{n}": triple(f"a{n}", "to", "b") for n in range(6)})
    harvest = over(stores, Terminated({}), batch_size=3)
    stop = Stop()
    with stop_on_signals(stop, deadline=5):
        total = run_loop(harvest, once=True, stop=stop, waits=WAITS)
    assert total.acked == 3
    assert leased(stores) == ()
    assert stores.facts.queue_statistics().pending == 3


def test_at_the_deadline_the_batch_in_hand_goes_back_uncounted(stores, put):
    class Stuck(TriplesExtractor):
        def extract(self, facts):
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(30)
            return super().extract(facts)

    put({"k": triple("a", "to", "b")})
    stop = Stop()
    with stop_on_signals(stop, deadline=0.05):
        total = run_loop(over(stores, Stuck({})), once=True, stop=stop, waits=WAITS)
    assert total.acked == 0
    assert leased(stores) == ()
    assert over(stores, TriplesExtractor({})).step().acked == 1, "due at once"


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals(Stop(), deadline=1):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_heartbeat_keeps_leases_alive_and_ends_with_its_worker(stores, put, database_url):
    put({"k": 1})
    lease = 9.0
    with stores.facts.db.transaction() as connection:
        claim(connection, stores.facts.tables, owner="beating", limit=1, lease=lease)
    first = leased(stores)[0].leased_until
    with Heartbeat(url=database_url, schema="pilotswarm_facts", owner="beating", lease_seconds=lease) as heartbeat:
        pid = heartbeat.pid or 0
        assert wait_until(lambda: [lease.leased_until for lease in leased(stores) if lease.leased_until > first])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def over(stores, extractor, **pace):
    rules = read_rules({"rules": [{"match": "*", "extractor": "triples"}]}, reserved_prefixes=RESERVED)
    object.__setattr__(rules.rules[0], "extractor", extractor)
    return Harvester(stores.facts, stores.graph, rules, owner="looping", pace=Pace(**pace))


def wait_until(condition, seconds=20.0):
    """Polls, since the other side is another process."""
    tick = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if condition():
            return True
        tick.wait(0.05)
    return False
