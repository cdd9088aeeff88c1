"""Cursors: opaque to callers, a checked list of integers and texts to us."""

from __future__ import annotations

import base64
import binascii
import json

from facts.errors import InvalidArgument


def encode_cursor(kind: str, *position: int) -> str:
    """A cursor of one kind of walk."""
    return base64.urlsafe_b64encode(json.dumps([kind, *position]).encode()).decode().rstrip("=")


def decode_cursor(cursor: object, kind: str, length: int) -> tuple[int, ...]:
    """The position in a cursor that encode_cursor made for the same kind of walk."""
    try:
        text = str(cursor)
        decoded = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        raise _foreign() from None
    if not isinstance(decoded, list) or len(decoded) != length + 1 or decoded[0] != kind:
        raise _foreign()
    position = decoded[1:]
    if not all(type(each) is int and 0 <= each < 2**63 for each in position):
        raise _foreign()
    return tuple(position)


def _foreign() -> InvalidArgument:
    return InvalidArgument("this cursor is not from this walk; pass the cursor of the last answer", argument="cursor")
