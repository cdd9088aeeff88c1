"""`harvester run`: drain the queue into the graph."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from crawler.invocation import invocation
from crawler.output import emit_json, hint, say

if TYPE_CHECKING:
    from crawler.harvest import Tally
    from crawler.wiring import Stores
    from crawler.workers import Job
    from facts.uncrawled import QueueStatistics

log = structlog.get_logger()


def add(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Stop when nothing is due, and say what was done.")] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    batch_size: Annotated[int | None, typer.Option(help="Facts a step [1000].", envvar="HARVESTER_BATCH_SIZE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Harvest: claim, extract, write to the graph, acknowledge, until stopped (SIGTERM finishes the batch in hand)."""
    from crawler.rendering import to_json
    from crawler.wiring import open_stores
    from crawler.workers import Job

    asked = invocation(context)
    settings = asked.with_options(batch_size=batch_size)
    rules = asked.rules  # A bad rule is refused before anything is opened, and so is one whose secret is missing.
    rules.make_ready()
    coverage = rules.coverage()
    with open_stores(settings) as stores:
        stores.needed_graph()
        job = Job(url=stores.url, settings=settings, config=asked.config, once=once)
        began = time.monotonic()
        total = _drain(job, stores, workers)
        seconds = time.monotonic() - began
        left = stores.facts.queue_statistics(coverage=coverage)
    if as_json:
        emit_json({**total.as_json(), "seconds": round(seconds, 3), "queue": to_json(left)})
    else:
        _summary(total, seconds, left)


def _drain(job: Job, stores: Stores, workers: int) -> Tally:
    """One worker works in this process; more are processes of their own. Only what goes on keeps the schedule."""
    from crawler.loop import Stop
    from crawler.progress import item_progress
    from crawler.schedule import keeping_schedule
    from crawler.workers import run_workers, work

    pending = stores.facts.queue_statistics().pending
    kept = nullcontext() if job.once else keeping_schedule(stores.facts, job.url, job.settings, job.config)
    with item_progress("harvest", pending if job.once else None) as advance, kept:

        def on_step(done: Tally) -> None:
            advance(done.claimed)
            if done.claimed and not job.once:
                log.info("harvested", **done.as_json())

        stop = Stop()
        return work(job, stores, stop, on_step) if workers == 1 else run_workers(job, workers, stop, on_step)


def _summary(total: Tally, seconds: float, left: QueueStatistics) -> None:
    rate = f" ({total.acked / seconds:,.0f} a second)" if seconds > 0 and total.acked else ""
    say(f"harvested {total.acked} facts in {seconds:.1f} s{rate}: {total.nodes} node mentions, {total.edges} edges")
    parts = {
        "deleted facts reconciled": total.tombstones,
        "rows withdrawn": total.withdrawn,
        "said nothing": total.empty,
        "changed meanwhile": total.stale,
        "failed": total.failed,
    }
    said = [f"{count} {what}" for what, count in parts.items() if count]
    if said:
        say(", ".join(said))
    for label, count in total.failures.most_common(10):
        say(f"  {count} x {label}")
    if left.pending:
        why = f"{left.no_rule} without a rule, {left.parked} parked, {left.leased} in work"
        say(f"still pending: {left.pending} ({why})")
    if left.no_rule:
        hint("facts without a rule wait for one in harvest.toml; docs/harvest-toml.md says how")
