"""What agents assert by hand: one row a call that says something new, none for a call that repeats what is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from psycopg import Connection

from facts.errors import InvalidArgument, NotFound
from facts.receipts import pin_cited
from facts.tables import FactTables
from graph.columns import numbers, texts
from graph.contributions import (
    checked_aliases,
    checked_confidence,
    checked_key,
    checked_kind_and_name,
    checked_namespace,
    checked_text,
)
from graph.engine import Effect, hold_merges, redirects_of, replace_contributions
from graph.keys import EVIDENCE_PER_CALL, PREDICATE_BYTES, form, predicate_key
from graph.model import ABSENT, Author, EdgeUpsert, NodeUpsert, UpsertedEdge, UpsertedNode
from graph.origins import rows_of_origins
from graph.rows import EDGE_BASE, NODE_SLOTS, NOWHERE, Mention, Observation, OriginChange, Rows
from graph.tables import GraphTables


@dataclass(frozen=True, slots=True)
class Cited:
    """The keys that a call cites, in order, with the version of each fact that has a row."""

    etags: dict[str, int | None]
    owners: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Writing:
    """One hand write: its transaction, its tables, its author."""

    conn: Connection
    facts: FactTables
    tables: GraphTables
    author: Author


def cite_facts(writing: Writing, evidence: Sequence[str]) -> Cited:
    """Lock and pin the cited facts, before any graph lock. Tombstones are refused; keys without a row are taken."""
    if isinstance(evidence, str) or not all(isinstance(key, str) and key for key in evidence):
        raise InvalidArgument("evidence must be a list of scope keys", argument="evidence")
    if len(evidence) > EVIDENCE_PER_CALL:
        raise InvalidArgument(f"{len(evidence)} evidence keys, at most {EVIDENCE_PER_CALL} a call", argument="evidence")
    keys = list(dict.fromkeys(evidence))
    found = {fact.scope_key: fact for fact in pin_cited(writing.conn, writing.facts, keys)}
    return Cited(
        {key: found[key].etag if key in found else None for key in keys},
        {key: found[key].owner_session_id if key in found else None for key in keys},
    )


def _assert_citing(writing: Writing, cited: Cited) -> tuple[int, dict[int, str]]:
    """A new assertion with its citations: its id, and the source ids cited."""
    made = writing.conn.execute(
        writing.tables.hand.make_assertion, {"agent": writing.author.agent_id, "session": writing.author.session_id}
    ).fetchone()
    if made is None:
        raise NotFound("the assertion was not stored")
    keys = list(cited.etags)
    if not keys:
        return int(made[0]), {}
    writing.conn.execute(
        writing.tables.sources.cite_sources,
        {"scope_keys": texts(keys), "owners": texts(cited.owners[key] for key in keys)},
    )
    rows = writing.conn.execute(
        writing.tables.hand.cite,
        {"assertion": made[0], "scope_keys": texts(keys), "etags": numbers(cited.etags[key] for key in keys)},
    ).fetchall()
    return int(made[0]), dict(zip((int(number) for (number,) in rows), keys, strict=True))


def _renew(writing: Writing, cited: Cited, origins: Sequence[int]) -> None:
    versioned = {key: etag for key, etag in cited.etags.items() if etag is not None}
    if versioned and origins:
        writing.conn.execute(
            writing.tables.hand.renew_citations,
            {
                "scope_keys": texts(versioned),
                "etags": numbers(versioned.values()),
                "assertions": numbers(sorted({-origin for origin in origins})),
            },
        )


@dataclass(frozen=True, slots=True)
class _Standing:
    """What an agent's rows on a record hold, and every hand row on it."""

    own: Sequence[int]
    all_origins: Sequence[int]
    forms: frozenset[str]
    keys: frozenset[str]
    namespace: str | None


