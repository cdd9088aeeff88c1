"""From what a fact says to the rows that say it: validation and derivation in one pure pass.

All faults of one fact are collected; the fact is then rejected as a whole and nothing else of its batch is.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache

from facts.errors import InvalidArgument
from graph.keys import (
    ALIASES_PER_MENTION,
    KIND_BYTES,
    NAME_BYTES,
    NAMESPACE_BYTES,
    PREDICATE_BYTES,
    Identity,
    form,
    kind_key,
    namespace_of,
    predicate_key,
    split_key,
)
from graph.model import ABSENT, EdgeMention, Incorporation, NodeMention, NodeRef, Provenance
from graph.rows import EDGE_BASE, EDGES_PER_FACT, NODE_SLOTS, NODES_PER_FACT, Mention, Observation, Rows

_IDENTITIES = ("normal", "exact")


class InvalidExtractionError(InvalidArgument):
    """A fact's extraction has faults; ``errors`` lists every one with its place."""

    def __init__(self, scope_key: str, errors: list[str]) -> None:
        super().__init__(f"{scope_key}: {'; '.join(errors)}", argument="facts")
        self.errors = errors


def checked_text(value: object, argument: str, limit: int) -> str:
    """A trimmed text within its limit in bytes, free of NUL and lone surrogates; blank is refused."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{argument} must be a text, not {type(value).__name__}", argument=argument)
    trimmed = value.strip()
    if not trimmed:
        raise InvalidArgument(f"{argument} is blank", argument=argument)
    _check_encodable(trimmed, argument, limit)
    return trimmed


def _check_encodable(text: str, argument: str, limit: int) -> None:
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{argument} holds a lone surrogate", argument=argument) from error
    if "\0" in text:
        raise InvalidArgument(f"{argument} holds NUL", argument=argument)
    if size > limit:
        raise InvalidArgument(f"{argument} has {size} bytes, at most {limit} are taken", argument=argument)


def checked_namespace(value: object, inherited: str | None = None) -> str:
    """The stored namespace ('' = none); ABSENT takes the inherited one."""
    if value is ABSENT:
        return inherited or ""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidArgument("namespace must be a text", argument="namespace")
    _check_encodable(value, "namespace", NAMESPACE_BYTES)
    return namespace_of(value) or ""


def checked_confidence(value: object) -> float:
    """A finite number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument("confidence must be a number", argument="confidence")
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidArgument(f"confidence {value} is not between 0 and 1", argument="confidence")
    return float(value) + 0.0  # minus zero is zero


def checked_aliases(aliases: object) -> list[str]:
    """The aliases that are not blank, trimmed, within their limits."""
    if isinstance(aliases, str) or not isinstance(aliases, list | tuple):
        raise InvalidArgument("aliases must be a list of texts", argument="aliases")
    if len(aliases) > ALIASES_PER_MENTION:
        raise InvalidArgument(f"{len(aliases)} aliases, at most {ALIASES_PER_MENTION} are taken", argument="aliases")
    kept = [alias for alias in aliases if not (isinstance(alias, str) and not alias.strip())]
    return [checked_text(alias, "aliases", NAME_BYTES) for alias in kept]


def checked_kind_and_name(kind: object, name: object, identity: Identity) -> tuple[str, str, str]:
    """Trimmed kind and name, and the key they give."""
    if identity not in _IDENTITIES:
        raise InvalidArgument(f"identity must be one of {', '.join(_IDENTITIES)}", argument="identity")
    if isinstance(kind, str) and isinstance(name, str):
        return _kind_and_name(kind, name, identity)
    checked_text(kind, "kind", KIND_BYTES)
    checked_text(name, "name", NAME_BYTES)
    raise AssertionError("unreachable: one of the two is no text")


@lru_cache(maxsize=65_536)
def _kind_and_name(kind: str, name: str, identity: Identity) -> tuple[str, str, str]:
    shown_kind = checked_text(kind, "kind", KIND_BYTES)
    shown_name = checked_text(name, "name", NAME_BYTES)
    return shown_kind, shown_name, f"{kind_key(shown_kind)}:{form(shown_name, identity)}"


def checked_predicate(predicate: object) -> tuple[str, str]:
    """The trimmed predicate and its key."""
    if isinstance(predicate, str):
        return _predicate(predicate)
    return checked_text(predicate, "predicate", PREDICATE_BYTES), ""


@lru_cache(maxsize=16_384)
def _predicate(predicate: str) -> tuple[str, str]:
    shown = checked_text(predicate, "predicate", PREDICATE_BYTES)
    return shown, predicate_key(shown)


