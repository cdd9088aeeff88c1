"""Evidence of what is shown: the scope keys that the caller may see, filtered in SQL before the cap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from facts.reads import present_etags
from graph.columns import numbers
from graph.queries import EVIDENCE_SHOWN
from graph.views import NO_EVIDENCE, Evidence

if TYPE_CHECKING:
    from psycopg.sql import Composed

    from graph.reading import Reading

Cited = tuple[str, int | None]
OVERFETCH = 2


class EvidenceTable:
    """The evidence of some items by their id."""

    def __init__(self, found: Mapping[int, Evidence]) -> None:
        self._found = found

    def of(self, number: int) -> Evidence:
        """The evidence of one item; none when the caller sees none."""
        return self._found.get(number, NO_EVIDENCE)


def node_evidence(reading: Reading, ids: Collection[int], *, shown: int = EVIDENCE_SHOWN) -> EvidenceTable:
    """At most `shown` keys for each of these nodes."""
    return _evidence(reading, reading.tables.reads.node_evidence, ids, shown)


def edge_evidence(reading: Reading, ids: Collection[int], *, shown: int = EVIDENCE_SHOWN) -> EvidenceTable:
    """At most `shown` keys for each of these edges."""
    return _evidence(reading, reading.tables.reads.edge_evidence, ids, shown)


def first_evidence(origins: Sequence[int], visible: Mapping[int, str], shown: int) -> Evidence | None:
    """What the first `shown` + 1 origins of an item tell; None when they do not tell all that is to be shown."""
    if len(origins) == 1 and origins[0] > 0:
        # Most edges, by far.
        key = visible.get(origins[0])
        return NO_EVIDENCE if key is None else Evidence(keys=(key,))
    if any(origin < 0 for origin in origins):
        return None
    keys = tuple(dict.fromkeys(visible[origin] for origin in origins if origin in visible))
    if len(keys) > shown:
        return Evidence(keys=keys[:shown], truncated=True)
    return Evidence(keys=keys) if len(origins) <= shown else None


def _evidence(reading: Reading, statement: Composed, ids: Collection[int], shown: int) -> EvidenceTable:
    if not ids:
        return EvidenceTable({})
    # One key may be cited several times on an item; the surplus keeps the cap from being reached by repeats.
    most = OVERFETCH * shown + 1
    rows = reading.conn.execute(statement, {"ids": numbers(ids), "most": most, **reading.acl})
    found: defaultdict[int, list[Cited]] = defaultdict(list)
    for number, key, etag in rows:
        found[number].append((key, etag))
    present = _present(reading, found.values())
    return EvidenceTable({number: capped(cited, present, shown=shown, most=most) for number, cited in found.items()})


def _present(reading: Reading, items: Iterable[list[Cited]]) -> dict[str, int]:
    keys = {key for cited in items for key, etag in cited if etag is not None}
    return present_etags(reading.conn, reading.facts, keys) if keys else {}


def capped(cited: list[Cited], present: Mapping[str, int], *, shown: int, most: int) -> Evidence:
    """The keys to show. One is stale when no citation of it names the version that the fact has now."""
    keys = tuple(dict.fromkeys(key for key, _ in cited))[:shown]
    versions: defaultdict[str, set[int]] = defaultdict(set)
    for key, etag in cited:
        if etag is not None:
            versions[key].add(etag)
    stale = tuple(key for key in keys if key in present and key in versions and present[key] not in versions[key])
    truncated = len(cited) >= most or len({key for key, _ in cited}) > shown
    return Evidence(keys=keys, truncated=truncated, stale=stale)
