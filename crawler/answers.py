"""From calls to answers and from errors to what agents read: the edge that every served surface goes through."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import psycopg
import structlog

from crawler.registry import Desk, call_tool
from facts.errors import HarvesterError, domain_error

log = structlog.get_logger()


def answer_call(name: str, arguments: Any, desk: Desk) -> dict[str, Any]:
    """``{"ok": true, "result"}`` or ``{"ok": false, "error": {"code", "message", "argument"?}}``; never raises."""
    return answered(lambda: call_tool(name, arguments, desk))


def answered(work: Callable[[], Any]) -> dict[str, Any]:
    """The same for anything else that a served surface does for a caller."""
    try:
        result = work()
    except Exception as error:  # noqa: BLE001 - the server's edge: every call gets an answer
        return {"ok": False, "error": error_answer(error)}
    return {"ok": True, "result": result}


def error_answer(error: Exception) -> dict[str, Any]:
    """A fault of this program is ``internal``: the answer carries a request id and no more, the log has the rest."""
    known: Exception | None = error
    if isinstance(error, psycopg.Error):
        known = domain_error(error)
    if not isinstance(known, HarvesterError) or known.code == "internal":
        request_id = structlog.contextvars.get_contextvars().get("request_id") or secrets.token_hex(8)
        log.error("tool_failed", request_id=request_id, exc_info=error)
        return {"code": "internal", "message": f"something failed inside; the log has it under {request_id}"}
    answer: dict[str, Any] = {"code": known.code, "message": known.message}
    if known.argument is not None:
        answer["argument"] = known.argument
    return answer
