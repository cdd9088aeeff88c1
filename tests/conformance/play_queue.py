"""Operations on the crawl queue."""

from typing import Any

from facts.inputs import ABSENT
from facts.uncrawled import CrawlMark
from tests.conformance.case import Operation
from tests.conformance.play_facts import listed
from tests.conformance.stage import Answer, Stage, lacks_search, operation


def lacks_embeddings(stage: Stage, asked: Operation) -> str | None:
    """`embedded_only` belongs to a store that can search."""
    return lacks_search(stage) if "embedded_only" in asked.args else None


@operation("read_uncrawled", lacks=lacks_embeddings)
def read_uncrawled(stage: Stage, asked: Operation) -> Answer:
    page = stage.facts.read_uncrawled(**asked.args)
    return listed([each.fact for each in page.facts])


@operation("set_crawled")
def set_crawled(stage: Stage, asked: Operation) -> Answer:
    args = dict(asked.args)
    generated = args.pop("scope_keys_count", None)
    entries = args.pop("scope_keys", None)
    marks = None if entries is None else [mark(stage, each) for each in entries]
    if generated is not None:
        marks = [CrawlMark(scope_key=f"shared:generated/{number}") for number in range(generated)]
    result = stage.facts.set_crawled(marks, **args)
    return {"affected": result.affected, "skipped": result.skipped}


def mark(stage: Stage, entry: dict[str, Any]) -> CrawlMark:
    """One entry; an ordinal becomes the etag that it stands for."""
    if "etag" not in entry:
        return CrawlMark(scope_key=entry["scope_key"], etag=ABSENT)
    return CrawlMark(scope_key=entry["scope_key"], etag=stage.ordinals.sent(entry["scope_key"], entry["etag"]))
