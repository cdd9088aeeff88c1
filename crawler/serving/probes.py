"""Health, readiness and metrics. Alive is not ready: a restart does not bring a database back.

`/metrics` tells how much is stored and used, so it is for those who may see statistics (facts-manager, agent-tuner), with
a key as a bearer token, which Prometheus can send; ``HARVESTER_METRICS_ACCESS=open`` opens it where the network guards it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CollectorRegistry

from crawler.metrics import CONTENT_TYPE, REGISTRY, QueueGauges, exposition
from crawler.registry import OVERSEERS
from crawler.serving.errors import json_answer
from crawler.serving.house import House
from crawler.serving.identity import Credential
from crawler.serving.limits import Threads
from crawler.serving.routes import RESPONSES
from facts.errors import NotPermitted

_STATE: dict[str, Any] = {"content": {"application/json": {"schema": {"type": "object"}}}}


def probe_routes(house: House) -> APIRouter:
    router = APIRouter(tags=["operation"])
    # Whoever watches gets a thread of its own: a busy server is still ready, and still counted.
    watcher = Threads(1)
    gauges = CollectorRegistry()
    gauges.register(QueueGauges(house.queue))

    @router.get("/healthz", response_class=Response, responses={200: _STATE | {"description": "The process answers"}})
    async def healthz() -> Response:
        """Whether the process answers; says nothing of the database."""
        return json_answer({"status": "ok"})

    @router.get(
        "/readyz",
        response_class=Response,
        responses={200: _STATE | {"description": "Ready"}, 503: RESPONSES[503]},
    )
    async def readyz() -> Response:
        """Whether requests can be served: the database is there and of this version, and nobody asked to stop."""
        await watcher.run(house.require_ready)
        return json_answer({"status": "ready"})

    @router.get(
        "/metrics",
        response_class=Response,
        responses={
            HTTPStatus.OK.value: {"description": "Prometheus text format", "content": {"text/plain": {}}},
            **{status: RESPONSES[status] for status in (400, 401, 403, 503)},
        },
    )
    async def metrics(request: Request) -> Response:
        """Counters and gauges in the format of Prometheus; for facts-manager and agent-tuner, unless it is open."""
        asks = house.source.settings.metrics_access == "key"
        credential = Credential.of(request.headers)

        def told() -> bytes:
            if asks and house.identities.of(credential).key.role not in OVERSEERS:
                raise NotPermitted("metrics are for the roles facts-manager and agent-tuner")
            return exposition(REGISTRY, gauges)

        return Response(await watcher.run(told), media_type=CONTENT_TYPE)

    return router
