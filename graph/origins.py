"""Reading back what origins contribute now: the `before` of every change."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from psycopg import Connection

from graph.columns import numbers
from graph.rows import Mention, Observation, Rows, order_in, weak_in
from graph.tables import GraphTables


def rows_of_origins(conn: Connection, tables: GraphTables, origins: Iterable[int]) -> dict[int, Rows]:
    """The complete rows of each origin (one without rows: empty ones), with what each cites."""
    wanted = list(dict.fromkeys(origins))
    if not wanted:
        return {}
    mentions: defaultdict[int, list[Mention]] = defaultdict(list)
    for row in conn.execute(tables.sources.mentions_of_origins, {"origins": numbers(wanted)}):
        mentions[row[0]].append(mention_of(row))
    observations: defaultdict[int, list[Observation]] = defaultdict(list)
    for row in conn.execute(tables.sources.observations_of_origins, {"origins": numbers(wanted)}):
        observations[row[0]].append(observation_of(row))
    cited = citations_of(conn, tables, [-origin for origin in wanted if origin < 0])
    return {
        origin: Rows(
            tuple(mentions[origin]),
            tuple(observations[origin]),
            (origin,) if origin > 0 else tuple(cited[-origin]),
        )
        for origin in wanted
    }


def citations_of(conn: Connection, tables: GraphTables, assertions: list[int]) -> defaultdict[int, list[int]]:
    """The source ids that each assertion cites, in order of attachment."""
    cited: defaultdict[int, list[int]] = defaultdict(list)
    if assertions:
        for assertion, source, _ in conn.execute(tables.sources.citations_of_assertions, {"ids": numbers(assertions)}):
            cited[assertion].append(source)
    return cited


def mention_of(row: tuple[Any, ...]) -> Mention:
    """A stored mention; the row of `mentions_of_origins`."""
    origin, pos, rank, named_key, form, spelling, named, kind, namespace, writer, node_key, attached = row
    return Mention(
        origin=origin, pos=pos, order=order_in(rank), named_key=named_key, form=form, spelling=spelling, named=named,
        weak=weak_in(rank), kind=kind, namespace=namespace, writer=writer, node_key=node_key, attached=attached,
    )  # fmt: skip


def observation_of(row: tuple[Any, ...]) -> Observation:
    """A stored statement; the row of `observations_of_origins`."""
    (origin, pos, rank, from_key, to_key, predicate_key, predicate, namespace, confidence, writer, model, source_key,
     target_key, attached) = row  # fmt: skip
    return Observation(
        origin=origin, pos=pos, order=order_in(rank), from_key=from_key, to_key=to_key, predicate_key=predicate_key,
        predicate=predicate, namespace=namespace, confidence=confidence, writer=writer, model=model, source_key=source_key,
        target_key=target_key, attached=attached,
    )  # fmt: skip
