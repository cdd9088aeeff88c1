"""The crawl queue by hand: for crawler agents and the facts manager."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from crawler.arguments import Arguments, Cap, Count, Flag, JsonList
from crawler.registry import CRAWLERS, Answer, Desk, Need, tool
from crawler.rendering import encoded_size, fact_json, fitting
from facts.inputs import ABSENT
from facts.limits import QUEUE_PAGE
from facts.uncrawled import CrawlMark, QueuedFact, QueuePage


class ReadUncrawled(Arguments):
    key_prefix: str | None = Field(None, description="literal prefix of the key")
    namespace: str | None = Field(None, description="deprecated: this key or below it; not together with keyPrefix")
    limit: Annotated[Count, Cap(QUEUE_PAGE)] = Field(20, description="up to 500")
    cursor: str | None = Field(None, description="the cursor of the last answer, to go on")


@tool(ReadUncrawled, roles=CRAWLERS, needs=[Need.GRAPH])
def facts_read_uncrawled(desk: Desk, asked: ReadUncrawled) -> Answer:
    """Facts that the graph has not taken in yet, oldest first, of all sessions: new, edited, and deleted ones (with
    deletedAt; they take no nodes or edges). What a harvester is working on is left out; parked ones say why they were
    given up. Hand each fact's scopeKey and etag to graph_incorporate.
    """
    page = _page(desk, asked, asked.limit)
    rendered = [_queued_json(one) for one in page.facts]
    kept = fitting(rendered, desk.budget)
    if len(kept) == len(rendered):
        return {"count": len(kept), "facts": kept} | _cursor(page)
    if not kept:
        kept = [_without_value(rendered[0])]
    shorter = _page(desk, asked, len(kept))
    return {"count": len(kept), "facts": kept, "truncated": True} | _cursor(shorter)


def _page(desk: Desk, asked: ReadUncrawled, limit: int) -> QueuePage:
    return desk.facts.read_uncrawled(
        desk.access, key_prefix=asked.key_prefix, namespace=asked.namespace, limit=limit, cursor=asked.cursor
    )


def _cursor(page: QueuePage) -> Answer:
    return {"cursor": page.cursor} if page.cursor else {}


def _queued_json(queued: QueuedFact) -> Answer:
    shown = fact_json(queued.fact)
    if queued.fact.deleted_at is not None:
        shown["deletedAt"] = queued.fact.deleted_at.isoformat()
    if queued.parked:
        shown["parked"] = True
    if queued.last_error is not None:
        shown["lastError"] = queued.last_error
    return shown


def _without_value(shown: Answer) -> Answer:
    size = encoded_size(shown["value"])
    note = f"{size} bytes; read it with read_facts, scopeKeys and valueOffset 0"
    return shown | {"value": None, "valueOmitted": note}


class MarkItem(Arguments):
    scope_key: Annotated[Any, WithJsonSchema({"type": "string"})] = None
    etag: Annotated[Any, WithJsonSchema({"type": "integer"})] = Field(
        default_factory=lambda: ABSENT, description="as read; left out: whatever the version is"
    )


class SetCrawled(Arguments):
    scope_keys: Annotated[list[MarkItem], JsonList] | None = Field(None, description="1 to 500 facts")
    key_prefix: str | None = Field(None, description="instead: every live fact whose key starts so")
    crawled: Flag = Field(True, description="false: put back on the queue")


@tool(SetCrawled, roles=CRAWLERS, needs=[Need.GRAPH], mutates=True)
def facts_set_crawled(desk: Desk, asked: SetCrawled) -> Answer:
    """Take facts off the queue by hand, or (crawled=false) put them back. With an etag the entry counts only for that
    version. This vouches for what the graph holds and writes nothing there: graph_incorporate writes and acknowledges
    in one step. affected + skipped is what you sent; skippedKeys says why.
    """
    marks = None
    if asked.scope_keys is not None:
        marks = [CrawlMark(scope_key=item.scope_key, etag=item.etag) for item in asked.scope_keys]
    done = desk.facts.set_crawled(marks, key_prefix=asked.key_prefix, crawled=asked.crawled, access=desk.access)
    return {
        "affected": done.affected,
        "skipped": done.skipped,
        "skippedKeys": [{"scopeKey": one.scope_key, "reason": one.reason.value} for one in done.skipped_keys],
    }


TOOLS = (facts_read_uncrawled, facts_set_crawled)
