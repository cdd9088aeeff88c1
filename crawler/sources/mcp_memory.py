"""The file of the MCP reference memory server: lines of entities with observations, and of relations between them.

One fact an entity, ``mcp-memory/<name>/entity/<its name>``, and one a relation. The server never writes a line that is not
one of the two; what else is found is reported and skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from crawler.errors import SourceFailed
from crawler.sources.contract import KnownKeys, Skipped, SourceFact, SourceItem, Unreadable
from crawler.sources.keys import bounded_key, source_prefix
from crawler.sources.lines import bounded_lines
from graph.keys import KIND_BYTES, NAME_BYTES, tokens

_ENTITY: Final = ("name", "entityType")
_RELATION: Final = ("from", "to", "relationType")
_UNKNOWN_KIND: Final = "entity"


class McpMemory:
    """Relations name their ends only by name, so the kinds of all entities are read first (names and kinds are held in
    memory, observations are not).
    """

    name: Final = "mcp-memory"

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self._path = path
        called = name or path.stem
        self.prefix = source_prefix(self.name, called)
        self.description = f"What the memory server's file {called} holds: entities, what was observed, relations."

    def size(self) -> int | None:
        return None

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:  # noqa: ARG002 - for sources that skip
        kinds = {read["name"]: read["entityType"] for _, read in self._records() if _is_entity(read)}
        seen: set[str] = set()
        for number, read in self._records():
            item = self._item(f"{self._path}:{number}", read, kinds)
            if isinstance(item, SourceFact) and item.key in seen:
                item = Skipped(where=f"{self._path}:{number}", reason="said before", keeps=item.key)
            elif isinstance(item, SourceFact):
                seen.add(item.key)
            yield item

    def _item(self, where: str, read: object, kinds: dict[str, str]) -> SourceItem:
        if isinstance(read, str):
            return Unreadable(where=where, reason=read)
        fault = record_fault(read)
        if fault is not None:
            return Unreadable(where=where, reason=fault)
        record: Any = read
        return self._entity(record) if _is_entity(record) else self._relation(record, kinds)

    def _entity(self, read: dict[str, Any]) -> SourceFact:
        value = {"name": read["name"], "kind": _kind(read["entityType"]), "observations": read["observations"]}
        return self._fact(f"entity/{read['name']}", value)

    def _relation(self, read: dict[str, Any], kinds: dict[str, str]) -> SourceFact:
        source, target, predicate = (read[field] for field in ("from", "to", "relationType"))
        value = {
            "from": {"kind": _kind(kinds.get(source, "")), "name": source},
            "predicate": predicate,
            "to": {"kind": _kind(kinds.get(target, "")), "name": target},
        }
        said = json.dumps([source, predicate, target], ensure_ascii=False)
        return self._fact(f"relation/{said}", value)

    def _fact(self, place: str, value: dict[str, Any]) -> SourceFact:
        return SourceFact(key=bounded_key(self.prefix + place), value=value, tags=(self.name,))

    def _records(self) -> Iterator[tuple[int, Any]]:
        """Decoded lines with their numbers; a text says what is wrong with the line."""
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(bounded_lines(file), 1):
                    if line is None:
                        yield number, "the line is too long"
                    elif line.strip():
                        yield number, _decoded(line)
        except OSError as error:
            raise SourceFailed(f"cannot read {self._path}: {error.strerror}", argument="source") from error


def _decoded(line: bytes) -> object:
    try:
        read = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return read if isinstance(read, dict) else "not an object"


def record_fault(read: object) -> str | None:
    """What is wrong with a decoded line; None: it is an entity or a relation."""
    if not isinstance(read, dict) or read.get("type") not in {"entity", "relation"}:
        return "neither an entity nor a relation: type says which"
    for field in _ENTITY if read["type"] == "entity" else _RELATION:
        text = read.get(field)
        if not isinstance(text, str) or not text.strip():
            return f"{field} must be a text that is not blank"
        if len(text.encode("utf-8", "surrogatepass")) > NAME_BYTES // 2:
            return f"{field} is longer than {NAME_BYTES // 2} bytes"
    observations = read.get("observations", []) if read["type"] == "relation" else read.get("observations")
    if not isinstance(observations, list) or not all(isinstance(one, str) for one in observations):
        return "observations must be a list of texts"
    return None


def _is_entity(read: object) -> bool:
    return isinstance(read, dict) and read.get("type") == "entity" and record_fault(read) is None


def _kind(given: str) -> str:
    cut = given.encode("utf-8", "replace")[:KIND_BYTES].decode("utf-8", "ignore")
    return cut if tokens(cut) else _UNKNOWN_KIND
