"""What is left of deleted facts, and how it goes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from crawler.arguments import Arguments, Cap, Count, Flag
from crawler.registry import FACTS_MANAGER, OVERSEERS, Answer, Desk, tool
from facts.errors import InvalidArgument
from facts.limits import MOST_SECONDS, PURGE_ROWS
from facts.tombstones import DEFAULT_LIMIT, ForcedPurge

Seconds = Annotated[float, Field(ge=0, le=MOST_SECONDS, allow_inf_nan=False)]


class TombstoneStats(Arguments):
    ttl_seconds: Seconds | None = Field(None, description="default 21600")


@tool(TombstoneStats, roles=OVERSEERS)
def facts_tombstone_stats(desk: Desk, asked: TombstoneStats) -> Answer:
    """How many deleted facts still have a row: all of them, those that the graph has not let go of yet, those of these
    that are younger than the time to live, and those that the next purge removes.
    """
    found = desk.facts.tombstone_statistics(asked.ttl_seconds)
    return {
        "pendingTotal": found.pending_total,
        "unreconciled": found.unreconciled,
        "ttlBlocked": found.ttl_blocked,
        "reconciledUnswept": found.reconciled_unswept,
        "pinned": found.pinned,
        "oldestAgeSeconds": found.oldest_age_s,
        "hasOldestAge": found.oldest_age_s is not None,
    }


class PurgeTombstones(Arguments):
    ttl_seconds: Seconds | None = Field(None, description="default 21600")
    limit: Annotated[Count, Cap(PURGE_ROWS)] = Field(DEFAULT_LIMIT, description="at most so many in one call")


@tool(PurgeTombstones, roles=FACTS_MANAGER, mutates=True, destroys=True)
def facts_purge_tombstones(desk: Desk, asked: PurgeTombstones) -> Answer:
    """Remove what is left of deleted facts that nobody needs any more: those the graph has let go of, and those never
    harvested once they are older than the time to live.
    """
    done = desk.facts.purge(asked.ttl_seconds, asked.limit)
    return {"purged": done.purged}


class ForcePurge(Arguments):
    cutoff: datetime = Field(description="ISO time; what was deleted up to then goes")
    confirm: Flag = Field(False, description="must be true")
    only_unreconciled: Flag = Field(False, description="only those that the graph has not let go of")
    key_prefix: str | None = Field(None, description="only keys that start so")
    limit: Annotated[Count, Cap(PURGE_ROWS)] = Field(DEFAULT_LIMIT, description="at most so many in one call")


@tool(ForcePurge, roles=FACTS_MANAGER, mutates=True, destroys=True)
def facts_force_purge(desk: Desk, asked: ForcePurge) -> Answer:
    """Remove what is left of facts deleted up to a cutoff, whatever the time to live says. Tombstones that the graph
    still refers to are left and counted as referenced: harvest first.
    """
    cutoff = asked.cutoff if asked.cutoff.tzinfo is not None else asked.cutoff.replace(tzinfo=UTC)
    if not asked.confirm:
        raise InvalidArgument("confirm must be true: this cannot be taken back", argument="confirm")
    done = desk.facts.force_purge(
        ForcedPurge(
            cutoff=cutoff,
            confirm=True,
            only_unreconciled=asked.only_unreconciled,
            key_prefix=asked.key_prefix,
            limit=asked.limit,
        )
    )
    return {"purged": done.purged, "referenced": done.referenced}


TOOLS = (facts_tombstone_stats, facts_purge_tombstones, facts_force_purge)