def checked_key(key: object, argument: str) -> str:
    """A node key that a name could have given."""
    if not isinstance(key, str):
        raise InvalidArgument(f"{argument} must be a node key", argument=argument)
    _check_encodable(key, argument, KIND_BYTES + 1 + NAME_BYTES)
    try:
        split_key(key)
    except InvalidArgument as error:
        raise InvalidArgument(error.message, argument=argument) from error
    return key


@dataclass(slots=True)
class _Derivation:
    """One pass over one extraction; collects rows and faults."""

    origin: int
    order: int
    provenance: Provenance
    namespace: str = ""
    mentions: list[Mention] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    endpoints: set[tuple[str, bool]] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)

    def node(self, index: int, item: NodeMention) -> None:
        kind, name, key = checked_kind_and_name(item.kind, item.name, item.identity)
        namespace = checked_namespace(item.namespace, self.namespace)
        base = index * NODE_SLOTS
        if item.aliases:
            for slot, alias in enumerate(checked_aliases(item.aliases)):
                spelled = (form(alias, item.identity), alias)
                self._mention(base + slot, key, spelled, kind=kind, namespace=namespace, named=False)
        named = (key.partition(":")[2], name)
        self._mention(base + NODE_SLOTS - 1, key, named, kind=kind, namespace=namespace, named=True)
        self.listed.add(key)

    def edge(self, index: int, item: EdgeMention) -> None:
        predicate, predicate_form = checked_predicate(item.predicate)
        confidence = checked_confidence(item.confidence)
        namespace = checked_namespace(item.namespace, self.namespace)
        ends = [self._endpoint(item.source, "from"), self._endpoint(item.target, "to")]
        if ends[0][0] == ends[1][0]:
            raise InvalidArgument(f"edge from {ends[0][0]} to itself", argument="to")
        for side, (key, named, weak) in enumerate(ends):
            self._endpoint_mention(EDGE_BASE + 2 * index + side, key, named, weak=weak)
        self.observations.append(
            Observation(
                self.origin, index, self.order, ends[0][0], ends[1][0], predicate_form, predicate, namespace,
                confidence, self.provenance.writer, self.provenance.model, ends[0][0], ends[1][0],
            )
        )  # fmt: skip

    def _endpoint(self, end: str | NodeRef, argument: str) -> tuple[str, tuple[str, str], bool]:
        if isinstance(end, NodeRef):
            kind, name, key = checked_kind_and_name(end.kind, end.name, end.identity)
            return key, (kind, name), False
        kind, _, name = checked_key(end, argument).partition(":")
        return end, (kind, name), True

    def _endpoint_mention(self, pos: int, key: str, named: tuple[str, str], *, weak: bool) -> None:
        if key in self.listed or (key, weak) in self.endpoints:
            return
        self.endpoints.add((key, weak))
        spelled = (key.partition(":")[2], named[1])
        self._mention(pos, key, spelled, kind=named[0], namespace=self.namespace, named=True, weak=weak)

    def _mention(  # noqa: PLR0913 - the columns of a mention
        self,
        pos: int,
        key: str,
        spelled: tuple[str, str],
        *,
        kind: str,
        namespace: str,
        named: bool,
        weak: bool = False,
    ) -> None:
        self.mentions.append(
            Mention(
                self.origin, pos, self.order, key, spelled[0], spelled[1], named, weak, kind, namespace,
                self.provenance.writer, key,
            )
        )  # fmt: skip


def derive(item: Incorporation, *, origin: int, order: int, provenance: Provenance) -> Rows:
    """The rows of one fact's extraction. Raises InvalidExtractionError with every fault of it.

    :param origin: the fact's source id; ``order``: its ``facts.id``.
    """
    work = _Derivation(origin, order, provenance)
    try:
        work.namespace = checked_namespace(item.namespace)
        _check_counts(item)
    except InvalidArgument as error:
        raise InvalidExtractionError(item.scope_key, [error.message]) from error
    for index, node in enumerate(item.nodes):
        try:
            if node is not None:
                work.node(index, node)
        except InvalidArgument as error:
            work.errors.append(f"nodes[{index}]: {error.message}")
    for index, edge in enumerate(item.edges):
        try:
            if edge is not None:
                work.edge(index, edge)
        except InvalidArgument as error:
            work.errors.append(f"edges[{index}]: {error.message}")
    if work.errors:
        raise InvalidExtractionError(item.scope_key, work.errors)
    return Rows(tuple(work.mentions), tuple(work.observations), (origin,))


def _check_counts(item: Incorporation) -> None:
    if len(item.nodes) > NODES_PER_FACT:
        raise InvalidArgument(f"{len(item.nodes)} nodes, at most {NODES_PER_FACT} a fact are taken", argument="nodes")
    if len(item.edges) > EDGES_PER_FACT:
        raise InvalidArgument(f"{len(item.edges)} edges, at most {EDGES_PER_FACT} a fact are taken", argument="edges")
