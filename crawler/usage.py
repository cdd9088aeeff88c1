"""Usage events: which kinds of memory are used, and how much comes back. Counted, never kept.

One table says which tool's answer is which event; `crawler.registry` consults it after every successful call, so that
MCP, HTTP, the page and the command line raise the same. An event is a log line and a count: no session, no agent,
no content but the head of what was asked for.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import structlog

from facts.access import Role

log = structlog.get_logger()

PREVIEW: Final = 80
_SKILLS: Final = "shared:skills/"


class Usage(StrEnum):
    SKILL_READ = "learned_skill.read"
    GRAPH_SEARCHED = "graph.searched"
    NODE_SEARCHED = "graph.node_searched"
    NODE_LOADED = "graph.node_loaded"
    NAMESPACE_MUTATED = "graph.namespace_mutated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``count``: what came back, out of the answer; with ``needs_some`` an empty answer is no event."""

    usage: Usage
    count: Callable[[Mapping[str, Any]], int]
    preview: tuple[str, ...]
    needs_some: bool = False


def _listed(name: str) -> Callable[[Mapping[str, Any]], int]:
    return lambda answer: len(answer[name])


def _skills_read(answer: Mapping[str, Any]) -> int:
    return sum(fact["scopeKey"].startswith(_SKILLS) for fact in answer["facts"])


def _one(_answer: Mapping[str, Any]) -> int:
    return 1


_MUTATED: Final = Rule(usage=Usage.NAMESPACE_MUTATED, count=_one, preview=("namespace",))
RULES: Final[Mapping[str, Rule]] = {
    "read_facts": Rule(
        usage=Usage.SKILL_READ, count=_skills_read, preview=("scope_keys", "key_pattern"), needs_some=True
    ),
    "graph_search_nodes": Rule(
        usage=Usage.NODE_SEARCHED, count=_listed("nodes"), preview=("name_like", "seeds", "kind", "namespace")
    ),
    "graph_search_edges": Rule(
        usage=Usage.GRAPH_SEARCHED,
        count=_listed("edges"),
        preview=("predicate", "predicate_key", "from_key", "to_key", "namespace"),
    ),
    "graph_query": Rule(usage=Usage.GRAPH_SEARCHED, count=_listed("rows"), preview=("cypher",)),
    "graph_neighbourhood": Rule(
        usage=Usage.NODE_LOADED,
        count=lambda answer: int(answer["anchor"] is not None),
        preview=("node_key",),
        needs_some=True,
    ),
    "graph_upsert_namespace": _MUTATED,
    "graph_archive_namespace": _MUTATED,
    "graph_delete_namespace": _MUTATED,
}


_counting = threading.Lock()
_counts: Counter[tuple[Usage, Role]] = Counter()


def usage_counts() -> dict[tuple[Usage, Role], int]:
    """How often each event was raised in this process, by the caller's role: what metrics show."""
    with _counting:
        return dict(_counts)


def note_use(tool: str, asked: object, answer: Mapping[str, Any], role: Role) -> None:
    """Raise the event of a call that went well, if its tool has one. ``asked``: the checked arguments."""
    rule = RULES.get(tool)
    if rule is None:
        return
    count = rule.count(answer)
    if rule.needs_some and not count:
        return
    with _counting:
        _counts[rule.usage, role] += 1
    log.info("usage", usage=rule.usage.value, tool=tool, role=role.value, count=count, preview=_preview(rule, asked))


def _preview(rule: Rule, asked: object) -> str:
    """The head of the first argument that says something."""
    for name in rule.preview:
        value = getattr(asked, name, None)
        text = " ".join(str(item) for item in value) if isinstance(value, list | tuple) else str(value or "")
        if text:
            one_line = " ".join(text.split())
            return one_line if len(one_line) <= PREVIEW else f"{one_line[: PREVIEW - 1]}…"
    return ""
