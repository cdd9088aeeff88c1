"""From a source into the fact store: in batches, idempotent, with what was bad said and skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from crawler.errors import BadSetting
from crawler.sources.contract import Skipped, Source, SourceFact, Unchanged, Unreadable
from facts import DeleteFactInput, FactStore, ReadFactsQuery, StoreFactInput
from facts.access import UNRESTRICTED, Writer
from facts.errors import Conflict, InvalidArgument, TooLarge
from facts.inputs import ReadScope
from facts.patterns import escape_like
from facts.scope_keys import scope_key
from graph.namespaces import NamespaceUpsert
from graph.store import GraphStore

BATCH: Final = 1_000
_PAGE: Final = 1_000
_SHOWN_PROBLEMS: Final = 20


@dataclass(slots=True, kw_only=True)
class Ingested:
    """What an ingest did. ``unchanged`` facts keep their version and stay off the queue.

    ``skipped``: by reason, how many items were left out on purpose; ``left_out`` names the first of them.
    ``prune_withheld``: something could not be read, and nobody can say which facts it stands for.
    """

    stored: int = 0
    unchanged: int = 0
    pruned: int = 0
    bad: int = 0
    prune_withheld: bool = False
    problems: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def complain(self, where: str, reason: str) -> None:
        self.bad += 1
        if len(self.problems) < _SHOWN_PROBLEMS:
            self.problems.append(f"{where}: {reason}")

    def skip(self, where: str, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        if len(self.left_out) < _SHOWN_PROBLEMS:
            self.left_out.append(f"{where}: {reason}")


class Ingest:
    """One run over one source. ``session_id``: the session that the source's private facts belong to."""

    def __init__(self, store: FactStore, source: Source, *, session_id: str | None = None) -> None:
        self._store = store
        self._source = source
        self._session_id = session_id
        self._writer = Writer(agent_id=f"ingest:{source.name}", session_id=session_id)
        self._seen: set[str] = set()
        self._spared: set[str] = set()
        self.done = Ingested()

    def run(self, *, prune: bool = False, on_item: Callable[[int], None] = lambda _: None) -> Ingested:
        """``on_item`` hears how many items were finished since it last did."""
        if prune and not self._source.prefix:
            raise BadSetting("--prune needs --prefix: which stored facts does this source stand for?", argument="prune")
        batch: dict[tuple[str, bool], SourceFact] = {}
        for item in self._source.items(self._known):
            if isinstance(item, SourceFact):
                place = (item.key, self._is_shared(item))
                if place in batch or len(batch) >= BATCH:
                    self._store_all(list(batch.values()))
                    on_item(len(batch))
                    batch = {}
                batch[place] = item
                self._seen.add(self._scope_key(item.key, shared=place[1]))
            elif isinstance(item, Unchanged):
                self.done.unchanged += 1
                self._seen.add(self._scope_key(item.key, shared=self._session_id is None))
                on_item(1)
            else:
                self._leave_out(item)
                on_item(1)
        self._store_all(list(batch.values()))
        on_item(len(batch))
        if prune and not self.done.prune_withheld:
            self._prune()
        self.done.prune_withheld &= prune
        return self.done

    def _leave_out(self, item: Unreadable | Skipped) -> None:
        if item.keeps is not None:
            self._spared.add(item.keeps)
        if isinstance(item, Skipped):
            self.done.skip(item.where, item.reason)
            return
        self.done.complain(item.where, item.reason)
        self.done.prune_withheld |= item.keeps is None

    def _is_shared(self, item: SourceFact) -> bool:
        return item.shared if item.shared is not None else self._session_id is None

    def _scope_key(self, key: str, *, shared: bool) -> str:
        return scope_key(key, None if shared else self._session_id)

    def _known(self, keys: Sequence[str]) -> set[str]:
        wanted = {self._scope_key(key, shared=self._session_id is None): key for key in keys}
        page = self._store.read(ReadFactsQuery(scope_keys=list(wanted), scope=ReadScope.ALL), UNRESTRICTED)
        return {wanted[fact.scope_key] for fact in page.facts}

    def _store_all(self, batch: Sequence[SourceFact]) -> None:
        """The batch in one go; if something in it is refused, by halves, so that only the bad ones stay out."""
        if not batch:
            return
        inputs = [
            StoreFactInput(key=item.key, value=item.value, tags=item.tags, shared=self._is_shared(item))
            for item in batch
        ]
        try:
            stored = self._store.store(inputs, self._writer)
        except (InvalidArgument, TooLarge, Conflict) as error:
            if len(batch) == 1:
                self.done.complain(batch[0].key, error.message.removeprefix("nothing was stored: "))
                return
            half = len(batch) // 2
            self._store_all(batch[:half])
            self._store_all(batch[half:])
            return
        changed = sum(one.changed for one in stored)
        self.done.stored += changed
        self.done.unchanged += len(stored) - changed

    def _is_gone(self, key: str, scope_key: str) -> bool:
        return scope_key not in self._seen and not key.startswith(tuple(self._spared))

    def _prune(self) -> None:
        """Tombstones for what this source stored once and no longer has."""
        gone: list[tuple[str, bool]] = []
        cursor: str | None = None
        while True:
            page = self._store.read(
                ReadFactsQuery(
                    key_pattern=escape_like(self._source.prefix).replace("*", "\\*") + "*",
                    agent_id=self._writer.agent_id,
                    session_id=self._session_id,
                    scope=ReadScope.ALL,
                    limit=_PAGE,
                    cursor=cursor,
                ),
                UNRESTRICTED,
            )
            gone += [(fact.key, fact.shared) for fact in page.facts if self._is_gone(fact.key, fact.scope_key)]
            cursor = page.cursor
            if cursor is None:
                break
        for key, shared in gone:
            self.done.pruned += self._store.delete(DeleteFactInput(key=key, shared=shared), self._writer).deleted


def register_namespace(graph: GraphStore, source: Source) -> None:
    """Says what the source's corpus is for, unless somebody has said so already."""
    namespace = source.prefix.strip("/")
    if source.description is None or graph.get_namespace(namespace) is not None:
        return
    graph.upsert_namespace(
        NamespaceUpsert(namespace=namespace, description=source.description, source=f"ingest:{source.name}")
    )
