"""Which spelling of a form a node shows: that of its lowest-ranked mention."""

from collections.abc import Iterable, Mapping, Sequence

from psycopg import Connection

from graph.columns import numbers, texts
from graph.rows import Mention
from graph.tables import GraphTables


def raise_surfaces(
    conn: Connection, tables: GraphTables, mentions: Iterable[Mention], node_ids: Mapping[str, int]
) -> set[int]:
    """Show forms that rank lower than what was shown; returns the nodes that changed."""
    lowest: dict[tuple[int, str], tuple[int, str]] = {}
    for mention in mentions:
        place = (node_ids[mention.node_key], mention.form)
        ranked = (mention.rank, mention.spelling)
        if place not in lowest or ranked < lowest[place]:
            lowest[place] = ranked
    rows = [(node, form, spelling, rank) for (node, form), (rank, spelling) in lowest.items()]
    return {node for (node,) in conn.execute(tables.engine.raise_surfaces, _surface_columns(rows))}


def _surface_columns(rows: Sequence[tuple[int, str, str, int]]) -> dict[str, str]:
    nodes, forms, spellings, ranks = zip(*rows, strict=True)
    return {
        "nodes": numbers(nodes),
        "forms": texts(forms),
        "spellings": texts(spellings),
        "folded": texts([spelling.lower() for spelling in spellings]),
        "ranks": numbers(ranks),
    }


def rejudge_surfaces(
    conn: Connection, tables: GraphTables, mentions: Sequence[Mention], node_ids: Mapping[str, int]
) -> None:
    """Judge anew the forms of which these rows were withdrawn: the next lowest rank shows, or none."""
    forms = {
        "nodes": numbers(node_ids[mention.node_key] for mention in mentions),
        "forms": texts(mention.form for mention in mentions),
    }
    rows = conn.execute(tables.engine.rejudge_surfaces, forms).fetchall()
    shown = [row for row in rows if row[1] is not None]
    if shown:
        conn.execute(tables.engine.set_surfaces, _surface_columns(shown))
