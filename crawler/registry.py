"""The one registry of tools: what MCP, HTTP and `harvester call` are generated from.

A tool is here only if the store behind it can do it; a role or a database that lacks something lacks the tool, and
asking for it is an error like any other. Tools raise; `crawler.answers` turns errors into answers, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeVar

from crawler.arguments import Arguments, parse_arguments
from crawler.caller import Caller
from crawler.calls import OK, UNKNOWN_TOOL, note_call
from crawler.usage import note_use
from facts.access import AccessContext, Role
from facts.coverage import EVERYTHING, Coverage
from facts.errors import HarvesterError, NotFound, NotPermitted, Unsupported
from facts.store import FactStore
from graph.store import GraphStore

A = TypeVar("A", bound=Arguments)
Answer = dict[str, Any]

DEFAULT_BUDGET: Final = 200_000
EVERY_ROLE: Final = frozenset(Role)
WRITERS: Final = frozenset({Role.AGENT, Role.CRAWLER, Role.FACTS_MANAGER})
CRAWLERS: Final = frozenset({Role.CRAWLER, Role.FACTS_MANAGER})
OVERSEERS: Final = frozenset({Role.FACTS_MANAGER, Role.AGENT_TUNER})
FACTS_MANAGER: Final = frozenset({Role.FACTS_MANAGER})


class Need(StrEnum):
    """What a tool needs beyond the fact store."""

    GRAPH = "graph"
    SEARCH = "search"
    EMBEDDER = "embedder"


@dataclass(slots=True, kw_only=True)
class Desk:
    """What a tool works with: the stores, who called, and what that caller may see (looked up once a call).

    ``budget``: bytes of an answer. ``coverage``: what the harvester's rules cover, for ``noRule`` in statistics.
    ``statement_seconds``: what one statement may take; None: as the database says.
    """

    facts: FactStore
    graph_store: GraphStore | None
    caller: Caller
    budget: int = DEFAULT_BUDGET
    coverage: Coverage = EVERYTHING
    statement_seconds: float | None = None
    _access: AccessContext | None = field(default=None, init=False)

    @property
    def access(self) -> AccessContext:
        if self._access is None:
            self._access = self.caller.access(self.facts)
        return self._access

    @property
    def graph(self) -> GraphStore:
        if self.graph_store is None:
            raise Unsupported("this database has no graph")
        return self.graph_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. ``mutates`` and ``destroys`` become the hints that clients show before they call."""

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Desk, Any], Answer]
    roles: frozenset[Role]
    needs: frozenset[Need] = frozenset()
    mutates: bool = False
    destroys: bool = False

    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments, in wire names."""
        return self.arguments.model_json_schema(by_alias=True)


def tool(
    arguments: type[A],
    *,
    roles: frozenset[Role] = EVERY_ROLE,
    needs: Iterable[Need] = (),
    mutates: bool = False,
    destroys: bool = False,
) -> Callable[[Callable[[Desk, A], Answer]], Tool]:
    """Make a function a tool: its name is the wire name, its docstring is what agents read."""

    def made(run: Callable[[Desk, A], Answer]) -> Tool:
        if mutates and Role.AGENT_TUNER in roles:
            raise AssertionError(f"{run.__name__}: an agent tuner changes nothing")
        return Tool(
            name=run.__name__,
            description=" ".join((run.__doc__ or "").split()),
            arguments=arguments,
            run=run,
            roles=roles,
            needs=frozenset(needs),
            mutates=mutates,
            destroys=destroys,
        )

    return made


@cache
def all_tools() -> Mapping[str, Tool]:
    """Every tool that exists, by wire name."""
    from crawler.tools import TOOLS  # noqa: PLC0415 - the tools import this module

    return {each.name: each for each in TOOLS}


def capabilities(graph: GraphStore | None) -> frozenset[Need]:
    """Decided once, when the stores are opened."""
    return frozenset({Need.GRAPH} if graph is not None else ())


def tools_for(role: Role, able: frozenset[Need]) -> list[Tool]:
    """What a caller with this role is offered."""
    return [each for each in all_tools().values() if role in each.roles and each.needs <= able]


def call_tool(name: str, arguments: Mapping[str, Any], desk: Desk) -> Answer:
    """Run one tool for the caller at a desk made for this call. Raises a HarvesterError; nothing is half-done then."""
    outcome = "internal"
    try:
        with desk.facts.db.statements_within(desk.statement_seconds):
            answer = _called(name, arguments, desk)
        outcome = OK
    except HarvesterError as error:
        outcome = error.code
        raise
    finally:
        note_call(name if name in all_tools() else UNKNOWN_TOOL, outcome)
    return answer


def _called(name: str, arguments: Mapping[str, Any], desk: Desk) -> Answer:
    found = all_tools().get(name)
    able = capabilities(desk.graph_store)
    if found is None:
        raise NotFound(f"there is no tool {name!r}", argument="tool")
    if not found.needs <= able:
        lacking = ", ".join(sorted(found.needs - able))
        raise Unsupported(f"{name} needs {lacking}, which this database does not offer", argument="tool")
    if desk.caller.role not in found.roles:
        raise NotPermitted(f"{name} is not for the role {desk.caller.role}", argument="tool")
    checked, capped = parse_arguments(found.arguments, arguments)
    answer = found.run(desk, checked)
    note_use(name, checked, answer, desk.caller.role)
    return answer | {"capped": capped} if capped else answer


def fact_tools(store: FactStore, caller: Caller) -> dict[str, Callable[..., Answer]]:
    """The fact tools as callables with keyword arguments, for agents in this process; each carries ``.tool``."""
    return _bound(store, None, caller)


def graph_tools(store: FactStore, graph: GraphStore, caller: Caller) -> dict[str, Callable[..., Answer]]:
    """The graph and queue tools as callables, likewise."""
    bound = _bound(store, graph, caller)
    return {name: call for name, call in bound.items() if Need.GRAPH in all_tools()[name].needs}


def _bound(store: FactStore, graph: GraphStore | None, caller: Caller) -> dict[str, Callable[..., Answer]]:
    offered = tools_for(caller.role, capabilities(graph))
    return {each.name: BoundTool(each, store, graph, caller) for each in offered}


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool with its stores and caller filled in."""

    tool: Tool
    store: FactStore
    graph: GraphStore | None
    caller: Caller

    def __call__(self, **arguments: Any) -> Answer:
        desk = Desk(facts=self.store, graph_store=self.graph, caller=self.caller)
        return call_tool(self.tool.name, arguments, desk)
