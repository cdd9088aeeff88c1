"""One harvester in a process of its own: opens everything, says `ready`, drains on a line of input, says how much.

What `harvester run --once` does in a worker, but for the start, so that what is timed is work and not imports. Run by
`drain`, one process a worker.
"""

import sys

from crawler.loop import Stop
from crawler.settings import Settings, read_settings
from crawler.wiring import connect_stores
from crawler.workers import Job, work


def bench_settings(url: str) -> Settings:
    """The defaults, on this database, whatever the environment says."""
    return read_settings({"database_url": url}, environment={})


def main(url: str) -> None:
    """Wait for the word, then drain."""
    settings = bench_settings(url)
    with connect_stores(url, settings) as stores:
        print("ready", flush=True)
        sys.stdin.readline()
        tally = work(Job(url=url, settings=settings, config={}, once=True), stores, Stop())
        print(tally.acked, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
