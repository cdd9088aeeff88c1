"""Scope keys: `shared:<key>` or `session:<sessionId>:<key>`; a session id holds no colon, so a key may."""

from __future__ import annotations

from dataclasses import dataclass

SHARED_PREFIX = "shared:"
SESSION_PREFIX = "session:"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeKey:
    """A scope key taken apart; `session_id` is None for a shared fact."""

    key: str
    session_id: str | None

    @property
    def shared(self) -> bool:
        return self.session_id is None

    def __str__(self) -> str:
        return scope_key(self.key, self.session_id)


def scope_key(key: str, session_id: str | None) -> str:
    """The scope key of `key`, shared when there is no session."""
    return f"{SHARED_PREFIX}{key}" if session_id is None else f"{SESSION_PREFIX}{session_id}:{key}"


def parse_scope_key(text: str) -> ScopeKey | None:
    """`text` taken apart, or None when it is no scope key (a session scope without a key, for one)."""
    if text.startswith(SHARED_PREFIX):
        key = text.removeprefix(SHARED_PREFIX)
        return ScopeKey(key=key, session_id=None) if key else None
    if not text.startswith(SESSION_PREFIX):
        return None
    session_id, colon, key = text.removeprefix(SESSION_PREFIX).partition(":")
    if not (session_id and colon and key):
        return None
    return ScopeKey(key=key, session_id=session_id)
