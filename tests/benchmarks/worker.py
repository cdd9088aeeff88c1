"""One harvester in a process of its own: opens everything, says `ready`, drains on a line of input, says how much.

Run by `drain`, one process a worker, so that what is timed is work and not imports.
"""

import sys

from crawler.harvest import Harvester
from crawler.rules import read_rules
from crawler.workers import settle_memory
from facts import open_fact_store
from graph import open_graph_store


def main(url: str, owner: str) -> None:
    """Wait for the word, then drain."""
    settle_memory()
    facts = open_fact_store(url)
    graph = open_graph_store(url, facts=facts)
    harvester = Harvester(facts, graph, read_rules({}, reserved_prefixes=()), owner=owner)
    print("ready", flush=True)
    sys.stdin.readline()
    tally = harvester.drain()
    print(tally.acked, flush=True)
    graph.close()
    facts.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
