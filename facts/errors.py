"""The error tree of the fact store, and the one table that turns driver errors into it.

HarvesterError
├── InvalidArgument   invalid_argument   the caller's input is wrong; `argument` names the part
├── NotPermitted      not_permitted      the caller may not do this
├── NotFound          not_found          what was named is not there (or not in the caller's sight)
├── Conflict          conflict           the input contradicts itself or what is stored
├── Unsupported       unsupported        this server or configuration cannot do it
├── TooLarge          too_large          beyond a documented limit
├── Busy              busy               locked or saturated; try again
└── Unavailable       unavailable        no database, or one that is not migrated
"""

from __future__ import annotations

from typing import ClassVar

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolTimeout, TooManyRequests


class HarvesterError(Exception):
    """Root of every error that this product raises on purpose; `code` is stable, the message says what to do."""

    default_code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, argument: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.message = message
        self.argument = argument

    def __repr__(self) -> str:
        return f"{type(self).__name__}(code={self.code!r}, argument={self.argument!r}, message={self.message!r})"


class InvalidArgument(HarvesterError):
    default_code = "invalid_argument"


class NotPermitted(HarvesterError):
    default_code = "not_permitted"


class NotFound(HarvesterError):
    default_code = "not_found"


class Conflict(HarvesterError):
    default_code = "conflict"


class Unsupported(HarvesterError):
    default_code = "unsupported"


class TooLarge(HarvesterError):
    default_code = "too_large"


class Busy(HarvesterError):
    default_code = "busy"


class Unavailable(HarvesterError):
    default_code = "unavailable"


# Constraint name -> (error, argument, message). The schema is the net below the pure checks, so a caller meets these
# only when two writers race or when a row was written past this library.
CONSTRAINTS: dict[str, tuple[type[HarvesterError], str | None, str]] = {
    "facts_shared_not_transient": (InvalidArgument, "shared", "a fact cannot be shared and transient at once"),
    "facts_key_length": (InvalidArgument, "key", "a key has 1 to 512 bytes"),
    "facts_scope_key_key": (Conflict, "key", "another writer created this fact meanwhile; store it again"),
    "sessions_session_id_valid": (InvalidArgument, "session_id", "a session id has 1 to 128 bytes and no ':'"),
    "sessions_not_own_parent": (InvalidArgument, "parent_session_id", "a session cannot be its own parent"),
}

# SQLSTATE class or code -> error for what no constraint explains.
_STATES: tuple[tuple[type[psycopg.Error], type[HarvesterError], str], ...] = (
    (pg.SerializationFailure, Busy, "other writers kept getting in between; try again"),
    (pg.DeadlockDetected, Busy, "other writers kept getting in between; try again"),
    (pg.LockNotAvailable, Busy, "a row that this needs is locked; try again"),
    (pg.QueryCanceled, Busy, "the statement took longer than it may; narrow it or try again"),
    (pg.UndefinedTable, Unavailable, "the database lacks a table of this version; run `harvester migrate`"),
    (pg.UndefinedColumn, Unavailable, "the database lacks a column of this version; run `harvester migrate`"),
    (pg.InvalidSchemaName, Unavailable, "the database lacks a schema of this version; run `harvester migrate`"),
    (pg.InsufficientPrivilege, NotPermitted, "the database user may not do this; grant it the right"),
    (pg.ReadOnlySqlTransaction, Unavailable, "the database is read-only (a replica?); use the primary's URL"),
    (pg.DatetimeFieldOverflow, InvalidArgument, "a time or a duration is beyond what the database takes"),
    (pg.IntervalFieldOverflow, InvalidArgument, "a duration is beyond what the database takes"),
    (pg.NumericValueOutOfRange, InvalidArgument, "a number is beyond what the database takes"),
    (PoolTimeout, Unavailable, "no database connection became free in time; is the server up?"),
    (TooManyRequests, Busy, "too many callers wait for a database connection; try again"),
    (psycopg.OperationalError, Unavailable, "the database is not reachable; check that it runs and the URL"),
    (psycopg.InterfaceError, Unavailable, "the database connection broke; try again"),
)


def domain_error(error: psycopg.Error) -> HarvesterError | None:
    """The domain error that a driver error stands for, or None for a fault of this program (it stays as it is)."""
    name = error.diag.constraint_name
    if name in CONSTRAINTS:
        kind, argument, message = CONSTRAINTS[name]
        return kind(message, argument=argument)
    for foreign, kind, message in _STATES:
        if isinstance(error, foreign):
            return kind(f"{message} ({str(error).splitlines()[0] if str(error) else foreign.__name__})")
    return None
