"""API keys: ``hv_`` and 256 random bits, shown once; the database keeps the SHA-256 and a preview.

The look-up goes by digest through a unique index, and the digests are compared once more in constant time. An attacker
chooses keys, not digests, so the time of the index says nothing about a key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from psycopg.types.json import Jsonb

from crawler.migrations import serving_migrations
from facts.access import Role
from facts.connections import Database
from facts.errors import InvalidArgument, NotFound
from facts.limits import checked_agent_id, checked_prefix, checked_session_id, text_fault
from facts.migrations import require_current
from facts.sqlfiles import Queries, load_queries

PREFIX: Final = "hv_"
_RANDOM_BYTES: Final = 32
_TOKEN_LENGTH: Final = len(PREFIX) + 43
_PREVIEW_LENGTH: Final = len(PREFIX) + 6
_LABEL_BYTES: Final = 128
_USED_EVERY: Final = timedelta(minutes=5)


class Binding(StrEnum):
    """Which sessions a key may act in."""

    NONE = "none"
    SESSION = "session"
    TREE = "tree"
    SET = "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """What a new key is for. ``more``: what lanes that are not part of this program's core keep with a key."""

    role: Role
    binding: Binding = Binding.NONE
    session_ids: tuple[str, ...] = ()
    agent_id: str | None = None
    granted_prefixes: tuple[str, ...] = ()
    label: str | None = None
    expires_at: datetime | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it is stored."""

    key_id: int
    digest: bytes = field(repr=False)
    preview: str
    label: str | None
    role: Role
    agent_id: str | None
    binding: Binding
    session_ids: tuple[str, ...]
    granted_prefixes: tuple[str, ...]
    more: Mapping[str, Any]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> ApiKey:
        return cls(
            key_id=row[0], digest=bytes(row[1]), preview=row[2], label=row[3], role=Role(row[4]), agent_id=row[5],
            binding=Binding(row[6]), session_ids=tuple(row[7]), granted_prefixes=tuple(row[8]), more=row[9],
            created_at=row[10], expires_at=row[11], last_used_at=row[12], revoked_at=row[13],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """``token`` is shown to whoever made the key, and never again."""

    token: str = field(repr=False)
    key: ApiKey


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one fact store's database."""

    db: Database
    schema: str

    @property
    def _queries(self) -> Queries:
        return load_queries("crawler.serving", "sql/keys", facts=self.schema)

    def create(self, asked: KeyRequest) -> NewKey:
        """A new key. :raises InvalidArgument: what it is bound to does not fit its binding or role."""
        checked, keys = checked_request(asked), self._queries
        token = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        values = {
            "digest": digest_of(token), "preview": token[:_PREVIEW_LENGTH], "label": checked.label,
            "role": checked.role.value, "agent_id": checked.agent_id, "binding": checked.binding.value,
            "session_ids": list(checked.session_ids), "granted_prefixes": list(checked.granted_prefixes),
            "more": Jsonb(dict(checked.more)), "expires_at": checked.expires_at,
        }  # fmt: skip
        with self.db.transaction() as connection:
            row = connection.execute(keys.create_key, values).fetchone()
        if row is None:
            raise AssertionError("an insert that returns gave no row")
        return NewKey(token=token, key=ApiKey.from_row(row))

    def find(self, token: str) -> ApiKey | None:
        """Whose key this is; None: unknown, expired or revoked, which nobody is told apart."""
        if not is_token(token):
            return None
        keys, digest = self._queries, digest_of(token)
        row = self.db.run(lambda conn: conn.execute(keys.find_key, {"digest": digest}).fetchone())
        found = None if row is None else ApiKey.from_row(row)
        if found is None or not hmac.compare_digest(found.digest, digest):
            return None
        return self._noted(found)

    def find_by_id(self, key_id: int) -> ApiKey | None:
        """The key that a browser signed in with, if it still holds."""
        keys = self._queries
        row = self.db.run(lambda conn: conn.execute(keys.find_key_by_id, {"id": key_id}).fetchone())
        return None if row is None else self._noted(ApiKey.from_row(row))

    def list(self, *, include_over: bool = False) -> tuple[ApiKey, ...]:
        keys = self._queries
        rows = self.db.run(lambda conn: conn.execute(keys.list_keys, {"include_over": include_over}).fetchall())
        return tuple(ApiKey.from_row(row) for row in rows)

    def revoke(self, key_id: int) -> ApiKey:
        """From now on nobody comes in with it. :raises NotFound: there is no such key."""
        keys = self._queries
        row = self.db.run(lambda conn: conn.execute(keys.revoke_key, {"id": key_id}).fetchone())
        if row is None:
            raise NotFound(f"there is no key {key_id}; `harvester keys list` shows them", argument="key_id")
        return ApiKey.from_row(row)

    def any(self) -> bool:
        """Whether there is a key that holds."""
        keys = self._queries
        return self.db.run(lambda conn: conn.execute(keys.any_keys).fetchone()) == (True,)

    def _noted(self, key: ApiKey) -> ApiKey:
        """Last use is kept to five minutes, so that reading does not write."""
        keys = self._queries
        if key.last_used_at is None or datetime.now(UTC) - key.last_used_at > _USED_EVERY:
            self.db.run(lambda conn: conn.execute(keys.note_key_used, {"id": key.key_id}))
        return key


def open_keys(db: Database, schema: str) -> Keys:
    """:raises Unavailable: the database has no such table yet; run `harvester migrate`."""
    require_current(db, serving_migrations(schema))
    return Keys(db, schema)


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def is_token(text: str) -> bool:
    """Whether it could be a key at all; anything else never reaches the database."""
    return len(text) == _TOKEN_LENGTH and text.startswith(PREFIX) and text.isascii() and text.isprintable()


def checked_request(asked: KeyRequest) -> KeyRequest:
    """The request, each part checked. Raises InvalidArgument that names the part."""
    sessions = tuple(dict.fromkeys(checked_session_id(each, argument="sessions") for each in asked.session_ids))
    single = asked.binding in {Binding.SESSION, Binding.TREE}
    if (asked.binding is Binding.NONE) != (not sessions) or (single and len(sessions) != 1):
        raise InvalidArgument(f"binding {asked.binding} does not go with {len(sessions)} sessions", argument="binding")
    if asked.granted_prefixes and asked.role is not Role.CRAWLER:
        raise InvalidArgument("only a crawler's key is granted prefixes", argument="granted_prefixes")
    if asked.label is not None and (fault := text_fault(asked.label, _LABEL_BYTES, noun="a label")):
        raise InvalidArgument(fault, argument="label")
    if asked.expires_at is not None and asked.expires_at <= datetime.now(UTC):
        raise InvalidArgument("the key would be over before it is used", argument="expires_at")
    return KeyRequest(
        role=asked.role,
        binding=asked.binding,
        session_ids=sessions,
        agent_id=None if asked.agent_id is None else checked_agent_id(asked.agent_id),
        granted_prefixes=tuple(checked_prefix(each, argument="granted_prefixes") for each in asked.granted_prefixes),
        label=asked.label,
        expires_at=asked.expires_at,
        more=asked.more,
    )
