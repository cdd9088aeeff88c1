"""A breadth-first walk in the database, bounded in depth, nodes, edges and time.

Never a variable-length Cypher pattern: those enumerate paths, and drop a whole-graph cache with every write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facts.parameters import texts
from graph.columns import numbers
from graph.queries import Direction

if TYPE_CHECKING:
    from graph.reading import Reading

MOST_EDGES_WALKED = 20_000
WALK_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """One walk, checked: how far, which way, over which edges, and what of it is listed."""

    depth: int
    direction: Direction = "any"
    lowest: float = 0.0
    space: str | None = None
    most_nodes: int
    most_edges: int = MOST_EDGES_WALKED
    seconds: float = WALK_SECONDS

    @property
    def parameters(self) -> dict[str, Any]:
        """As the database's walk takes them."""
        return {
            "depth": self.depth,
            "direction": self.direction,
            "lowest": self.lowest,
            "space": self.space,
            "most_nodes": self.most_nodes,
            "most_edges": self.most_edges,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Walked:
    """The nodes reached, nearest first, with their distances, and whether a cap cut the walk short."""

    distances: dict[int, int]
    truncated: bool


def node_ids(reading: Reading, keys: Iterable[str]) -> dict[str, int]:
    """Ids of the nodes that these keys name, through recorded merges; unknown keys are left out."""
    rows = reading.conn.execute(reading.tables.reads.node_ids, {"keys": texts(keys)}).fetchall()
    return dict(rows)


def walk_from(reading: Reading, anchors: Sequence[int], walk: Walk) -> Walked:
    """Walk, in one round trip."""
    parameters = {"anchors": numbers(anchors), **walk.parameters}
    row = reading.conn.execute(reading.tables.reads.walk, parameters).fetchone()
    assert row is not None, "a function with OUT parameters returns one row"  # noqa: S101
    return Walked(distances=dict(zip(row[0], row[1], strict=True)), truncated=row[2])
