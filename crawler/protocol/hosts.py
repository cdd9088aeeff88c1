"""Which Host and Origin headers are answered: a page of a stranger must not reach a server on this machine by name.

A browser that was led to a name which resolves to 127.0.0.1 sends that name as Host. A deployment behind a proxy names
its own hosts (``HARVESTER_ALLOWED_HOSTS``); a refusal says so in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers

log = structlog.get_logger()

ANY: Final = "*"
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    status: HTTPStatus
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """``hosts``: names with or without a port (without: any), or ``*``. ``origins``: further ones, as browsers send them."""

    hosts: Sequence[str] = LOOPBACK
    origins: Sequence[str] = ()

    def refusal(self, headers: Headers) -> Refusal | None:
        """Why a request is not answered; None: it is."""
        host = headers.get("host", "")
        if not self._known(host):
            log.warning("host_refused", host=host[:200], setting="HARVESTER_ALLOWED_HOSTS")
            return Refusal(status=HTTPStatus.MISDIRECTED_REQUEST, message=f"this server does not answer as {host!r}")
        origin = headers.get("origin")
        if origin is not None and not self._welcome(origin.lower(), host.lower()):
            log.warning("origin_refused", origin=origin[:200], setting="HARVESTER_ALLOWED_ORIGINS")
            return Refusal(status=HTTPStatus.FORBIDDEN, message=f"pages of {origin!r} may not ask this server")
        return None

    def _known(self, host: str) -> bool:
        wanted = host.lower()
        return ANY in self.hosts or wanted in self.hosts or without_port(wanted) in self.hosts

    def _welcome(self, origin: str, host: str) -> bool:
        """A page of this server, of another of its hosts, or one that was named."""
        page = urlsplit(origin).netloc
        own = [each for each in self.hosts if each != ANY]
        return ANY in self.origins or origin in self.origins or page == host or page in own or without_port(page) in own


def without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
