"""One read: its connection, its tables, its caller; every read of the graph goes through the caller's access."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from facts.visibility import visible_parameters

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.access import AccessContext
    from facts.reserved import ReservedRules
    from facts.tables import FactTables
    from graph.tables import GraphTables

SEARCH_SECONDS = 5.0


class Topology(StrEnum):
    """Whether names and relations are everybody's, or only what the caller's own evidence shows."""

    SHARED = "shared"
    VISIBLE = "visible"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a read needs to know; `access` comes from the authenticated caller, never from arguments."""

    conn: Connection
    facts: FactTables
    tables: GraphTables
    access: AccessContext
    rules: ReservedRules
    topology: Topology = Topology.SHARED

    @cached_property
    def acl(self) -> dict[str, Any]:
        """The parameters of the one visibility predicate, and who may see assertions that cite nothing."""
        return {**visible_parameters(self.access, rules=self.rules), "acl_privileged": self.access.reads_all}

    @property
    def sees_everything(self) -> bool:
        """Whether all topology is in this caller's sight."""
        return self.topology is Topology.SHARED or self.access.unrestricted

    def bound_time(self, seconds: float = SEARCH_SECONDS) -> None:
        """Let no statement of this transaction run longer."""
        self.conn.execute(self.tables.reads.bound_time, {"milliseconds": int(seconds * 1000)})
