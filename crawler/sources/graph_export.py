"""The lines that `harvester export` writes, as facts: one a node, one an edge. Harvested, they give that graph again.

The facts behind the exported graph stay where they are: here each node and each edge rests on one fact of the import, so
an edge has one observation, with the confidence that it was exported with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from crawler.errors import SourceFailed
from crawler.sources.contract import KnownKeys, SourceFact, SourceItem, Unreadable
from crawler.sources.keys import bounded_key, source_prefix
from crawler.sources.lines import bounded_lines
from facts.errors import InvalidArgument
from graph.keys import node_key, split_key

Record = Mapping[str, Any]


class GraphExport:
    """``path``: a JSONL export. Keys are ``import/<name>/node/<node key>`` and ``import/<name>/edge/<from, predicate, to>``."""

    name: Final = "import"

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self._path = path
        called = name or path.stem
        self.prefix = source_prefix(self.name, called)
        self.description = f"The graph that the export {called} holds."

    def size(self) -> int | None:
        return None

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:  # noqa: ARG002 - for sources that skip
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(bounded_lines(file), 1):
                    if line is None or line.strip():
                        yield self._item(f"{self._path}:{number}", line)
        except OSError as error:
            raise SourceFailed(f"cannot read {self._path}: {error.strerror}", argument="file") from error

    def _item(self, where: str, line: bytes | None) -> SourceItem:
        if line is None:
            return Unreadable(where=where, reason="the line is too long")
        try:
            place, value = read_record(line)
        except InvalidArgument as error:
            return Unreadable(where=where, reason=error.message)
        return SourceFact(key=bounded_key(self.prefix + place), value=value, tags=(self.name,))


def read_record(line: bytes) -> tuple[str, dict[str, Any]]:
    """The end of its key, and its value in the shape of the `triples` extractor. :raises InvalidArgument: what is wrong."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("type") not in {"node", "edge"}:
        raise InvalidArgument("neither a node nor an edge: type says which")
    return _node(record) if record["type"] == "node" else _edge(record)


def _node(record: Record) -> tuple[str, dict[str, Any]]:
    key, kind, name = (_text(record, field) for field in ("nodeKey", "kind", "name"))
    named = _named(key, kind, name)
    aliases = [alias for alias in _texts(record, "aliases") if alias != named["name"]]
    mentions = [{**named, "aliases": aliases, "namespace": space} for space in _spaces(record)]
    return f"node/{key}", {"nodes": mentions, "edges": []}


def _named(key: str, kind: str, name: str) -> dict[str, str]:
    """Kind, name and identity that give this key again; a node that shows another's name is called as its key says."""
    for identity in ("normal", "exact"):
        if _gives(key, kind, name, identity):
            return {"kind": kind, "name": name, "identity": identity}
    key_kind, key_name = split_key(key)
    return {"kind": key_kind, "name": key_name, "identity": "exact"}


def _gives(key: str, kind: str, name: str, identity: Any) -> bool:
    try:
        return node_key(kind, name, identity) == key
    except InvalidArgument:
        return False


def _edge(record: Record) -> tuple[str, dict[str, Any]]:
    source, target, predicate = (_text(record, field) for field in ("fromKey", "toKey", "predicate"))
    confidence = record.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise InvalidArgument("confidence must be a number from 0 to 1", argument="confidence")
    for key in (source, target):
        split_key(key)
    said = {"from": source, "to": target, "predicate": predicate, "confidence": float(confidence)}
    place = json.dumps([source, record.get("predicateKey", predicate), target], ensure_ascii=False)
    return f"edge/{place}", {"nodes": [], "edges": [{**said, "namespace": space} for space in _spaces(record)]}


def _spaces(record: Record) -> list[str | None]:
    """Every namespace that the item is in; null is the default one."""
    given = record.get("namespaces") or [None]
    if not isinstance(given, list) or not all(space is None or isinstance(space, str) for space in given):
        raise InvalidArgument("namespaces must be a list of texts", argument="namespaces")
    return given


def _text(record: Record, field: str) -> str:
    value = record.get(field)
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgument(f"{field} must be a text that is not blank", argument=field)
    return value


def _texts(record: Record, field: str) -> list[str]:
    value = record.get(field) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidArgument(f"{field} must be a list of texts", argument=field)
    return value
