"""Documented limits, in UTF-8 bytes where they bound text; checked before SQL, so that the error names the argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from facts.errors import InvalidArgument

KEY_BYTES = 512
SESSION_ID_BYTES = 128
AGENT_ID_BYTES = 256
TAGS = 64
TAG_BYTES = 128
BATCH_FACTS = 10_000
SCOPE_KEYS_READ = 10_000
RECEIPTS = 500
QUEUE_PAGE = 500
PATTERN_BYTES = 2 * KEY_BYTES
NESTING = 200
PURGE_ROWS = 100_000
# A hundred years, which any time of the database can be moved by.
MOST_SECONDS = 3_155_760_000
BIGINT_DIGITS = 19


@dataclass(frozen=True, kw_only=True, slots=True)
class FactLimits:
    """The limits that an operator may set."""

    value_bytes: int = 1024 * 1024


def byte_length(text: str) -> int:
    """UTF-8 bytes; lone surrogates count three, as they would if they could be encoded."""
    return len(text.encode("utf-8", "surrogatepass"))


def number_in(text: str) -> int | None:
    """The whole number that a text of digits stands for, as some clients send them; None where no bigint holds it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= BIGINT_DIGITS else None


def unstorable(text: str) -> str | None:
    """Why PostgreSQL cannot hold this text, or None."""
    if "\x00" in text:
        return "holds NUL (U+0000)"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    return None


def text_fault(value: object, limit: int, *, noun: str) -> str | None:
    """What is wrong with a text of 1 to `limit` bytes, or None."""
    if not isinstance(value, str):
        return f"{noun} must be a text, not {type(value).__name__}"
    length = byte_length(value)
    if not length:
        return f"{noun} is empty"
    if length > limit:
        return f"{noun} has {length} bytes, at most {limit} are taken"
    fault = unstorable(value)
    return f"{noun} {fault}" if fault else None


def session_id_fault(value: object) -> str | None:
    """What is wrong with a session id, or None. A colon would make two scope keys one."""
    fault = text_fault(value, SESSION_ID_BYTES, noun="a session id")
    if fault is None and ":" in str(value):
        return "a session id holds no ':'"
    return fault


def checked_session_id(value: object, *, argument: str = "session_id") -> str:
    fault = session_id_fault(value)
    if fault is not None:
        raise InvalidArgument(fault, argument=argument)
    return str(value)


def checked_agent_id(value: object, *, argument: str = "agent_id") -> str:
    fault = text_fault(value, AGENT_ID_BYTES, noun="an agent id")
    if fault is not None:
        raise InvalidArgument(fault, argument=argument)
    return str(value)


def checked_text(value: object, limit: int, *, argument: str, noun: str) -> str:
    fault = text_fault(value, limit, noun=noun)
    if fault is not None:
        raise InvalidArgument(fault, argument=argument)
    return str(value)


def checked_prefix(value: object, *, argument: str = "key_prefix") -> str:
    """A literal prefix. The empty one would mean everything, which nobody says by accident."""
    return checked_text(value, KEY_BYTES, argument=argument, noun="a prefix")


def checked_count(value: Any, *, argument: str, most: int | None = None) -> int:
    """A whole number of at least 1; above `most` it is cut to it, and the reply says so by what it holds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(f"{argument} must be a whole number", argument=argument)
    if value < 1:
        raise InvalidArgument(f"{argument} must be at least 1", argument=argument)
    return value if most is None else min(value, most)


def checked_seconds(value: Any, *, argument: str) -> float:
    """A duration that is not negative, and that the database can take from a time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
        raise InvalidArgument(f"{argument} must be a number of seconds, 0 to {MOST_SECONDS}", argument=argument)
    return float(value)
