"""`harvester call`: one tool call, or a stream of them in one process."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crawler.invocation import invocation
from crawler.output import emit_json
from facts.access import Role

if TYPE_CHECKING:
    from crawler.caller import Caller
    from crawler.wiring import Stores
    from facts.coverage import Coverage


def add(app: typer.Typer) -> None:
    app.command("call")(call)


def call(
    context: typer.Context,
    tool: Annotated[str | None, typer.Argument(help="Wire name of the tool; none: list the tools.")] = None,
    arguments: Annotated[str | None, typer.Argument(metavar="[JSON]", help="Its arguments; - reads stdin.")] = None,
    role: Annotated[Role, typer.Option(help="On whose behalf.")] = Role.AGENT,
    session: Annotated[str | None, typer.Option(help="The caller's session.")] = None,
    agent: Annotated[str | None, typer.Option(help="The caller's agent id.")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="A call a line on stdin, an answer a line on stdout.")] = False,
) -> int:
    """Call a tool as an agent would; the answer is one JSON object."""
    from crawler.caller import Caller
    from crawler.logs import configure_logs
    from crawler.wiring import open_stores

    asked = invocation(context)
    caller = Caller.checked(role=role, session_id=session, agent_id=agent)
    if not jsonl and "log_level" not in asked.settings.model_fields_set:
        # For a person at a terminal the answer is enough.
        configure_logs(style=asked.settings.log_format, level="warning")
    with open_stores(asked.settings, create=True) as stores:
        if jsonl:
            _answer_lines(Line(stores, caller, asked.settings.answer_bytes, asked.rules.coverage()))
            return 0
        if tool is None:
            _list_tools(stores, caller)
            return 0
        text = sys.stdin.read() if arguments == "-" else arguments or "{}"
        line = Line(stores, caller, asked.settings.answer_bytes, asked.rules.coverage())
        answer = line.answer({"tool": tool, "args": _decoded(text)})
    if answer["ok"]:
        emit_json(answer["result"])
        return 0
    sys.stderr.write(f"harvester: {answer['error']['code']}: {answer['error']['message']}\n")
    return 1


def _list_tools(stores: Stores, caller: Caller) -> None:
    from crawler.registry import capabilities, tools_for

    for each in tools_for(caller.role, capabilities(stores.graph)):
        emit_json({"name": each.name, "description": each.description, "inputSchema": each.input_schema()})


def _answer_lines(line: Line) -> None:
    for text in sys.stdin.buffer:
        if text.strip():
            emit_json(line.answer(text))


@dataclass(frozen=True, slots=True)
class Line:
    """What answers calls: ``default`` is the caller of a call that names none."""

    stores: Stores
    default: Caller
    budget: int
    coverage: Coverage

    def answer(self, line: bytes | dict[str, Any]) -> dict[str, Any]:
        """``{"ok": true, "result"}`` or ``{"ok": false, "error"}``."""
        from crawler.answers import answer_call, error_answer
        from crawler.caller import Caller
        from crawler.registry import Desk
        from facts.errors import HarvesterError, InvalidArgument

        try:
            asked = line if isinstance(line, dict) else _decoded(line)
            if not isinstance(asked, dict) or not isinstance(asked.get("tool"), str):
                raise InvalidArgument('a call is {"tool", "args"?, "caller"?}', argument="tool")
            caller = Caller.from_json(asked["caller"]) if asked.get("caller") is not None else self.default
        except HarvesterError as error:
            return {"ok": False, "error": error_answer(error)}
        desk = Desk(
            facts=self.stores.facts,
            graph_store=self.stores.graph,
            caller=caller,
            budget=self.budget,
            coverage=self.coverage,
        )
        return answer_call(asked["tool"], asked.get("args") if asked.get("args") is not None else {}, desk)


def _decoded(text: str | bytes) -> Any:
    from facts.errors import InvalidArgument

    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"not valid JSON: {error}", argument="args") from error
