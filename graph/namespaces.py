"""The namespace registry: what a partition of the graph is for, whether it is archived, and how to delete one.

The default partition always exists and is described here, not stored; it can be neither archived nor deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from facts.cleaning import UnstorableValueError, clean_value
from facts.errors import InvalidArgument
from graph.contributions import checked_namespace
from graph.keys import NAMESPACE_BYTES
from graph.model import ABSENT, Absent
from graph.removal import Removing, delete_contributions
from graph.tables import GraphTables

DEFAULT_NAMESPACE = "default"
DESCRIPTION_BYTES = 4_096
DETAIL_BYTES = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceUpsert:
    """A registry entry to write. Detail fields: absent keeps, None clears."""

    namespace: str
    description: str
    name: str | None = None
    archived: bool = False
    source: str | Absent | None = ABSENT
    node_schema: Mapping[str, Any] | Absent | None = ABSENT
    edge_schema: Mapping[str, Any] | Absent | None = ABSENT
    harvest_config: Mapping[str, Any] | Absent | None = ABSENT


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceRecord:
    """A registry entry as stored; the default partition has no times."""

    namespace: str
    name: str
    description: str
    archived: bool = False
    source: str | None = None
    node_schema: Mapping[str, Any] | None = None
    edge_schema: Mapping[str, Any] | None = None
    harvest_config: Mapping[str, Any] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "NamespaceRecord":
        """From a row of the registry."""
        names = ("namespace", "name", "description", "archived", "source", "node_schema", "edge_schema", "harvest_config",
                 "created_at", "updated_at")  # fmt: skip
        return cls(**dict(zip(names, row, strict=True)))


DEFAULT_RECORD = NamespaceRecord(
    namespace=DEFAULT_NAMESPACE,
    name=DEFAULT_NAMESPACE,
    description="What was stored without a namespace.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceDeletion:
    """What deleting a namespace took away."""

    deleted: bool
    nodes_deleted: int
    edges_deleted: int


def _named(namespace: object, *, act: str) -> str:
    """The stored form of a namespace that is not the default one."""
    if not isinstance(namespace, str):
        raise InvalidArgument("namespace must be a text", argument="namespace")
    stored = checked_namespace(namespace)
    if not stored:
        raise InvalidArgument(f"the default namespace cannot be {act}", argument="namespace")
    return stored


def _described(asked: NamespaceUpsert) -> str:
    if not isinstance(asked.description, str) or not asked.description.strip():
        raise InvalidArgument("a namespace needs a description: what is in it?", argument="frontmatter")
    if len(asked.description.encode()) > DESCRIPTION_BYTES:
        raise InvalidArgument(f"the description is longer than {DESCRIPTION_BYTES} bytes", argument="frontmatter")
    return asked.description.strip()


def _entry_name(asked: NamespaceUpsert, namespace: str) -> str:
    if asked.name is None:
        return namespace
    if not isinstance(asked.name, str) or not asked.name.strip() or len(asked.name.encode()) > NAMESPACE_BYTES:
        raise InvalidArgument(f"name must be a text of 1 to {NAMESPACE_BYTES} bytes", argument="frontmatter")
    return asked.name.strip()


def _detail(value: object, argument: str) -> str | None:
    """A detail field as JSON text; None when it is absent or cleared."""
    if value is None or value is ABSENT:
        return None
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{argument} must be a JSON object", argument=argument)
    try:
        clean = clean_value(value)
    except UnstorableValueError as error:
        raise InvalidArgument(f"{argument} {error}", argument=argument) from error
    if clean.cleaned:
        raise InvalidArgument(f"{argument} holds NUL or a lone surrogate", argument=argument)
    if clean.size > DETAIL_BYTES:
        raise InvalidArgument(f"{argument} is larger than {DETAIL_BYTES} bytes", argument=argument)
    return clean.text


def upsert_namespace(conn: Connection, tables: GraphTables, asked: NamespaceUpsert) -> NamespaceRecord:
    """Write a registry entry."""
    namespace = _named(asked.namespace, act="registered")
    details = {
        "node_schema": _detail(asked.node_schema, "nodeSchema"),
        "edge_schema": _detail(asked.edge_schema, "edgeSchema"),
        "harvest_config": _detail(asked.harvest_config, "harvestConfig"),
        "source": None if asked.source is ABSENT else asked.source,
    }
    if details["source"] is not None and not isinstance(details["source"], str):
        raise InvalidArgument("source must be a text", argument="source")
    given = {f"{name}_given": getattr(asked, name) is not ABSENT for name in details}
    row = conn.execute(
        tables.namespaces.upsert_namespace,
        {
            "namespace": namespace,
            "name": _entry_name(asked, namespace),
            "description": _described(asked),
            "archived": bool(asked.archived),
            **details,
            **given,
        },
    ).fetchone()
    if row is None:
        raise AssertionError("an upsert returns its row")
    return NamespaceRecord.from_row(row)


def get_namespace(conn: Connection, tables: GraphTables, namespace: str) -> NamespaceRecord | None:
    """One entry; None when it is not registered. The default partition is always there."""
    stored = checked_namespace(namespace)
    if not stored:
        return DEFAULT_RECORD
    row = conn.execute(tables.namespaces.get_namespace, {"namespace": stored}).fetchone()
    return None if row is None else NamespaceRecord.from_row(row)


def list_namespaces(
    conn: Connection, tables: GraphTables, *, prefix: str = "", include_archived: bool = False
) -> list[NamespaceRecord]:
    """Registered namespaces and the default one, by name; the prefix is literal."""
    rows = conn.execute(tables.namespaces.list_namespaces, {"prefix": prefix, "archived": include_archived})
    found = [NamespaceRecord.from_row(row) for row in rows]
    if DEFAULT_NAMESPACE.startswith(prefix):
        found.append(DEFAULT_RECORD)
    return sorted(found, key=lambda record: record.namespace)


def archive_namespace(conn: Connection, tables: GraphTables, namespace: str) -> bool:
    """Leave a namespace out of lists; False when it is not registered."""
    stored = _named(namespace, act="archived")
    return conn.execute(tables.namespaces.archive_namespace, {"namespace": stored}).fetchone() is not None


def delete_namespace(removing: Removing, namespace: str) -> NamespaceDeletion:
    """Withdraw every contribution in exactly this namespace, and its registry entry."""
    stored = _named(namespace, act="deleted")
    removal = delete_contributions(removing, stored)
    entry = removing.conn.execute(removing.tables.namespaces.delete_namespace, {"namespace": stored}).fetchone()
    gone = bool(removal.nodes_deleted or removal.edges_deleted or removal.contributions)
    return NamespaceDeletion(
        deleted=entry is not None or gone,
        nodes_deleted=removal.nodes_deleted,
        edges_deleted=removal.edges_deleted,
    )
