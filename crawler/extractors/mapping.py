"""JMESPath expressions that turn JSON values into nodes and edges.

Every expression is evaluated against ``{"key", "value", "tags", "item"}`` of one fact. ``item`` is each element of the
list that ``each`` gives, or null without ``each``. Texts that are not expressions: ``kind``, ``predicate``,
``namespace``, ``identity``. ::

    [[rules.options.nodes]]
    kind = "package"
    name = "value.name"
    aliases = "value.also_called"

    [[rules.options.edges]]
    each = "value.requires[?applies]"
    from = { kind = "package", name = "value.name" }
    to = { kind = "package", name = "item.name" }
    predicate = "depends on"

An expression for a name may give one text, a number, or a list of them: one node for each, and one edge for each pair.
Null and empty texts give nothing; anything else fails the fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crawler.errors import BadSetting, complaint
from crawler.extractors.contract import Extraction, Failure
from facts.receipts import ClaimedFact
from graph.keys import Identity
from graph.model import ABSENT, EdgeMention, NodeMention, NodeRef


class _Expression(Protocol):
    def search(self, value: object) -> Any: ...


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class _EndOptions(_Options):
    kind: str | None = None
    kind_from: str | None = None
    name: str
    identity: Identity = "normal"


class _NodeOptions(_EndOptions):
    each: str | None = None
    when: str | None = None
    aliases: str | None = None
    namespace: str | None = None


class _EdgeOptions(_Options):
    each: str | None = None
    when: str | None = None
    source: _EndOptions = Field(alias="from")
    target: _EndOptions = Field(alias="to")
    predicate: str | None = None
    predicate_from: str | None = None
    confidence: float | str | None = None
    namespace: str | None = None


class _MappingOptions(_Options):
    nodes: list[_NodeOptions] = Field(default_factory=list)
    edges: list[_EdgeOptions] = Field(default_factory=list)
    confidence: float = 0.8


class _Mismatch(Exception):
    """An expression gave something that cannot stand where it is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A literal text, or an expression that gives one."""

    literal: str | None
    expression: _Expression | None
    where: str

    def read(self, context: object) -> str | None:
        if self.expression is None:
            return self.literal
        texts = _texts(self.expression.search(context), self.where)
        if len(texts) > 1:
            raise _Mismatch(f"{self.where} gives {len(texts)} texts where one is needed")
        return texts[0] if texts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    kind: _Text
    name: _Expression
    identity: Identity
    where: str

    def read(self, context: object) -> list[NodeRef]:
        names = _texts(self.name.search(context), f"{self.where}.name")
        kind = self.kind.read(context) if names else None
        if kind is None:
            return []
        return [NodeRef(kind=kind, name=name, identity=self.identity) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Which items an entry runs over, and which of them count."""

    each: _Expression | None
    when: _Expression | None

    def contexts(self, fact: ClaimedFact) -> Iterator[dict[str, Any]]:
        context = {"key": fact.key, "value": fact.value, "tags": list(fact.tags), "item": None}
        items = [None] if self.each is None else self.each.search(context)
        for item in items if isinstance(items, list) else ():
            context["item"] = item
            if self.when is None or self.when.search(context):
                yield context


