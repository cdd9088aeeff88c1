"""The merge policy `exact-alias` at work: when a harvester has nothing left to do, it records the merges that are certain."""

from __future__ import annotations

import structlog

from crawler.harvest import Tally
from crawler.loop import Steps
from graph.merge_policy import merge_exact_aliases
from graph.store import GraphStore

log = structlog.get_logger()


class AliasMerges:
    """Steps of a harvester, each spell of work followed by the merges that it made certain."""

    def __init__(self, steps: Steps, graph: GraphStore) -> None:
        self._steps = steps
        self._graph = graph
        self._news = True

    def step(self) -> Tally:
        """A step; an idle one merges."""
        done = self._steps.step()
        if done.claimed:
            self._news = True
        elif self._news:
            self._news = False
            merged = merge_exact_aliases(self._graph)
            if merged:
                log.info("aliases_merged", merges=len(merged))
        return done

    def release(self) -> int:
        """Give back every lease."""
        return self._steps.release()
