"""Which harvested facts a new extractor version or a change of the rules affects: exactly these go back on the queue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crawler.extractors.contract import Extraction
from crawler.rules import RuleSet
from facts import FactRecord, ReadFactsQuery
from facts.access import UNRESTRICTED
from facts.inputs import ReadScope
from facts.receipts import ClaimedFact, requeue
from graph.harvested import Harvested, harvested_pages
from graph.ledger import extraction_text
from graph.model import Incorporation
from graph.store import GraphStore


def requeue_older(graph: GraphStore, *, extractor: str, older_than: str | None = None) -> int:
    """Put back what this extractor said, in a version older than the one named, or in any."""
    limit = None if older_than is None else version_order(older_than)
    pages = (
        [row.scope_key for row in page if limit is None or version_order(row.version) < limit]
        for page in harvested_pages(graph, extractor=extractor)
    )
    return _requeue(graph, pages)


def requeue_changed(graph: GraphStore, rules: RuleSet) -> int:
    """Put back what the rules of today read in another way. What no rule covers any more is left as it is.

    A quick extractor is simply asked again; one that costs is judged by its name, version and namespace.
    """
    return _requeue(graph, (_changed(graph, rules, page) for page in harvested_pages(graph)))


def version_order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Numbers compare as numbers: 1.10 is newer than 1.9; a text part sorts below a number (1.0rc1 before 1.0.1)."""
    parts = re.findall(r"\d+|[^\d.\-_+]+", version)
    # The end sorts above a text and below a number.
    return (*((2, int(part), "") if part.isdigit() else (0, 0, part) for part in parts), (1, 0, ""))


def _requeue(graph: GraphStore, pages: Iterator[list[str]]) -> int:
    return sum(_put_back(graph, keys) for keys in pages if keys)


def _put_back(graph: GraphStore, scope_keys: Sequence[str]) -> int:
    return graph.db.run(lambda conn: requeue(conn, graph.facts.tables, scope_keys))


def _changed(graph: GraphStore, rules: RuleSet, page: Sequence[Harvested]) -> list[str]:
    query = ReadFactsQuery(scope_keys=[row.scope_key for row in page], scope=ReadScope.ALL)
    facts = {fact.scope_key: fact for fact in graph.facts.read(query, UNRESTRICTED).facts}
    return [row.scope_key for row in page if row.scope_key in facts and _reads_anew(rules, facts[row.scope_key], row)]


def _reads_anew(rules: RuleSet, record: FactRecord, row: Harvested) -> bool:
    fact = _as_claimed(record)
    rule = rules.rule_for(fact)
    if rule is None:
        return False
    namespace = rule.namespace_for(fact.key)
    if (rule.extractor.name, rule.extractor.version, namespace) != (row.extractor, row.version, row.namespace):
        return True
    if not getattr(rule.extractor, "quick", False):
        return False
    [said] = rule.extractor.extract([fact])
    if not isinstance(said, Extraction):
        return True
    item = Incorporation(
        scope_key=fact.scope_key, etag=fact.etag, namespace=namespace, nodes=said.nodes, edges=said.edges
    )
    return not row.still_says(extraction_text(item))


def _as_claimed(fact: FactRecord) -> ClaimedFact:
    return ClaimedFact(
        fact_id=fact.fact_id, scope_key=fact.scope_key, key=fact.key, value=fact.value, etag=fact.etag,
        deleted=fact.deleted, session_id=fact.session_id, agent_id=fact.agent_id, shared=fact.shared, tags=fact.tags,
        attempts=0,
    )  # fmt: skip
