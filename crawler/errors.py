"""Errors of the harvester itself; what the stores refuse comes through unchanged.

HarvesterError (facts.errors)
|-- InvalidArgument
|   |-- BadSetting        an environment variable, an option or a line of harvest.toml
|   |-- BadRequest        what came over HTTP is no request that could be judged
|   |   `-- BadMedia      its body is of another type or encoding
|   `-- UnknownShape      a value that the `triples` extractor does not know, named by its fields
|-- Unauthenticated       no key, or one that does not hold
`-- Unavailable
    `-- SourceFailed      what `ingest` reads from cannot be read
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from facts.errors import HarvesterError, InvalidArgument, Unavailable

if TYPE_CHECKING:
    from pydantic import ValidationError


class BadSetting(InvalidArgument):
    """Refused before anything is opened; ``argument`` is the setting's name."""


class BadRequest(InvalidArgument):
    """Not JSON, not an object, a header twice: nothing was looked at."""


class BadMedia(BadRequest):
    """A body of another type or encoding than the one that is read."""

    default_code: ClassVar[str] = "unsupported"


class Unauthenticated(HarvesterError):
    """Unknown, expired and revoked keys are told the same."""

    default_code: ClassVar[str] = "unauthenticated"


class UnknownShape(InvalidArgument):
    """``shape`` is a short name of what was found, so that failures can be counted by it."""

    def __init__(self, shape: str, message: str) -> None:
        super().__init__(message, argument="value")
        self.shape = shape


class SourceFailed(Unavailable):
    """The message says which source and what to do about it."""


def complaint(error: ValidationError) -> tuple[str, str]:
    """Where and what: the first of pydantic's complaints. Never the input, which may hold a secret."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return ".".join(str(part) for part in first["loc"]), first["msg"].removeprefix("Value error, ")
