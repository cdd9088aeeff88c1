"""Opening and ending sessions over HTTP.

Families read each other's private facts, so who may say that two sessions are one family matters: a facts-manager may;
everybody else only spawns new sessions below those that the key acts in, and ends those or what is below them.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from crawler.arguments import Arguments, parse_arguments
from crawler.rendering import to_json
from crawler.serving.house import House, body_reader
from crawler.serving.identity import Identity
from crawler.serving.keys import Binding
from crawler.serving.routes import ANSWER, RESPONSES
from crawler.serving.schemas import request_body
from facts.access import Role
from facts.errors import NotPermitted
from facts.limits import checked_session_id


class OpenSession(Arguments):
    session_id: str = Field(description="1 to 128 bytes without a colon")
    parent_session_id: str | None = Field(None, description="the session that spawned it")
    agent_id: str | None = Field(None, description="the agent that runs in it")


def session_routes(house: House, components: dict[str, Any]) -> APIRouter:
    router = APIRouter(tags=["sessions"])
    desk = _Register(house)
    body = request_body("open_session", OpenSession, components)

    @router.post(
        "/v1/sessions", operation_id="open_session", status_code=HTTPStatus.CREATED, response_class=Response,
        responses={**RESPONSES, 201: ANSWER}, openapi_extra={"requestBody": body},
    )  # fmt: skip
    async def open_session(request: Request) -> Response:
        """Make a session known, below one that this key acts in; a facts-manager also moves known ones."""
        read = await body_reader(request)

        def work(identity: Identity) -> Any:
            asked, _ = parse_arguments(OpenSession, read())
            return desk.open(identity, asked)

        return await house.answer(request, work, HTTPStatus.CREATED)

    @router.delete(
        "/v1/sessions/{session_id}", operation_id="end_session", response_class=Response,
        responses={**RESPONSES, 200: ANSWER},
    )  # fmt: skip
    async def end_session(request: Request, session_id: str) -> Response:
        """End a session: its private facts are deleted, and nothing more can be stored in it."""
        return await house.answer(request, partial(desk.end, session_id=session_id, tree=False))

    @router.post(
        "/v1/sessions/{session_id}/sweep", operation_id="sweep_session", response_class=Response,
        responses={**RESPONSES, 200: ANSWER},
    )  # fmt: skip
    async def sweep_session(request: Request, session_id: str) -> Response:
        """End a session and everything below it."""
        return await house.answer(request, partial(desk.end, session_id=session_id, tree=True))

    return router


class _Register:
    def __init__(self, house: House) -> None:
        self._house = house
        self._sessions = house.source.stores.facts.sessions

    def open(self, identity: Identity, asked: OpenSession) -> dict[str, Any]:
        if identity.key.role is Role.FACTS_MANAGER:
            made = self._sessions.register(
                asked.session_id, parent_session_id=asked.parent_session_id, agent_id=asked.agent_id
            )
            return _shown(made)
        self._require_writer(identity)
        if asked.parent_session_id is None:
            self._require_own(identity, asked.session_id, "sessionId")
        else:
            self._require_own(identity, asked.parent_session_id, "parentSessionId")
        return _shown(
            self._sessions.spawn(asked.session_id, parent_session_id=asked.parent_session_id, agent_id=asked.agent_id)
        )

    def end(self, identity: Identity, *, session_id: str, tree: bool) -> dict[str, Any]:
        checked = checked_session_id(session_id, argument="sessionId")
        if identity.key.role is not Role.FACTS_MANAGER:
            self._require_writer(identity)
            self._require_own(identity, checked, "sessionId")
        done = self._sessions.sweep_tree(checked) if tree else self._sessions.delete(checked)
        return {"sessionId": checked, "factsDeleted": done}

    def _require_writer(self, identity: Identity) -> None:
        if identity.key.role is Role.AGENT_TUNER:
            raise NotPermitted("an agent-tuner changes nothing")

    def _require_own(self, identity: Identity, session_id: str, argument: str) -> None:
        """One of the key's sessions, or one that they spawned."""
        key = identity.key
        if key.binding is not Binding.NONE and self._house.identities.binds(key, session_id):
            return
        if any(session_id in self._sessions.below(root) for root in key.session_ids):
            return
        raise NotPermitted(f"session {session_id} is not this key's", argument=argument)


def _shown(session: Any) -> dict[str, Any]:
    shown: dict[str, Any] = to_json(session)
    return shown
