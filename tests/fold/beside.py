"""Our own tables beside the graph, compared with what the oracle's inputs make of them: sums, forms, ledger, queue."""

from collections import Counter
from math import log1p
from typing import Any

from psycopg import Connection, sql

from tests.fold.state import State
from tests.oracle import keys
from tests.oracle.fold import (
    HAND,
    all_contributions,
    all_observations,
    counting_observations,
    edge_rank,
    end,
    grouped,
    node_rank,
    resolutions,
    resolved,
)

SCALE = 10**15
EDGES = """
    SELECT source.key, target.key, edge.predicate_key, edge.observations, edge.certain, edge.weight::bigint, edge.hand,
           edge.writers, edge.namespaces, cardinality(edge.evidence)
    FROM {registry}.edge AS edge
    JOIN {registry}.node AS source ON source.id = edge.source_id
    JOIN {registry}.node AS target ON target.id = edge.target_id
"""
SURFACES = """
    SELECT node.key, surface.form, surface.spelling
    FROM {registry}.surface AS surface LEFT JOIN {registry}.node AS node ON node.id = surface.node_id
"""
LEDGER = "SELECT scope_key, writer, etag FROM {registry}.source WHERE extraction IS NOT NULL"
CITATIONS = """
    SELECT source.scope_key, count(*) FROM {registry}.citation AS citation
    JOIN {registry}.source AS source ON source.id = citation.source_id GROUP BY 1
"""
LONELY_SOURCES = """
    SELECT source.scope_key FROM {registry}.source AS source WHERE source.extraction IS NULL
    AND NOT EXISTS (SELECT FROM {registry}.citation AS citation WHERE citation.source_id = source.id)
"""
ASSERTIONS = "SELECT count(*) FROM {registry}.assertion"
REDIRECTS = "SELECT named_key, target_key FROM {registry}.redirect"
MERGES = "SELECT from_key, into_key FROM {registry}.merge WHERE undone_at IS NULL"
NODES = "SELECT key, namespaces FROM {registry}.node"
LOOPS = "SELECT count(*) FROM {registry}.observation WHERE edge_id IS NULL"
QUEUE = """
    SELECT scope_key, deleted_at IS NULL, last_crawled_at IS NULL, pinned, etag FROM {facts}.facts
"""


def differences(connection: Connection, state: State, *, registry: str, facts: str) -> list[str]:
    """Every table that is not what the model's own memory makes of it."""

    def rows(statement: str) -> list[Any]:
        composed = sql.SQL(statement).format(registry=sql.Identifier(registry), facts=sql.Identifier(facts))
        return connection.execute(composed).fetchall()

    world = state.world
    versions = {key: fact.etag for key, fact in state.facts.items()}
    ledger = {
        key: (row.writer, versions[key] if key in versions and state.facts[key].version == row.etag else None)
        for key, row in world.ledger.items()
    }
    stored = {key: (writer, etag if ledger.get(key, (None, None))[1] else None) for key, writer, etag in rows(LEDGER)}
    loops = [resolved(one, resolutions(world.merges)) for one in _observations(state)]
    wanted: dict[str, tuple[Any, Any]] = {
        "edge": ({row[:3]: row[3:] for row in rows(EDGES)}, edge_sums(state)),
        "surface": (sorted(rows(SURFACES)), sorted(surfaces(state))),
        "node": ({key: set(spaces) for key, spaces in rows(NODES)}, node_namespaces(state)),
        "ledger": (stored, ledger),
        "citation": (dict(rows(CITATIONS)), dict(Counter(key for row in _hand(state) for key in row.cited))),
        "lonely source": (rows(LONELY_SOURCES), []),
        "assertion": (rows(ASSERTIONS), [(len(_hand(state)),)]),
        "redirect": (dict(rows(REDIRECTS)), resolutions(world.merges)),
        "merge": (dict(rows(MERGES)), {merge.duplicate: merge.survivor for merge in world.merges}),
        "loop": (rows(LOOPS), [(sum(source == target for source, target, _ in loops),)]),
        "fact": (
            {row[0]: row[1:] for row in rows(QUEUE)},
            {key: (fact.alive, fact.pending, fact.pinned, fact.etag) for key, fact in state.facts.items()},
        ),
    }
    return [
        f"table {name}: {found!r}\n  but the model: {expected!r}"
        for name, (found, expected) in wanted.items()
        if found != expected
    ]


def _hand(state: State) -> list[Any]:
    return [*state.world.nodes, *state.world.edges]


def _observations(state: State) -> list[Any]:
    return all_observations(state.world.ledger.values(), state.world.assertions())


def edge_sums(state: State) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    """What each edge adds up to."""
    ends = resolutions(state.world.merges)
    sums: dict[tuple[str, str, str], tuple[Any, ...]] = {}
    for triple, observations in grouped(_observations(state), lambda one: resolved(one, ends)).items():
        if triple[0] == triple[1]:
            continue
        ordered = sorted(observations, key=lambda one: edge_rank(one, triple))
        counting = [ordered[index].confidence for index in counting_observations(ordered)]
        sums[triple] = (
            len(counting),
            sum(confidence == 1.0 for confidence in counting),
            sum(round(-log1p(-confidence) * SCALE) for confidence in counting if confidence < 1.0),
            sum(one.origin[0] == HAND for one in ordered),
            dict(Counter(one.writer for one in ordered)),
            dict(Counter(one.namespace or "" for one in ordered)),
            len({key for one in ordered for key in one.evidence}),
        )
    return sums


def _contributions(state: State) -> dict[str, list[Any]]:
    ends = resolutions(state.world.merges)
    everything = all_contributions(list(state.world.ledger.values()), state.world.assertions())
    return grouped(everything, lambda one: end(one.key, ends))


def node_namespaces(state: State) -> dict[str, set[str]]:
    """The namespaces of each node, '' for none."""
    spaces: dict[str, set[str]] = {}
    for key, contributions in _contributions(state).items():
        spaces[key] = {space or "" for one in contributions for space in one.namespaces} or {""}
    return spaces


def surfaces(state: State) -> list[tuple[str, str, str]]:
    """The spelling of each form of each node."""
    found: dict[tuple[str, str], str] = {}
    for key, contributions in _contributions(state).items():
        for one in sorted(contributions, key=lambda each: node_rank(each, key)):
            for spelling in (*one.aliases, one.name):
                if spelling.strip():
                    found.setdefault((key, keys.form(spelling, one.identity)), spelling.strip())
    return [(key, form, spelling) for (key, form), spelling in found.items()]
