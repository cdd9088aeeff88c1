"""`python -m tests.benchmarks.idle` (what `make idle` runs): processor time of a harvester that has nothing to do."""

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from facts import open_fact_store
from facts.embedded import EmbeddedServer
from tests.benchmarks.databases import OURS, fresh, make_templates
from tests.chaos.workload import Workload, pending, start, wait_for

# Fields 14 and 15 of proc(5)'s stat, counted from the one after the command's closing parenthesis.
_USER, _SYSTEM = 11, 12


def processor_seconds(pid: int) -> float:
    """User and system time of one process so far."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after_name[_USER]) + int(after_name[_SYSTEM])) / os.sysconf("SC_CLK_TCK")


def idle_share(url: str, folder: Path, seconds: float) -> float:
    """Share of one core that a harvester takes once it has drained a few facts and waits as long as it ever does."""
    work = Workload(count=20, hot=3)
    with open_fact_store(url) as facts:
        work.store(facts)
    harvester = start(url, folder)
    try:
        wait_for(lambda: pending(url) == 0)
        # 0.2 + 0.4 + ... reaches the longest wait (5 s) within 7 s.
        time.sleep(7)
        before, began = processor_seconds(harvester.pid), time.monotonic()
        time.sleep(seconds)
        share = (processor_seconds(harvester.pid) - before) / (time.monotonic() - began)
        if harvester.poll() is not None:
            raise RuntimeError(f"the harvester ended with {harvester.returncode} while it was measured")
    finally:
        harvester.send_signal(signal.SIGTERM)
        harvester.wait(timeout=40)
    return share


def main(seconds: Annotated[float, typer.Argument(help="how long to measure")] = 60.0) -> None:
    """Processor time of one idle harvester with the settings as they are shipped."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        tempfile.TemporaryDirectory() as folder,
        EmbeddedServer.start(Path(scratch) / "pgdata") as server,
    ):
        make_templates(server)
        with fresh(server, OURS) as url:
            share = idle_share(url, Path(folder), seconds)
    Console().print(f"idle harvester: {share:.3%} of a core over {seconds:g} s", highlight=False)


if __name__ == "__main__":
    typer.run(main)
