"""Everything that can be configured, read once at the edge and frozen.

Precedence: command-line option, then environment (``HARVESTER_<NAME>``), then the ``[settings]`` table of
``harvest.toml``, then the default below. A relative path counts from the working directory.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from crawler.errors import BadSetting, complaint
from facts.access import Role
from facts.reserved import RESERVED_PREFIXES, ReservedPrefix

ENVIRONMENT_PREFIX: Final = "HARVESTER_"
CONFIG_FILE: Final = "harvest.toml"
OFF: Final = "off"
_COMMA_SEPARATED: Final = ("allowed_hosts", "allowed_origins")
_IDENTIFIER: Final = re.compile(r"[a-z_][a-z0-9_]*")
# AGE itself refuses shorter graph names.
_SHORTEST_GRAPH_NAME: Final = 3
# PostgreSQL cuts longer names silently, and two of them would then be one.
_LONGEST_IDENTIFIER: Final = 63
# A crawler's call may bring a hundred facts with thousands of edges; an agent waits for its answer.
STATEMENT_SECONDS: Final = {Role.AGENT: 10.0, Role.CRAWLER: 60.0, Role.FACTS_MANAGER: 60.0, Role.AGENT_TUNER: 30.0}
_POSTGRES_SCHEMES: Final = ("postgresql", "postgres")


class Settings(BaseModel):
    """One frozen value; `read_settings` makes it, the command line hands it on."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    database_url: str | None = Field(None, description="PostgreSQL URL of the facts; unset: the embedded server")
    graph_url: str | None = Field(None, description="PostgreSQL URL of the graph; unset: the facts URL; `off`: none")
    data_dir: Path = Field(Path(".harvester"), description="folder of the embedded server (its pgdata lies in it)")
    facts_schema: str = Field("pilotswarm_facts", description="schema of the fact store")
    graph_name: str = Field("knowledge", description="name of the AGE graph, which is its schema as well")
    registry_schema: str = Field("knowledge_registry", description="schema of the graph's own tables")
    pool_size: int = Field(4, ge=1, le=100, description="connections of one process to one database")
    checkout_seconds: float = Field(5.0, gt=0, description="how long a transaction waits for a connection")
    reserved_prefixes: tuple[ReservedPrefix, ...] = Field(
        RESERVED_PREFIXES, description="key prefixes kept for their owners, as a list of {prefix, write, read}"
    )
    max_value_bytes: int = Field(1_048_576, ge=1024, description="largest fact value, encoded")

    graph_topology: Literal["shared", "visible"] = Field(
        "shared", description="visible: nodes and edges that a caller sees no evidence of are hidden from it"
    )

    merge_policy: Literal["suggest", "exact-alias"] = Field(
        "suggest", description="exact-alias: harvesters record (undoable) merges of nodes of one kind that share a name"
    )

    batch_size: int = Field(1_000, ge=1, le=10_000, description="facts that one step claims")
    lease_seconds: float = Field(60.0, ge=1, description="how long a claimed fact is kept from others")
    max_attempts: int = Field(5, ge=1, description="attempts before a failing fact is parked")
    backoff_seconds: float = Field(5.0, ge=0, description="first wait after a failure; doubles each time")
    backoff_max_seconds: float = Field(600.0, ge=0, description="longest wait after a failure")
    poll_min_seconds: float = Field(0.2, gt=0, description="first wait of an idle harvester")
    poll_max_seconds: float = Field(5.0, gt=0, description="longest wait of an idle harvester")
    shutdown_seconds: float = Field(20.0, ge=0, description="what a stopped harvester may still spend on its batch")

    purge_schedule: str = Field("*/10 * * * *", description="when tombstones are purged, as cron in UTC; `off`: never")
    sweep_schedule: str = Field(
        "*/15 * * * *", description="when facts of sessions that are gone are buried, as cron in UTC; `off`: never"
    )
    tombstone_ttl_seconds: float = Field(21_600.0, ge=0, description="how long an unharvested tombstone is kept")
    lineage_query: str | None = Field(
        None, description="SQL for an application's own sessions: session_id, parent_session_id, deleted"
    )

    allowed_hosts: tuple[str, ...] = Field(
        ("localhost", "127.0.0.1", "[::1]"), description="Host headers that are answered, comma-separated; `*`: all"
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description="pages of other hosts that may ask, as browsers send Origin; `*`: all"
    )
    max_message_bytes: int = Field(8_388_608, ge=65_536, description="largest message that MCP takes")
    max_waiting: int = Field(256, ge=0, le=100_000, description="requests that wait for a thread; more get 503")
    request_seconds: float = Field(30.0, gt=0, description="how long a request may take, with its wait for a thread")
    body_seconds: float = Field(15.0, gt=0, description="how long the body of a request may take to arrive")
    statement_seconds: dict[Role, float] = Field(
        STATEMENT_SECONDS, description="how long one statement of a served call may take, by role, as {role: seconds}"
    )
    metrics_access: Literal["key", "open"] = Field(
        "key", description="key: /metrics asks for a key of a facts-manager or agent-tuner; open: it asks nobody"
    )
    crawl_guide: str = Field("", max_length=16_384, description="what the operator tells crawlers, in their guide")

    answer_bytes: int = Field(200_000, ge=2_000, description="size budget of one tool's answer")
    log_format: Literal["auto", "json", "console"] = Field("auto", description="auto: JSON unless a person watches")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level that is logged")

    @field_validator("reserved_prefixes", "statement_seconds", mode="before")
    @classmethod
    def _decoded(cls, value: object, info: ValidationInfo) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError as error:
            shape = (
                "list of {prefix, write, read}" if info.field_name == "reserved_prefixes" else "object {role: seconds}"
            )
            raise ValueError(f"must be a JSON {shape}") from error

    @field_validator("statement_seconds", mode="after")
    @classmethod
    def _every_role(cls, value: dict[Role, float]) -> dict[Role, float]:
        """Roles that are left out keep their default."""
        if any(not 0 < seconds < float("inf") for seconds in value.values()):
            raise ValueError("seconds must be above 0")
        return {**STATEMENT_SECONDS, **value}

    @field_validator(*_COMMA_SEPARATED, mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Both are compared in lower case."""
        if isinstance(value, str):
            value = value.split(",")
        if isinstance(value, list | tuple):
            return tuple(each.strip().lower() for each in value if isinstance(each, str) and each.strip())
        return value

    @field_validator("database_url")
    @classmethod
    def _postgres(cls, value: str | None) -> str | None:
        return _checked_url(value) if value else None

    @field_validator("graph_url")
    @classmethod
    def _postgres_or_off(cls, value: str | None) -> str | None:
        if not value or value.lower() == OFF:
            return value.lower() if value else None
        return _checked_url(value)

    @model_validator(mode="after")
    def _names_differ(self) -> Settings:
        for field in ("facts_schema", "graph_name", "registry_schema"):
            _check_identifier(field, getattr(self, field))
        if len(self.graph_name) < _SHORTEST_GRAPH_NAME:
            raise ValueError(f"graph_name needs at least {_SHORTEST_GRAPH_NAME} characters: AGE refuses shorter ones")
        if len({self.facts_schema, self.graph_name, self.registry_schema}) != 3:  # noqa: PLR2004
            raise ValueError(
                "facts_schema, graph_name and registry_schema must differ: AGE owns a schema named like the graph"
            )
        if self.poll_max_seconds < self.poll_min_seconds:
            raise ValueError("poll_max_seconds must not be below poll_min_seconds")
        return self

    def answering_as(self, host: str) -> Settings:
        """A server that listens on one address answers to it as a name; 0.0.0.0 and :: are none."""
        name = f"[{host}]" if ":" in host else host.lower()
        if name in {"0.0.0.0", "[::]", *self.allowed_hosts}:  # noqa: S104 - compared, not listened on
            return self
        return self.model_copy(update={"allowed_hosts": (*self.allowed_hosts, name)})

    @property
    def has_graph(self) -> bool:
        return self.graph_url != OFF

    @property
    def pgdata(self) -> Path:
        return self.data_dir / "pgdata"

    def __repr__(self) -> str:
        """Without passwords: a URL shows its host and database only."""
        where = "embedded" if self.database_url is None else _without_password(self.database_url)
        return f"Settings(database={where}, graph={self.graph_name}, facts={self.facts_schema})"


def read_settings(
    options: Mapping[str, Any], environment: Mapping[str, str] = os.environ, table: Mapping[str, Any] | None = None
) -> Settings:
    """Options that are None count as not given; an empty environment variable counts as unset."""
    given: dict[str, Any] = dict(table or {})
    for name in Settings.model_fields:
        value = environment.get(ENVIRONMENT_PREFIX + name.upper(), "").strip()
        if value:
            given[name] = value
    given |= {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        raise _first_complaint(error) from error


def wants_debug(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an error shows its traceback; asked when reading the settings may be what failed."""
    return "--debug" in arguments or bool(environment.get(f"{ENVIRONMENT_PREFIX}DEBUG"))


def environment_of(settings: Settings) -> dict[str, str]:
    """Variables from which `read_settings` makes these settings again, for a command that this process starts."""
    said = settings.model_dump(mode="json", exclude_none=True)
    variables = {ENVIRONMENT_PREFIX + name.upper(): _as_variable(name, value) for name, value in said.items()}
    return {name: text for name, text in variables.items() if text}


def _as_variable(name: str, value: Any) -> str:
    if name in _COMMA_SEPARATED:
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value)


