"""The stores that a case plays on, emptied between cases, and what its operations share."""

import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from crawler.registry import Need, all_tools, capabilities
from crawler.usage import Usage, usage_counts
from facts import AccessContext, FactStore, open_fact_store
from facts.access import Role, Writer
from facts.errors import HarvesterError
from facts.sqlfiles import Queries, load_queries
from facts.wake import intake_channel
from graph import GraphStore, open_graph_store
from graph.model import Author
from tests.conformance.case import Caller, Case, Operation
from tests.conformance.ordinals import Ordinals

Answer = dict[str, Any]

KINDS = {
    "invalid_argument": "validation",
    "too_large": "validation",
    "not_permitted": "permission",
    "not_found": "not_found",
    "conflict": "conflict",
    "unsupported": "unsupported",
}
"""Our error codes in the words of the cases."""


@dataclass(kw_only=True)
class Stage:
    """Both stores, a listener for wake-ups, and what the case has configured so far."""

    facts: FactStore
    graph: GraphStore
    listener: psycopg.Connection
    queries: Queries
    ordinals: Ordinals = field(default_factory=Ordinals)
    has_graph: bool = False
    usage: Counter[tuple[Usage, Role]] = field(default_factory=Counter)

    @property
    def able(self) -> frozenset[Need]:
        """What the product can do, as it says itself."""
        return capabilities(self.graph)

    def clear(self) -> None:
        """Empty stores, nothing configured, no wake-up waiting."""
        with self.facts.db.transaction() as connection:
            connection.execute(self.queries.empty_everything)
        self.wakeups()
        self.ordinals, self.has_graph = Ordinals(), False
        self.usage = Counter(usage_counts())

    def run(self, operation: Operation) -> Answer:
        """One operation; the versions that it made are remembered, those in its answer are ordinals."""
        try:
            answer = OPERATIONS[operation.op].run(self, operation)
        finally:
            self.observe()
        return self.with_ordinals(answer)

    def observe(self) -> None:
        """Remember the versions that facts have now."""
        with self.facts.db.transaction() as connection:
            self.ordinals.observe(dict(connection.execute(self.queries.current_etags).fetchall()))

    def with_ordinals(self, answer: Any) -> Any:
        """The answer with each etag beside a scope key as its ordinal."""
        if isinstance(answer, list):
            return [self.with_ordinals(item) for item in answer]
        if not isinstance(answer, dict):
            return answer
        mapped = {name: value if name == "value" else self.with_ordinals(value) for name, value in answer.items()}
        if isinstance(mapped.get("etag"), int) and "scope_key" in mapped:
            mapped["etag"] = self.ordinals.received(mapped["scope_key"], mapped["etag"])
        return mapped

    def wakeups(self) -> list[str]:
        """Payloads of the notifications since the last look."""
        self.listener.execute("SELECT 1")
        return [each.payload for each in self.listener.notifies(timeout=0)]

    # --- callers -----------------------------------------------------------------------------------------------

    def access(self, caller: Caller) -> AccessContext:
        """What a store-level read may see."""
        return AccessContext(
            reader_session_id=caller.session_id,
            granted_session_ids=frozenset(caller.granted),
            unrestricted=caller.unrestricted,
        )

    def writer(self, caller: Caller, *, unrestricted: bool = False) -> Writer:
        """Who a store-level write belongs to."""
        return Writer(
            session_id=caller.session_id,
            agent_id=caller.agent_id,
            granted_session_ids=frozenset(caller.granted),
            unrestricted=unrestricted or caller.unrestricted,
        )

    def author(self, caller: Caller) -> Author:
        """Who a graph write is by."""
        return Author(agent_id=caller.writer or "", session_id=caller.session_id)


# --- the operations ------------------------------------------------------------------------------------------------

Run = Callable[[Stage, Operation], Answer]


@dataclass(frozen=True, kw_only=True, slots=True)
class Playable:
    """An operation that this runner can play."""

    run: Run
    lacks: Callable[[Stage, Operation], str | None]


OPERATIONS: dict[str, Playable] = {}
NEEDS_SEARCH = (
    "set_embedding",
    "set_embed_error",
    "set_query_vector",
    "search_facts",
    "similar_facts",
    "fuse_scores",
    "run_embedder",
    "classify_embed_response",
)
"""Operations of the search page; this runner learns them when the store can search."""
LATER = {"resolve_crawler_role": "crawler.keys"}
"""Operations on parts that the product does not have yet, and the module that will hold each part."""


def operation(
    name: str, *, lacks: Callable[[Stage, Operation], str | None] = lambda _stage, _operation: None
) -> Callable[[Run], Run]:
    """Register an operation; `lacks` names what the product does not have yet and this call needs."""

    def registered(run: Run) -> Run:
        OPERATIONS[name] = Playable(run=run, lacks=lacks)
        return run

    return registered


def lacking(stage: Stage, case: Case) -> str | None:
    """What the product lacks to play this case, found by asking the product; None: it must run."""
    for step, expected in case.steps:
        if step.op in OPERATIONS:
            reason = OPERATIONS[step.op].lacks(stage, step)
        elif step.op in NEEDS_SEARCH:
            reason = lacks_search(stage)
        elif step.op in LATER:
            reason = lacks_module(LATER[step.op])
        else:
            raise AssertionError(f"{case.id}: this runner does not know the operation {step.op}")
        named = (expected.contains or {}).get("tools", ())
        reason = reason or next((f"no tool {name}" for name in named if name not in all_tools()), None)
        if reason is not None:
            return reason
    return None


def lacks_search(stage: Stage) -> str:
    """The reason, while it is one."""
    if stage.facts.capabilities.search:
        raise AssertionError("the store can search: the operations of the search page belong into this runner now")
    return "the store cannot search yet"


def lacks_module(name: str) -> str:
    """The reason, while the product has no such module."""
    if importlib.util.find_spec(name) is not None:
        raise AssertionError(f"{name} exists: its operations belong into this runner now")
    return f"no {name} yet"


def kind_of(error: HarvesterError) -> str:
    """The kind of an error, in the words of the cases."""
    return KINDS.get(error.code, error.code)


@contextmanager
def open_stage(url: str) -> Iterator[Stage]:
    """Stores and listener on one migrated database."""
    with (
        open_fact_store(url) as facts,
        open_graph_store(facts=facts) as graph,
        psycopg.connect(url, autocommit=True) as listener,
    ):
        listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(intake_channel(facts.tables.schema))))
        queries = load_queries(
            "tests.conformance",
            "stage",
            facts=facts.tables.schema,
            graph=graph.tables.graph,
            registry=graph.tables.registry,
        )
        yield Stage(facts=facts, graph=graph, listener=listener, queries=queries)
