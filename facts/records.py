"""Facts as they are read: one frozen value, one place that knows the columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final


@dataclass(frozen=True, kw_only=True, slots=True)
class FactRecord:
    """One fact. `value` is decoded JSON; `etag` is opaque, compare for equality only."""

    fact_id: int
    scope_key: str
    key: str
    value: Any
    agent_id: str | None
    session_id: str | None
    shared: bool
    transient: bool
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    etag: int
    last_crawled_at: datetime | None
    owner_session_id: str | None
    pinned: bool

    @property
    def deleted(self) -> bool:
        return self.deleted_at is not None

    @property
    def crawled(self) -> bool:
        return self.last_crawled_at is not None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> FactRecord:
        """A row of the columns of `sql/reads.sql`, in their order."""
        return cls(
            fact_id=row[0], scope_key=row[1], key=row[2], value=row[3], agent_id=row[4], session_id=row[5],
            shared=row[6], transient=row[7], tags=tuple(row[8] or ()), created_at=row[9], updated_at=row[10],
            deleted_at=row[11], etag=row[12], last_crawled_at=row[13], owner_session_id=row[14], pinned=row[15],
        )  # fmt: skip


RECORD_COLUMNS: Final = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class ValuePage:
    """A slice of one large value's JSON text; `next_offset` is None on the last one."""

    scope_key: str
    offset: int
    text: str
    total: int
    next_offset: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FactPage:
    """Facts in reading order, and the cursor to go on with (None at the end)."""

    facts: tuple[FactRecord, ...]
    cursor: str | None = None
    value_page: ValuePage | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredFact:
    """What is stored after a write. `changed` False: it was there already in every respect."""

    fact_id: int
    scope_key: str
    key: str
    shared: bool
    etag: int
    cleaned: bool
    changed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DeleteResult:
    """How many facts were deleted, or would be (`dry_run`); `scope_keys` lists at most the first 500 of them."""

    deleted: int
    scope_keys: tuple[str, ...]
    dry_run: bool = False
