"""One database for the whole machine, emptied between its runs: faster than a clone for each."""

from psycopg import Connection, sql

from facts import FactStore
from graph.store import GraphStore

FACT_TABLES = ("facts", "crawl_leases", "sessions")
LABELS = ("GraphNode", "Fact", "REL", "EVIDENCED_BY")
KEPT = ("merge_epoch", "harvester_migrations")
TABLES_OF = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = %s ORDER BY tablename"


def empty(facts: FactStore, graph: GraphStore) -> None:
    """Take every row of facts and graph away; sequences go on."""
    with facts.db.transaction() as connection:
        own = [name for (name,) in connection.execute(TABLES_OF, [graph.tables.registry]) if name not in KEPT]
        places = [(facts.tables.schema, name) for name in FACT_TABLES]
        places += [(graph.tables.graph, name) for name in LABELS]
        places += [(graph.tables.registry, name) for name in own]
        full = [sql.Identifier(*place) for place in places if holds_rows(connection, place)]
        if full:
            connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(full)))


def holds_rows(connection: Connection, place: tuple[str, str]) -> bool:
    """Whether there is anything to take away."""
    row = connection.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(*place))).fetchone()
    return row is not None and bool(row[0])
