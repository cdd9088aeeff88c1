"""Operations on the tool registry."""

from collections import Counter
from typing import Any

from pydantic.alias_generators import to_snake

from crawler.caller import Caller as ToolCaller
from crawler.registry import Desk, all_tools, call_tool, capabilities, tools_for
from crawler.usage import usage_counts
from facts.access import Role
from tests.conformance.case import Caller, Operation
from tests.conformance.stage import Answer, Stage, operation

LITERAL = frozenset({"value", "node_schema", "edge_schema", "harvest_config"})
"""Fields whose content is the caller's own: their keys are nobody's spelling."""


def tool_caller(caller: Caller) -> ToolCaller:
    """A caller as its credential says; the crawler flag that one forges is not part of it."""
    return ToolCaller(role=Role(caller.role or Role.AGENT), session_id=caller.session_id, agent_id=caller.agent_id)


@operation("list_tools")
def list_tools(stage: Stage, asked: Operation) -> Answer:
    able = capabilities(stage.graph if stage.has_graph else None)
    return {"tools": [each.name for each in tools_for(tool_caller(asked.caller).role, able)]}


def lacks_tool(_stage: Stage, asked: Operation) -> str | None:
    """A tool that does not exist yet."""
    name = asked.args["tool"]
    return None if name in all_tools() else f"no tool {name}"


@operation("call_tool", lacks=lacks_tool)
def tool_answer(stage: Stage, asked: Operation) -> Answer:
    desk = Desk(
        facts=stage.facts,
        graph_store=stage.graph if stage.has_graph else None,
        caller=tool_caller(asked.caller),
    )
    answer = call_tool(asked.args["tool"], sent(stage, asked.args.get("args", {})), desk)
    return with_keys(in_snake_case(answer))


@operation("list_events")
def list_events(stage: Stage, _asked: Operation) -> Answer:
    """Usage events raised since the case began."""
    return {"types": sorted({usage.value for usage, _role in Counter(usage_counts()) - stage.usage})}


def sent(stage: Stage, args: Any) -> Any:
    """Arguments with the etags that ordinals stand for."""
    if isinstance(args, list):
        return [sent(stage, item) for item in args]
    if not isinstance(args, dict):
        return args
    mapped = {name: value if name in LITERAL else sent(stage, value) for name, value in args.items()}
    key = mapped.get("scope_key", mapped.get("scopeKey"))
    if key is not None and "etag" in mapped:
        mapped["etag"] = stage.ordinals.sent(key, mapped["etag"])
    return mapped


def in_snake_case(answer: Any) -> Any:
    """Wire names as the cases spell them."""
    if isinstance(answer, list):
        return [in_snake_case(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    spelled = {to_snake(name): value for name, value in answer.items()}
    return {name: value if name in LITERAL else in_snake_case(value) for name, value in spelled.items()}


def with_keys(answer: Answer) -> Answer:
    """The keys of facts, nodes and namespaces beside the lists that hold them."""
    for name, field, plural in (
        ("facts", "scope_key", "scope_keys"),
        ("nodes", "node_key", "node_keys"),
        ("namespaces", "namespace", "namespaces"),
    ):
        items = answer.get(name)
        if isinstance(items, list) and all(isinstance(item, dict) and field in item for item in items):
            answer = {"count": len(items), **answer, "items": items, plural: [item[field] for item in items]}
    return answer


@operation("list_wakeups")
def list_wakeups(stage: Stage, _asked: Operation) -> Answer:
    ids = stage.wakeups()
    with stage.facts.db.transaction() as connection:
        found = dict(connection.execute(stage.queries.keys_of, {"ids": ids}).fetchall())
    return {"keys": [found[fact_id] for fact_id in ids]}
