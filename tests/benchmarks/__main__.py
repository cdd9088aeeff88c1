"""`python -m tests.benchmarks` (what `make bench` runs): everything side by side in one run, as tables and JSON."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import psycopg
import typer
from rich.console import Console

from facts.embedded import EmbeddedServer
from tests.benchmarks import cypher, drain, queue, raw
from tests.benchmarks.databases import OURS, RAW, fresh, make_templates
from tests.benchmarks.report import as_json, print_report
from tests.benchmarks.steps import Run
from tests.benchmarks.workload import Fact, check, generate

CYPHER_FACTS = {2_000: 60}
CYPHER_FACTS_BEYOND = 20
LARGE_ROUNDS = 200
console = Console()


def measured(server: EmbeddedServer, sizes: list[int], rounds: int, queue_size: int, *, slow: bool) -> Iterator[Run]:
    """Every system at every size, interleaved round by round."""
    make_templates(server)
    for size in sizes:
        facts = list(generate(size))
        for number in range(rounds):
            yield raw_run(server, facts)
            for workers in (1, 2):
                yield drain_run(server, facts, workers)
            if slow and number == 0:
                yield cypher_run(server, facts)
        yield profile_run(server, facts)
    if queue_size:
        facts = list(generate(queue_size))
        for _ in range(rounds):
            yield bare_queue_run(server, facts)
            yield queue_apart_run(server, facts)
            yield queue_run(server, facts)


def raw_run(server: EmbeddedServer, facts: list[Fact]) -> Run:
    """The raw batches."""
    with fresh(server, RAW) as url, psycopg.connect(url) as connection:
        run = raw.load(connection, facts)
        check(raw.totals(connection), facts)
    return run


def drain_run(server: EmbeddedServer, facts: list[Fact], workers: int) -> Run:
    """Our drain, checked against the fold."""
    with fresh(server, OURS) as url:
        drain.store(url, facts)
        run = drain.drain(url, size=len(facts), workers=workers)
        check_ours(url, facts)
    return run


def profile_run(server: EmbeddedServer, facts: list[Fact]) -> Run:
    """Our drain, statement by statement."""
    with fresh(server, OURS) as url:
        drain.store(url, facts)
        run = drain.profile(url, size=len(facts))
        check_ours(url, facts)
    return run


def check_ours(url: str, facts: list[Fact]) -> None:
    """Our graph has the labels and properties of the raw one."""
    with psycopg.connect(url) as connection:
        check(raw.totals(connection, "knowledge"), facts)


def cypher_run(server: EmbeddedServer, facts: list[Fact]) -> Run:
    """The usual store, on a slice of further facts at this size of the graph."""
    slice_size = CYPHER_FACTS.get(len(facts), CYPHER_FACTS_BEYOND)
    further = list(generate(len(facts) + slice_size))
    with fresh(server, RAW) as url, psycopg.connect(url) as connection:
        raw.load(connection, further[: len(facts)])
        connection.execute("ANALYZE")
        connection.commit()
        run = cypher.load(connection, further[len(facts) :], size=len(facts))
        check(raw.totals(connection), further)
    return run


def queue_run(server: EmbeddedServer, facts: list[Fact]) -> Run:
    """Our queue alone."""
    with fresh(server, OURS) as url:
        drain.store(url, facts)
        return queue.ours(url, size=len(facts))


def bare_queue_run(server: EmbeddedServer, facts: list[Fact]) -> Run:
    """The bare loop on the facts."""
    with fresh(server, OURS) as url:
        drain.store(url, facts)
        return queue.on_facts(url, size=len(facts))


def queue_apart_run(server: EmbeddedServer, facts: list[Fact]) -> Run:
    """The bare loop on a table of its own."""
    with fresh(server, RAW) as url:
        queue.fill_bare(url, facts)
        return queue.apart(url, size=len(facts))


def large_times(server: EmbeddedServer, size: int, rounds: int) -> dict[str, dict[str, float]]:
    """Single claims and counts in a large store at rest: milliseconds at the median and at the 95th of a hundred."""
    make_templates(server)
    with fresh(server, OURS) as url:
        queue.fill_large(url, size)
        found = queue.in_large(url, rounds=rounds)
    return {name: {"p50_ms": median(times), "p95_ms": quantiles(times, n=20)[-1]} for name, times in found.items()}


def main(
    sizes: Annotated[list[int] | None, typer.Argument(help="facts; 2000 and 20000 when none is given")] = None,
    rounds: Annotated[int, typer.Option(help="interleaved rounds, of which medians are shown")] = 3,
    queue_size: Annotated[int, typer.Option("--queue", help="rows of the queue benchmark, 0: leave it out")] = 20_000,
    large: Annotated[
        int, typer.Option(help="facts of the store at rest that claims are timed in, 0: none")
    ] = 1_000_000,
    slow: Annotated[bool, typer.Option(help="with the look-up-then-write Cypher")] = True,
    output: Annotated[Path | None, typer.Option("--json", help="write every figure here")] = None,
) -> None:
    """Facts a second of a full drain, beside raw SQL and beside look-up-then-write Cypher on the same server."""
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as scratch, EmbeddedServer.start(Path(scratch) / "pgdata") as server:
        for run in measured(server, sizes or [2_000, 20_000], rounds, queue_size, slow=slow):
            console.print(f"{run.size:>9,}  {run.system:<28} {run.rate:>10,.1f} facts/s", highlight=False)
            runs.append(run)
        times = large_times(server, large, LARGE_ROUNDS) if large else {}
    print_report(runs, console)
    for name, figures in times.items():
        said = ", ".join(f"{figure} {value:.2f}" for figure, value in figures.items())
        console.print(f"{large:>9,} facts at rest, 1,000 due, 1,000 parked: {name}: {said}", highlight=False)
    if output is not None:
        output.write_text(json.dumps(as_json(runs) | {"at_rest": times}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
