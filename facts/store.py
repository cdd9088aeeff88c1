"""The fact store: the public face of this package. Every method is one transaction and says what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, overload

from facts.access import HOUSE, NOBODY, UNRESTRICTED, AccessContext, Writer
from facts.connections import Database
from facts.coverage import EVERYTHING, Coverage
from facts.deletes import delete_facts, delete_session_facts
from facts.erasure import EraseResult, erase_facts, erase_tombstones
from facts.inputs import DeleteFactInput, ReadFactsQuery, StoreFactInput, check_batch
from facts.limits import checked_session_id
from facts.migrations import fact_migrations, require_current
from facts.reads import inspect_fact, read_facts
from facts.records import DeleteResult, FactPage, FactRecord, StoredFact
from facts.reserved import INTAKE
from facts.sessions import LineageResolver, Sessions, SqlLineage, own_lineage
from facts.settings import FactSettings
from facts.statistics import NamespaceCount, StatisticsMode, namespace_counts
from facts.tables import DEFAULT_SCHEMA, FactTables, fact_tables
from facts.tombstones import (
    DEFAULT_LIMIT,
    ForcedPurge,
    PurgeResult,
    TombstoneStatistics,
    force_purge,
    purge_tombstones,
    tombstone_statistics,
)
from facts.uncrawled import (
    DEFAULT_PAGE,
    CrawlMark,
    MarkRequest,
    MarkResult,
    QueuePage,
    QueueStatistics,
    UncrawledQuery,
    queue_statistics,
    read_uncrawled,
    set_crawled,
)
from facts.visibility import readable
from facts.wake import notify_intake
from facts.writes import store_batch

if TYPE_CHECKING:
    from types import TracebackType


@dataclass(frozen=True, kw_only=True, slots=True)
class FactsCapabilities:
    """What a store can do beyond facts and the queue; decided once when it is opened."""

    search: bool = False
    embedder: bool = False


class FactStore:
    """Facts, sessions, tombstones and the crawl queue of one schema."""

    def __init__(
        self, db: Database, tables: FactTables, settings: FactSettings, lineage: LineageResolver | None = None
    ) -> None:
        self.db = db
        self.tables = tables
        self.settings = settings
        self.capabilities = FactsCapabilities()
        self.sessions = Sessions(db, tables, lineage or _lineage(tables, settings))

    def __repr__(self) -> str:
        return f"FactStore({self.tables.schema}, {self.db!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store's connections."""
        self.db.close()

    # --- facts --------------------------------------------------------------------------------------------------

    @overload
    def store(self, facts: StoreFactInput, writer: Writer = HOUSE) -> StoredFact: ...
    @overload
    def store(self, facts: Sequence[StoreFactInput], writer: Writer = HOUSE) -> list[StoredFact]: ...
    def store(
        self, facts: StoreFactInput | Sequence[StoreFactInput], writer: Writer = HOUSE
    ) -> StoredFact | list[StoredFact]:
        """Upsert one fact or a batch; a batch is stored whole or not at all."""
        single = isinstance(facts, StoreFactInput)
        items = [facts] if isinstance(facts, StoreFactInput) else list(facts)
        rules = self.settings.reserved
        batch = check_batch(items, writer, limits=self.settings.limits, rules=rules, single=single)
        stored = self.db.run(
            lambda conn: store_batch(conn, self.tables, batch, writer, rules=rules, lineage=self.sessions.lineage)
        )
        intake = [fact.fact_id for fact in stored if fact.shared and fact.key.startswith(INTAKE)]
        if intake:
            notify_intake(self.db, self.tables, intake)
        return stored[0] if single else stored

    def read(self, query: ReadFactsQuery | None = None, access: AccessContext = NOBODY) -> FactPage:
        """One page of the live facts that match and that the reader may see, newest first."""
        return self.db.run(
            lambda conn: read_facts(conn, self.tables, query or ReadFactsQuery(), access, rules=self.settings.reserved)
        )

    def delete(self, request: DeleteFactInput, writer: Writer = HOUSE) -> DeleteResult:
        """Delete one fact, or all that match a pattern, as far as the writer's rights reach."""
        return self.db.run(lambda conn: delete_facts(conn, self.tables, request, writer, rules=self.settings.reserved))

    def delete_session_facts(self, session_id: str) -> int:
        """Delete the private facts of a session that goes on; `sessions.delete` ends it as well."""
        checked = checked_session_id(session_id)
        return self.db.run(lambda conn: delete_session_facts(conn, self.tables, [checked]))

    def inspect(self, scope_key: str) -> FactRecord | None:
        """The row of a scope key in whatever state: for the product itself, past all access rules."""
        return self.db.run(lambda conn: inspect_fact(conn, self.tables, scope_key))

    def readable(self, scope_keys: Iterable[str], access: AccessContext) -> set[str]:
        """Which of these scope keys the reader may see, with or without a fact behind them."""
        asked = list(scope_keys)
        return self.db.run(lambda conn: readable(access, conn, self.tables, asked, rules=self.settings.reserved))

    def statistics(
        self, mode: StatisticsMode | str, session_ids: Sequence[str] = (), access: AccessContext = UNRESTRICTED
    ) -> tuple[NamespaceCount, ...]:
        """Live facts by first path segment."""
        return self.db.run(
            lambda conn: namespace_counts(
                conn, self.tables, access, rules=self.settings.reserved, mode=mode, session_ids=session_ids
            )
        )

    def reader(self, session_id: str | None, *, granted_prefixes: tuple[str, ...] | None = None) -> AccessContext:
        """The access of an authenticated session: itself and its spawn tree."""
        granted = frozenset[str]() if session_id is None else self.sessions.tree(session_id)
        return AccessContext(
            reader_session_id=session_id, granted_session_ids=granted, granted_prefixes=granted_prefixes
        )

    # --- tombstones ---------------------------------------------------------------------------------------------

    def tombstone_statistics(self, ttl_s: float | None = None) -> TombstoneStatistics:
        """Tombstones by what keeps them."""
        return self.db.run(lambda conn: tombstone_statistics(conn, self.tables, ttl_s=self._ttl(ttl_s)))

    def purge(self, ttl_s: float | None = None, limit: int = DEFAULT_LIMIT) -> PurgeResult:
        """Remove tombstones that nobody needs any more."""
        return self.db.run(lambda conn: purge_tombstones(conn, self.tables, ttl_s=self._ttl(ttl_s), limit=limit))

    def purge_all(self, ttl_s: float | None = None, limit: int = DEFAULT_LIMIT) -> int:
        """The same until nothing is left that may go, ``limit`` rows a transaction; how many went."""
        purged = 0
        while True:
            done = self.purge(ttl_s, limit).purged
            purged += done
            if done < limit:
                return purged

    def force_purge(self, request: ForcedPurge) -> PurgeResult:
        """Remove tombstones up to a cutoff, whatever the TTL says."""
        return self.db.run(lambda conn: force_purge(conn, self.tables, request))

    def erase(self, scope_keys: Sequence[str]) -> EraseResult:
        """Take what these facts said out of the fact store at once; see facts.erasure for the graph's share."""
        return self.db.run(lambda conn: erase_facts(conn, self.tables, scope_keys))

    def erase_tombstones(self, key_prefix: str | None = None) -> EraseResult:
        """The same for everything that is deleted, below a prefix or all."""
        return self.db.run(lambda conn: erase_tombstones(conn, self.tables, key_prefix=key_prefix))

    def _ttl(self, ttl_s: float | None) -> float:
        return self.settings.tombstone_ttl_s if ttl_s is None else ttl_s

    # --- the crawl queue ----------------------------------------------------------------------------------------

    def read_uncrawled(
        self,
        access: AccessContext = UNRESTRICTED,
        *,
        key_prefix: str | None = None,
        namespace: str | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> QueuePage:
        """Pending facts within the reader's grant, oldest first."""
        query = UncrawledQuery(key_prefix=key_prefix, namespace=namespace, limit=limit, cursor=cursor)
        return self.db.run(lambda conn: read_uncrawled(conn, self.tables, access, query, rules=self.settings.reserved))

    def set_crawled(
        self,
        marks: Sequence[CrawlMark] | None = None,
        *,
        key_prefix: str | None = None,
        crawled: bool = True,
        access: AccessContext = UNRESTRICTED,
    ) -> MarkResult:
        """Acknowledge by hand, or put back on the queue with `crawled=False`."""
        request = MarkRequest(marks=marks, key_prefix=key_prefix, crawled=crawled)
        return self.db.run(lambda conn: set_crawled(conn, self.tables, access, request, rules=self.settings.reserved))

    def queue_statistics(self, *, coverage: Coverage = EVERYTHING, namespace: str | None = None) -> QueueStatistics:
        """The queue in numbers."""
        return self.db.run(lambda conn: queue_statistics(conn, self.tables, coverage=coverage, namespace=namespace))


def _lineage(tables: FactTables, settings: FactSettings) -> LineageResolver:
    if settings.lineage_query is not None:
        return SqlLineage.of_query(settings.lineage_query)
    return own_lineage(tables.schema)


def open_fact_store(
    url: str,
    *,
    schema: str = DEFAULT_SCHEMA,
    settings: FactSettings | None = None,
    lineage: LineageResolver | None = None,
    application_name: str = "harvester",
) -> FactStore:
    """The fact store at a database URL; refuses one that is not migrated to this version."""
    chosen = settings or FactSettings()
    tables = fact_tables(schema)
    db = Database.open(url, max_size=chosen.pool_size, checkout_s=chosen.checkout_s, application_name=application_name)
    with ExitStack() as undo:
        undo.callback(db.close)
        require_current(db, fact_migrations(schema))
        undo.pop_all()
    return FactStore(db, tables, chosen, lineage)


def is_enhanced(store: FactStore) -> bool:
    """Whether the store can search."""
    return store.capabilities.search
