"""What becomes of suggestions that are certain: nothing by itself (`suggest`), or recorded, undoable merges (`exact-alias`)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from facts.access import UNRESTRICTED
from facts.errors import InvalidArgument, NotFound
from graph.likeness import EXACT
from graph.model import Author, MergeRecord
from graph.queries import MOST_ROWS
from graph.suggestions import Suggestion, SuggestionQuery

if TYPE_CHECKING:
    from graph.store import GraphStore

POLICY = Author(agent_id="merge-policy")


class MergePolicy(StrEnum):
    """Who decides that two keys are one."""

    SUGGEST = "suggest"
    EXACT_ALIAS = "exact-alias"


def merge_exact_aliases(graph: GraphStore) -> tuple[MergeRecord, ...]:
    """Record a merge for every suggestion of score 1.0. A pair that somebody unmerged stays apart."""
    done: list[MergeRecord] = []
    refused = _taken_back(graph)
    while True:
        page = graph.merge_suggestions(SuggestionQuery(min_score=EXACT, limit=MOST_ROWS), UNRESTRICTED)
        merged = [record for each in page.suggestions if (record := _merge(graph, each, refused)) is not None]
        done += merged
        if not merged:
            return tuple(done)


def _taken_back(graph: GraphStore) -> set[frozenset[str]]:
    rows = graph.db.run(lambda conn: conn.execute(graph.tables.suggestions.taken_back).fetchall())
    return {frozenset(row) for row in rows}


def _merge(graph: GraphStore, suggestion: Suggestion, refused: set[frozenset[str]]) -> MergeRecord | None:
    pair = frozenset((suggestion.from_key, suggestion.into_key))
    if pair in refused:
        return None
    refused.add(pair)
    try:
        return graph.merge_nodes(suggestion.from_key, suggestion.into_key, "; ".join(suggestion.reasons), POLICY)
    except (NotFound, InvalidArgument):
        # An earlier merge of this round made them one, or a writer took one of them away.
        return None
