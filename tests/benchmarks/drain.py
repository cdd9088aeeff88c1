"""A full drain of this product: claim, extract triples, incorporate, acknowledge."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any
from unittest.mock import patch

from crawler.extractors.triples import TriplesExtractor
from crawler.loop import Stop
from crawler.wiring import connect_stores
from crawler.workers import Job, work
from facts import FactStore, StoreFactInput, open_fact_store
from tests.benchmarks.statements import Statements, timed_statements
from tests.benchmarks.steps import Run
from tests.benchmarks.worker import bench_settings
from tests.benchmarks.workload import Fact

BATCH = 1_000


def store(url: str, facts: Sequence[Fact]) -> None:
    """Put the facts on the queue."""
    with_store = open_fact_store(url)
    for start in range(0, len(facts), BATCH):
        store_batch(with_store, facts[start : start + BATCH])
    with_store.close()


def store_batch(facts: FactStore, batch: Sequence[Fact]) -> None:
    """One batch of shared facts."""
    facts.store([StoreFactInput(key=fact.key, value=fact.value, shared=True) for fact in batch])


def drain(url: str, *, size: int, workers: int) -> Run:
    """The whole queue, by so many processes; timed from the word to the last answer."""
    with ExitStack() as crew:
        harvesters = [crew.enter_context(start_worker(url)) for _ in range(workers)]
        for harvester in harvesters:
            expect(harvester, "ready")
        began = perf_counter()
        for harvester in harvesters:
            say(harvester, "go")
        acked = sum(int(answer(harvester)) for harvester in harvesters)
        seconds = perf_counter() - began
    if any(harvester.returncode for harvester in harvesters):
        raise AssertionError(f"workers ended with {[harvester.returncode for harvester in harvesters]}")
    if acked != size:
        raise AssertionError(f"{acked} facts were acknowledged, {size} were on the queue")
    return Run(system=f"harvester, {workers} worker{'s' * (workers > 1)}", size=size, facts=size, seconds=seconds)


def profile(url: str, *, size: int) -> Run:
    """The same drain in this process, one step after the other, with the time of each; slower for that."""
    settings, statements = bench_settings(url), Statements.known()
    job = Job(url=url, settings=settings, config={}, once=True)
    with (
        connect_stores(url, settings) as stores,
        timed_statements(statements),
        timed_extraction(statements),
        claims_in_turn(),
    ):
        began = perf_counter()
        work(job, stores, Stop())
        seconds = perf_counter() - began
    return Run(system="harvester, profiled", size=size, facts=size, seconds=seconds, shares=statements.shares(seconds))


@contextmanager
def claims_in_turn() -> Iterator[None]:
    """No batch is claimed while another one is written: overlapping steps have no shares."""
    with patch("crawler.harvest.ThreadPoolExecutor", InTurn):
        yield


class InTurn(Executor):
    """An executor that does the work at once."""

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        super().__init__()

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        done.set_result(work(*args, **kwargs))
        return done


@contextmanager
def timed_extraction(statements: Statements) -> Iterator[None]:
    """The extractor's part."""
    extract = TriplesExtractor.extract

    def timed(self: TriplesExtractor, facts: Sequence[Any]) -> Any:
        began = perf_counter()
        try:
            return extract(self, facts)
        finally:
            statements.seconds["extract (no statement)"] += perf_counter() - began

    TriplesExtractor.extract = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        TriplesExtractor.extract = extract  # type: ignore[method-assign]


Worker = subprocess.Popen[str]


def start_worker(url: str) -> Worker:
    """A process that is not draining yet."""
    command = [sys.executable, "-m", "tests.benchmarks.worker", url]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(worker: Worker, line: str) -> None:
    """Give a worker its word."""
    if worker.stdin is None:
        raise AssertionError("a worker without a pipe")
    worker.stdin.write(line + "\n")
    worker.stdin.flush()


def answer(worker: Worker) -> str:
    """The next line that a worker says."""
    if worker.stdout is None:
        raise AssertionError("a worker without a pipe")
    return worker.stdout.readline().strip()


def expect(worker: Worker, line: str) -> None:
    """The next line must be this."""
    said = answer(worker)
    if said != line:
        raise AssertionError(f"a worker said {said!r} instead of {line!r}")