def upsert_node(writing: Writing, asked: NodeUpsert) -> UpsertedNode:
    """Assert a node. :raises InvalidArgument: bad input. Conflict: a cited fact is deleted."""
    kind, name, key = checked_kind_and_name(asked.kind, asked.name, asked.identity)
    aliases = checked_aliases(list(asked.aliases))
    given = None if asked.namespace is ABSENT else checked_namespace(asked.namespace)
    cited = cite_facts(writing, asked.evidence)
    epoch = hold_merges(writing.conn, writing.tables)
    standing = _node_standing(writing, key)
    namespace = given if given is not None else (standing.namespace or "")
    forms = [(form(alias, asked.identity), alias) for alias in aliases]
    forms.append((key.partition(":")[2], name))
    news = not standing.own or {each for each, _ in forms} - standing.forms or cited.etags.keys() - standing.keys
    changes = _renamespaced(writing, standing.own, key, namespace) if given is not None else []
    sources: dict[int, str] = {}
    if news:
        assertion, sources = _assert_citing(writing, cited)
        mentions = _hand_mentions(assertion, key, kind, forms, namespace=namespace, writer=writing.author.agent_id)
        changes.append(OriginChange(-assertion, Rows(), Rows(mentions, (), tuple(sources))))
    _renew(writing, cited, standing.all_origins)
    redirects = redirects_of(writing.conn, writing.tables, [key])
    effect = _apply(writing, changes, redirects, sources, epoch)
    return _node_shown(writing, redirects.get(key, key), effect)


def _hand_mentions(
    assertion: int, key: str, kind: str, forms: Sequence[tuple[str, str]], *, namespace: str, writer: str
) -> tuple[Mention, ...]:
    last = len(forms) - 1
    return tuple(
        Mention(
            -assertion, NODE_SLOTS - 1 if slot == last else slot, assertion, key, each, spelling, slot == last, False, kind,  # noqa: FBT003
            namespace, writer,
        )
        for slot, (each, spelling) in enumerate(forms)
    )  # fmt: skip


def _node_standing(writing: Writing, key: str) -> _Standing:
    rows = writing.conn.execute(writing.tables.hand.node_rows_by_hand, {"key": key}).fetchall()
    own = [row for row in rows if row[1] == writing.author.agent_id]
    return _Standing(
        own=list(dict.fromkeys(row[0] for row in own)),
        all_origins=[row[0] for row in rows],
        forms=frozenset(row[2] for row in own),
        keys=frozenset(key for row in own for key in row[4]),
        namespace=own[0][3] if own else None,
    )


def _renamespaced(writing: Writing, origins: Sequence[int], key: str, namespace: str) -> list[OriginChange]:
    """The agent's rows on a record follow the last namespace that it gave."""
    changes = []
    for origin, before in rows_of_origins(writing.conn, writing.tables, origins).items():
        mentions = tuple(
            row._replace(namespace=namespace) if row.named_key == key and row.namespace != NOWHERE else row
            for row in before.mentions
        )
        observations = tuple(row._replace(namespace=namespace) for row in before.observations)
        after = before._replace(mentions=mentions, observations=observations)
        if after != before:
            changes.append(OriginChange(origin, before, after))
    return changes


def _apply(
    writing: Writing, changes: list[OriginChange], redirects: dict[str, str], sources: dict[int, str], epoch: int
) -> Effect | None:
    if not changes:
        return None
    resolved = [OriginChange(change.origin, change.before, change.after.resolved(redirects)) for change in changes]
    return replace_contributions(writing.conn, writing.tables, resolved, scope_keys=sources, epoch=epoch)


def _node_shown(writing: Writing, key: str, effect: Effect | None) -> UpsertedNode:
    row = writing.conn.execute(writing.tables.hand.node_shown, {"key": key}).fetchone()
    if row is None:
        raise NotFound(f"node {key} does not exist", argument="name")
    created = effect is not None and key in effect.nodes_created
    return UpsertedNode(node_key=row[0], kind=row[1], name=row[2], namespace=row[3], aliases=row[4], created=created)