@dataclass(frozen=True, slots=True, kw_only=True)
class _NodeRule:
    scope: _Scope
    end: _End
    aliases: _Expression | None
    namespace: Any

    def read(self, fact: ClaimedFact) -> Iterator[NodeMention]:
        for context in self.scope.contexts(fact):
            aliases = () if self.aliases is None else tuple(_texts(self.aliases.search(context), "aliases"))
            for ref in self.end.read(context):
                yield NodeMention(
                    kind=ref.kind, name=ref.name, aliases=aliases, namespace=self.namespace, identity=ref.identity
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _EdgeRule:
    scope: _Scope
    source: _End
    target: _End
    predicate: _Text
    confidence: float | _Expression
    namespace: Any

    def read(self, fact: ClaimedFact) -> Iterator[EdgeMention]:
        for context in self.scope.contexts(fact):
            sources = self.source.read(context)
            targets = self.target.read(context) if sources else []
            predicate = self.predicate.read(context) if targets else None
            if predicate is None:
                continue
            confidence = self._confidence(context)
            for source in sources:
                for target in targets:
                    yield EdgeMention(
                        source=source,
                        target=target,
                        predicate=predicate,
                        confidence=confidence,
                        namespace=self.namespace,
                    )

    def _confidence(self, context: object) -> float:
        if isinstance(self.confidence, float):
            return self.confidence
        found = self.confidence.search(context)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise _Mismatch(f"confidence gives {type(found).__name__}, not a number")
        return float(found)


class MappingExtractor:
    """The `mapping` extractor; its options are the expressions above."""

    name: Final = "mapping"
    version: Final = "1"
    quick: Final = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        try:
            parsed = _MappingOptions.model_validate(dict(options))
        except ValidationError as error:
            where, said = complaint(error)
            raise BadSetting(f"mapping: {where}: {said}", argument=f"options.{where}") from error
        if not parsed.nodes and not parsed.edges:
            raise BadSetting("mapping: give at least one entry of nodes or edges", argument="options")
        self._nodes = [_node_rule(entry, f"nodes[{at}]") for at, entry in enumerate(parsed.nodes)]
        self._edges = [_edge_rule(entry, f"edges[{at}]", parsed.confidence) for at, entry in enumerate(parsed.edges)]

    def extract(self, facts: Sequence[ClaimedFact]) -> list[Extraction | Failure]:
        return [self._one(fact) for fact in facts]

    def _one(self, fact: ClaimedFact) -> Extraction | Failure:
        try:
            return Extraction(
                nodes=[node for rule in self._nodes for node in rule.read(fact)],
                edges=[edge for rule in self._edges for edge in rule.read(fact)],
            )
        except _Mismatch as error:
            return Failure(label="mapping: wrong type", message=f"mapping: {error}")
        except JMESPathError as error:
            return Failure(label="mapping: expression", message=f"mapping: {str(error).splitlines()[0]}")


def _node_rule(entry: _NodeOptions, where: str) -> _NodeRule:
    return _NodeRule(
        scope=_scope(entry, where),
        end=_end(entry, where),
        aliases=_compiled(entry.aliases, f"{where}.aliases"),
        namespace=ABSENT if entry.namespace is None else entry.namespace,
    )


def _edge_rule(entry: _EdgeOptions, where: str, confidence: float) -> _EdgeRule:
    strength: float | _Expression = confidence
    if isinstance(entry.confidence, str):
        strength = _needed(entry.confidence, f"{where}.confidence")
    elif entry.confidence is not None:
        strength = entry.confidence
    return _EdgeRule(
        scope=_scope(entry, where),
        source=_end(entry.source, f"{where}.from"),
        target=_end(entry.target, f"{where}.to"),
        predicate=_text(entry.predicate, entry.predicate_from, f"{where}.predicate"),
        confidence=strength,
        namespace=ABSENT if entry.namespace is None else entry.namespace,
    )


def _scope(entry: _NodeOptions | _EdgeOptions, where: str) -> _Scope:
    return _Scope(each=_compiled(entry.each, f"{where}.each"), when=_compiled(entry.when, f"{where}.when"))


def _end(entry: _EndOptions, where: str) -> _End:
    return _End(
        kind=_text(entry.kind, entry.kind_from, f"{where}.kind"),
        name=_needed(entry.name, f"{where}.name"),
        identity=entry.identity,
        where=where,
    )


def _text(literal: str | None, expression: str | None, where: str) -> _Text:
    if (literal is None) == (expression is None):
        raise BadSetting(f"mapping: give either {where} (a text) or {where}_from (an expression)", argument=where)
    return _Text(literal=literal, expression=_compiled(expression, f"{where}_from"), where=where)


def _compiled(expression: str | None, where: str) -> _Expression | None:
    return None if expression is None else _needed(expression, where)


def _needed(expression: str, where: str) -> _Expression:
    try:
        compiled: _Expression = jmespath.compile(expression)
    except JMESPathError as error:
        said = str(error).splitlines()[0]
        raise BadSetting(f"mapping: {where} is not valid JMESPath: {said}", argument=where) from error
    return compiled


def _texts(found: object, where: str) -> list[str]:
    items = found if isinstance(found, list) else [found]
    texts = []
    for item in items:
        if item is None or item == "":
            continue
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise _Mismatch(f"{where} gives {type(item).__name__}, not a text")
        texts.append(str(item))
    return texts