def environment_for_child(**extra: str) -> dict[str, str]:
    """The environment of this process, for a command that it starts."""
    return {**os.environ, **extra}


def read_config(path: Path | None) -> dict[str, Any]:
    """``harvest.toml`` as a mapping: the file named, else the one in the working directory, else nothing."""
    chosen = path or Path(CONFIG_FILE)
    if path is None and not chosen.exists():
        return {}
    try:
        with chosen.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise BadSetting(f"cannot read {chosen}: {error.strerror}", argument="config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"{chosen} is not valid TOML: {error}", argument="config") from error


def _first_complaint(error: ValidationError) -> BadSetting:
    name, said = complaint(error)
    if name and name not in Settings.model_fields:
        said = f"there is no setting {name!r}; known: {', '.join(sorted(Settings.model_fields))}"
    elif name:
        said = f"{name} ({ENVIRONMENT_PREFIX}{name.upper()}): {said}"
    return BadSetting(said, argument=name or said.split(" ", 1)[0])


def _checked_url(value: str) -> str:
    scheme = urlsplit(value).scheme if "://" in value else ""
    if scheme not in _POSTGRES_SCHEMES:
        found = f"{scheme}://" if scheme else "no scheme"
        raise ValueError(f"Harvester needs a PostgreSQL URL (postgresql://user@host/database), this one has {found}")
    return value


def _check_identifier(field: str, value: str) -> None:
    size = len(value.encode())
    if size > _LONGEST_IDENTIFIER:
        raise ValueError(f"{field} has {size} bytes, PostgreSQL's limit is {_LONGEST_IDENTIFIER}")
    if not _IDENTIFIER.fullmatch(value):
        raise ValueError(f"{field} {value!r} must be a-z, 0-9 and underscores, not starting with a digit")
    if value.startswith("pg_") or value in {"information_schema", "ag_catalog"}:
        raise ValueError(f"{field} {value!r} belongs to PostgreSQL or AGE; choose another name")


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