def upsert_edge(writing: Writing, asked: EdgeUpsert) -> UpsertedEdge:
    """Assert an edge between nodes that exist.

    :raises NotFound: an endpoint does not exist. InvalidArgument: bad input, a self-edge. Conflict: cites a deleted fact.
    """
    checked_key(asked.from_key, "fromKey")
    checked_key(asked.to_key, "toKey")
    checked_text(asked.predicate, "predicate", PREDICATE_BYTES)
    confidence = checked_confidence(asked.confidence)
    checked_namespace(asked.namespace)
    cited = cite_facts(writing, asked.evidence)
    epoch = hold_merges(writing.conn, writing.tables)
    redirects = redirects_of(writing.conn, writing.tables, [asked.from_key, asked.to_key])
    ends = (redirects.get(asked.from_key, asked.from_key), redirects.get(asked.to_key, asked.to_key))
    if ends[0] == ends[1]:
        raise InvalidArgument(f"an edge from {ends[0]} to itself is refused", argument="toKey")
    place = {"from_key": ends[0], "to_key": ends[1], "predicate_key": predicate_key(asked.predicate)}
    existing = writing.conn.execute(writing.tables.hand.edge_shown, place).fetchone()
    standing = _edge_standing(writing, asked)
    _renew(writing, cited, [origin for origin, _, _ in standing])
    effect = None
    if existing is None or _unknown_keys(writing, existing[0], cited):
        effect = _state_edge(writing, replace(asked, confidence=confidence), cited, redirects, standing, epoch)
    return _edge_shown(writing, place, existed=existing is not None, effect=effect)


def _unknown_keys(writing: Writing, edge: int, cited: Cited) -> set[str]:
    if not cited.etags:
        return set()
    rows = writing.conn.execute(
        writing.tables.hand.keys_known_on_edge, {"scope_keys": texts(cited.etags), "edge": edge}
    )
    return set(cited.etags) - {key for (key,) in rows}


def _edge_standing(writing: Writing, asked: EdgeUpsert) -> list[tuple[int, str, str]]:
    place = {"from_key": asked.from_key, "to_key": asked.to_key, "predicate_key": predicate_key(asked.predicate)}
    return writing.conn.execute(writing.tables.hand.edge_rows_by_hand, place).fetchall()


def _state_edge(
    writing: Writing,
    asked: EdgeUpsert,
    cited: Cited,
    redirects: dict[str, str],
    standing: Sequence[tuple[int, str, str]],
    epoch: int,
) -> Effect | None:
    agent = writing.author.agent_id
    own = [(origin, namespace) for origin, writer, namespace in standing if writer == agent]
    given = None if asked.namespace is ABSENT else checked_namespace(asked.namespace)
    namespace = given if given is not None else (own[0][1] if own else "")
    changes = _renamespaced(writing, [origin for origin, _ in own], "", namespace) if given is not None else []
    assertion, sources = _assert_citing(writing, cited)
    changes.append(OriginChange(-assertion, Rows(), _edge_rows(assertion, asked, namespace, agent, tuple(sources))))
    keyed = redirects | redirects_of(
        writing.conn, writing.tables, {key for each in changes for key in each.after.named_keys}
    )
    return _apply(writing, changes, keyed, sources, epoch)


def _edge_rows(assertion: int, asked: EdgeUpsert, namespace: str, agent: str, keys: tuple[int, ...]) -> Rows:
    """The observation, and its two ends as weakest mentions: a hand edge keeps its nodes alive."""
    ends = []
    for side, key in enumerate((asked.from_key, asked.to_key)):
        kind, _, name = key.partition(":")
        ends.append(Mention(-assertion, EDGE_BASE + side, assertion, key, name, name, True, True, kind, NOWHERE, agent))  # noqa: FBT003
    observation = Observation(
        -assertion, 0, assertion, asked.from_key, asked.to_key, predicate_key(asked.predicate), asked.predicate.strip(),
        namespace, asked.confidence, agent, asked.model,
    )  # fmt: skip
    return Rows(tuple(ends), (observation,), keys)


def _edge_shown(writing: Writing, place: dict[str, str], *, existed: bool, effect: Effect | None) -> UpsertedEdge:
    row = writing.conn.execute(writing.tables.hand.edge_shown, place).fetchone()
    if row is None:
        raise NotFound("the edge does not exist", argument="predicate")
    return UpsertedEdge(
        **place, predicate=row[1], confidence=row[2], observations=row[3], namespace=row[4],
        reinforced=existed and effect is not None, created=not existed,
    )  # fmt: skip
