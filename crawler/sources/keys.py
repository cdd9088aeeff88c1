"""Keys of facts out of names that others chose: any text, any length."""

from __future__ import annotations

import hashlib
from typing import Final

from facts.limits import KEY_BYTES, byte_length

_DIGEST: Final = 16


def source_prefix(source: str, name: str) -> str:
    """``SOURCE/NAME/``; slashes in the name would make namespaces of their own."""
    return f"{source}/{name.strip().replace('/', '-') or 'unnamed'}/"


def bounded_key(key: str) -> str:
    """The key itself, or, where it is longer than a key may be, its beginning and a digest of all of it."""
    if byte_length(key) <= KEY_BYTES:
        return key
    raw = key.encode("utf-8", "surrogatepass")
    kept = raw[: KEY_BYTES - _DIGEST - 1].decode("utf-8", "ignore")
    return f"{kept}~{hashlib.sha256(raw).hexdigest()[:_DIGEST]}"
