"""From errors to HTTP: one table from the code of an answer to its status, and the headers that go with some."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from crawler.answers import error_answer
from crawler.errors import BadMedia, BadRequest
from facts.errors import HarvesterError

STATUS: Final[Mapping[str, HTTPStatus]] = {
    "invalid_argument": HTTPStatus.UNPROCESSABLE_ENTITY,
    "unsupported": HTTPStatus.UNPROCESSABLE_ENTITY,
    "unauthenticated": HTTPStatus.UNAUTHORIZED,
    "not_permitted": HTTPStatus.FORBIDDEN,
    "not_found": HTTPStatus.NOT_FOUND,
    "conflict": HTTPStatus.CONFLICT,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "internal": HTTPStatus.INTERNAL_SERVER_ERROR,
}
_CODES: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "unsupported",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "unsupported",
}
RETRY_SECONDS: Final = 1


class ErrorAnswer(BaseModel):
    """What every refusal holds."""

    code: str = Field(description="stable: invalid_argument, unauthenticated, not_permitted, not_found, conflict, "
                                  "unsupported, too_large, busy, unavailable, internal")  # fmt: skip
    message: str = Field(description="what to do next")
    argument: str | None = Field(None, description="the argument that is at fault")


def json_bytes(value: Any) -> bytes:
    """A lone surrogate, as JSON escapes may carry it, has no UTF-8; it goes out as the escape that came in."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def json_answer(value: Any, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(value), status_code=status, media_type="application/json", headers=headers)


def refusal(answer: Mapping[str, Any], status: int | None = None) -> Response:
    """An error's answer as a response; ``status`` where the code alone does not say it."""
    chosen = HTTPStatus(status if status is not None else STATUS[answer["code"]])
    return json_answer(answer, chosen, _headers(chosen))


def _headers(status: HTTPStatus) -> dict[str, str]:
    if status is HTTPStatus.UNAUTHORIZED:
        return {"www-authenticate": 'Bearer realm="harvester"'}
    return {"retry-after": str(RETRY_SECONDS)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}


def add_error_handlers(app: FastAPI) -> None:
    """Errors that we raise on purpose, those of the framework, and faults of ours; none shows more than its message."""
    app.add_exception_handler(HarvesterError, _refused)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(Exception, _refused)


async def _refused(_request: Request, error: Exception) -> Response:
    answer = error_answer(error)
    if isinstance(error, BadMedia):
        return refusal(answer, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    return refusal(answer, HTTPStatus.BAD_REQUEST if isinstance(error, BadRequest) else None)


async def _framework(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise TypeError("registered for HTTPException alone") from error
    code = _CODES.get(error.status_code, "invalid_argument")
    response = refusal({"code": code, "message": str(error.detail)}, error.status_code)
    response.headers.update(error.headers or {})
    return response
