"""The MCP endpoint alone, in a process of its own; a key is the caller as JSON, so that the tests choose who calls."""

import json
import socket
import sys
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.routing import Route

from crawler.caller import Caller
from crawler.invocation import Invocation
from crawler.protocol.hosts import HostRules
from crawler.protocol.http import McpEndpoint
from crawler.protocol.source import Source
from crawler.wiring import open_stores
from facts.errors import HarvesterError


class Unauthenticated(HarvesterError):
    default_code = "unauthenticated"


def identify(headers: Headers) -> Caller:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or not key.startswith("{"):
        raise Unauthenticated("this key is not known")
    return Caller.from_json(json.loads(key))


def main(descriptor: int) -> None:
    asked = Invocation.read({}, None)
    settings = asked.settings
    with open_stores(settings) as stores:
        rules = HostRules(hosts=settings.allowed_hosts, origins=settings.allowed_origins)
        endpoint = McpEndpoint(
            Source(stores=stores, settings=settings, coverage=asked.rules.coverage()), identify, rules
        )

        @asynccontextmanager
        async def lifespan(_app):
            async with endpoint.running():
                yield

        app = Starlette(routes=[Route("/mcp", endpoint=endpoint)], lifespan=lifespan)
        config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=10)
        uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    main(int(sys.argv[1]))
