"""``harvest.toml``: which facts go to which extractor, with which namespace and confidence.

::

    unmatched = "pending"            # or "acknowledge": facts that no rule covers are closed with nothing said
    include = ["python-env", "git", "known-shapes"]      # rules that ship with Harvester, after those below

    [[rules]]
    match = "corpus/acme/*"          # key patterns (one or a list), or: match_namespace = "corpus/acme"
    extractor = "triples"
    namespace = 2                    # the first two key segments; a text is taken as it is
    confidence = 0.8
    options = { kind = "thing" }

The first rule that covers a fact decides. Without the file (or with one that has neither ``rules`` nor ``include``) one
built-in rule stands: ``known-shapes``. The rules' union is the claim's filter, so a fact that no rule covers is never
leased.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crawler.errors import BadSetting, complaint
from crawler.extractors.catalogue import build_extractor
from crawler.extractors.contract import Extractor
from crawler.extractors.shapes import KNOWN_SHAPES_PATH, is_known
from facts.coverage import EVERYTHING, Coverage
from facts.patterns import Pattern, below, escape_like, parse_pattern
from facts.receipts import ClaimedFact

Unmatched = Literal["pending", "acknowledge"]
SHIPPED: Final = ("python-env", "git", "documents", "csv", "mbox", "mcp-memory", "known-shapes")
BUILT_IN: Final = ("known-shapes",)
DEFAULT_CONFIDENCE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of routing. ``patterns`` and ``namespaces`` match keys; ``known_shapes`` matches values."""

    name: str
    extractor: Extractor
    like_patterns: tuple[str, ...] = ()
    regex: re.Pattern[str] | None = None
    known_shapes: bool = False
    namespace: str | int | None = None

    def covers(self, key: str, value: object, reserved_prefixes: tuple[str, ...]) -> bool:
        if self.regex is not None and self.regex.fullmatch(key):
            return True
        return self.known_shapes and not key.startswith(reserved_prefixes) and is_known(value)

    def namespace_for(self, key: str) -> str | None:
        if isinstance(self.namespace, int):
            return "/".join(key.split("/")[: self.namespace])
        return self.namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    rules: tuple[Rule, ...]
    unmatched: Unmatched = "pending"
    reserved_prefixes: tuple[str, ...] = ()

    def rule_for(self, fact: ClaimedFact) -> Rule | None:
        """The rule that reads a live fact; None: no rule covers it."""
        for rule in self.rules:
            if rule.covers(fact.key, fact.value, self.reserved_prefixes):
                return rule
        return None

    def coverage(self) -> Coverage:
        """What a claim may take; tombstones of harvested facts always count, whatever the rules say now."""
        if self.unmatched == "acknowledge":
            return EVERYTHING
        by_value = any(rule.known_shapes for rule in self.rules)
        return Coverage(
            key_patterns=tuple(dict.fromkeys(like for rule in self.rules for like in rule.like_patterns)),
            value_path=KNOWN_SHAPES_PATH if by_value else None,
            outside_prefixes=self.reserved_prefixes if by_value else (),
            pinned_tombstones=True,
        )

    def without(self, positions: Collection[int]) -> RuleSet:
        """The rules but those, for a claim that leaves their facts alone."""
        return replace(self, rules=tuple(rule for at, rule in enumerate(self.rules) if at not in positions))

    def make_ready(self) -> None:
        """For those who will extract; what an extractor misses then is refused before anything is claimed."""
        for rule in self.rules:
            make_ready = getattr(rule.extractor, "make_ready", None)
            if make_ready is not None:
                make_ready()

    @property
    def is_quick(self) -> bool:
        """No extractor may take near as long as a lease lasts."""
        return all(getattr(rule.extractor, "quick", False) for rule in self.rules)


class _RuleTable(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    match: list[str] = Field(default_factory=list)
    match_namespace: list[str] = Field(default_factory=list)
    known_shapes: bool = False
    extractor: str
    namespace: str | int | None = None
    confidence: float = Field(DEFAULT_CONFIDENCE, ge=0, le=1)
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, table: Any) -> Any:
        for field in ("match", "match_namespace"):
            if isinstance(table, dict) and isinstance(table.get(field), str):
                table = {**table, field: [table[field]]}
        return table

    @model_validator(mode="after")
    def _matches_something(self) -> _RuleTable:
        if not (self.match or self.match_namespace or self.known_shapes):
            raise ValueError("a rule needs match, match_namespace or known_shapes")
        if isinstance(self.namespace, int) and (isinstance(self.namespace, bool) or self.namespace < 1):
            raise ValueError("namespace is a text, or a number of key segments from 1 up")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    unmatched: Unmatched = "pending"
    include: list[Literal["python-env", "git", "documents", "csv", "mbox", "mcp-memory", "known-shapes"]] | None = None
    rules: list[_RuleTable] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)
    schedule: list[Any] = Field(default_factory=list)


def read_rules(config: Mapping[str, Any], *, reserved_prefixes: Sequence[str]) -> RuleSet:
    """The rule set of a decoded ``harvest.toml``; an empty mapping gives the built-in rule."""
    file = _checked(_File, config)
    included: Sequence[str] = file.include if file.include is not None else (() if file.rules else BUILT_IN)
    tables = [*file.rules, *(table for name in included for table in _shipped(name))]
    return RuleSet(
        rules=tuple(_rule(table, at) for at, table in enumerate(tables)),
        unmatched=file.unmatched,
        reserved_prefixes=tuple(reserved_prefixes),
    )


def _shipped(name: str) -> list[_RuleTable]:
    text = resources.files("crawler").joinpath("shipped", f"{name.replace('-', '_')}.toml").read_text(encoding="utf-8")
    return _File.model_validate(tomllib.loads(text)).rules


def _checked(model: type[_File], config: Mapping[str, Any]) -> _File:
    try:
        return model.model_validate(dict(config))
    except ValidationError as error:
        where, said = complaint(error)
        raise BadSetting(f"harvest.toml: {where}: {said}", argument=where or "config") from error


def _rule(table: _RuleTable, at: int) -> Rule:
    patterns = [parse_pattern(text) for text in table.match]
    spaces = [space for text in table.match_namespace if (space := text.strip().strip("/"))]
    likes = [pattern.like() for pattern in patterns]
    likes += [like for space in spaces for like in (escape_like(space), below(f"{space}/"))]
    return Rule(
        name=table.name or f"rules[{at}]",
        extractor=build_extractor(table.extractor, table.options, confidence=table.confidence),
        like_patterns=tuple(likes),
        regex=_any_of([*map(_regex, patterns), *(f"{re.escape(space)}(?:/.*)?" for space in spaces)]),
        known_shapes=table.known_shapes,
        namespace=table.namespace,
    )


def _regex(pattern: Pattern) -> str:
    return ".*".join(re.escape(run) for run in pattern.runs)


def _any_of(regexes: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{one})" for one in regexes)
    return re.compile(joined, re.DOTALL) if joined else None
