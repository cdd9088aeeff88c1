"""A full drain of this product: claim, extract triples, incorporate, acknowledge."""

import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter

from crawler.harvest import Harvester
from crawler.rules import read_rules
from facts import FactStore, StoreFactInput, open_fact_store
from graph import open_graph_store
from tests.benchmarks.statements import Statements, timed_statements
from tests.benchmarks.steps import Run
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
    harvesters = [start_worker(url, f"bench-{number}") for number in range(workers)]
    for harvester in harvesters:
        expect(harvester, "ready")
    began = perf_counter()
    for harvester in harvesters:
        say(harvester, "go")
    acked = sum(int(answer(harvester)) for harvester in harvesters)
    seconds = perf_counter() - began
    for harvester in harvesters:
        if harvester.wait():
            raise AssertionError(f"a worker ended with {harvester.returncode}")
    if acked != size:
        raise AssertionError(f"{acked} facts were acknowledged, {size} were on the queue")
    return Run(system=f"harvester, {workers} worker{'s' * (workers > 1)}", size=size, facts=size, seconds=seconds)


def profile(url: str, *, size: int) -> Run:
    """The same drain in this process, with the time of each statement; slower by the timing itself."""
    facts = open_fact_store(url)
    graph = open_graph_store(url, facts=facts)
    harvester = Harvester(facts, graph, read_rules({}, reserved_prefixes=()), owner="bench-profile")
    statements = Statements.known()
    with timed_statements(statements):
        began = perf_counter()
        harvester.drain()
        seconds = perf_counter() - began
    graph.close()
    facts.close()
    return Run(system="harvester, profiled", size=size, facts=size, seconds=seconds, shares=statements.shares(seconds))


Worker = subprocess.Popen[str]


def start_worker(url: str, owner: str) -> Worker:
    """A process that is not draining yet."""
    command = [sys.executable, "-m", "tests.benchmarks.worker", url, owner]
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
