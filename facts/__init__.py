"""Durable facts for agents: a fact store with sessions, tombstones and a crawl queue, on plain PostgreSQL."""

from facts.access import AccessContext
from facts.inputs import DeleteFactInput, ReadFactsQuery, StoreFactInput
from facts.records import FactRecord
from facts.store import FactsCapabilities, FactStore, is_enhanced, open_fact_store

__all__ = [
    "AccessContext",
    "DeleteFactInput",
    "FactRecord",
    "FactStore",
    "FactsCapabilities",
    "ReadFactsQuery",
    "StoreFactInput",
    "is_enhanced",
    "open_fact_store",
]
