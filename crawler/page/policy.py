"""What a browser may do with the page, and which requests are the page's own.

Nothing inline, nothing from elsewhere, no frames, no form that goes anywhere, no string that becomes markup or code
(Trusted Types without a single policy). Bars and line widths are set by scripts on style objects, which no policy forbids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from facts.errors import NotPermitted

PAGE_HEADER: Final = "x-harvester-page"
CONTENT_POLICY: Final = "; ".join(  # noqa: FLY002 - one directive a line reads better
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
PAGE_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def require_own_page(headers: Mapping[str, str]) -> None:
    """A request that carries the cookie must come from the page itself.

    A form or a link of another site cannot send the header, and a script of another site cannot either without asking
    first, which nobody answers. Where the browser says who asks, that must be this very origin.
    """
    if PAGE_HEADER not in headers:
        raise NotPermitted(f"requests of the page carry the header {PAGE_HEADER}")
    fetched_by = headers.get("sec-fetch-site")
    if fetched_by not in (None, "same-origin"):
        raise NotPermitted("another site asked for this")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise NotPermitted("another site asked for this")
