"""Stored values as JSON in wire names, and answers cut to a budget: whole items only, and the cut is said."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Any

from pydantic.alias_generators import to_camel

from facts.records import FactRecord

Json = dict[str, Any]


def fact_json(fact: FactRecord) -> Json:
    return {
        "scopeKey": fact.scope_key,
        "key": fact.key,
        "value": fact.value,
        "agentId": fact.agent_id,
        "sessionId": fact.session_id,
        "shared": fact.shared,
        "tags": list(fact.tags),
        "createdAt": fact.created_at.isoformat(),
        "updatedAt": fact.updated_at.isoformat(),
        "etag": fact.etag,
    }


def to_json(value: Any) -> Any:
    """A frozen value of the stores in wire names; fields that start with an underscore stay inside."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {to_camel(each.name): to_json(getattr(value, each.name)) for each in fields if each.name[0] != "_"}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    return value


def without_none(value: Json, *names: str) -> Json:
    """Optional fields leave an answer when they say nothing."""
    return {name: item for name, item in value.items() if item is not None or name not in names}


def encoded_size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def fitting(items: Sequence[Json], budget: int) -> list[Json]:
    """The longest head of the list that fits; half a kilobyte is left for what stands around it."""
    left = budget - 512
    kept: list[Json] = []
    for item in items:
        left -= encoded_size(item) + 1
        if left < 0:
            break
        kept.append(item)
    return kept


def fitting_views(items: Sequence[Json], budget: int) -> list[Json]:
    """The same for nodes and edges, of which at least one is always shown: its lists are cut, and it says so."""
    kept = fitting(items, budget)
    return kept if kept or not items else [_shortened(items[0], budget - 512)]


def _shortened(item: Json, budget: int) -> Json:
    shown = dict(item)
    while encoded_size(shown) > budget:
        lists = {name: encoded_size(it) for name, it in shown.items() if isinstance(it, list) and len(it) > 1}
        if not lists:
            break
        longest = max(lists, key=lambda name: lists[name])
        shown[longest] = shown[longest][: len(shown[longest]) // 2]
        shown[f"{longest}Truncated"] = True
    return shown
