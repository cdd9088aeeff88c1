"""Forward-only migrations: numbered `.sql` files, one transaction each, together with their record and checksum."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

import psycopg

from facts.errors import Conflict, Unavailable, domain_error
from facts.sqlfiles import load_queries, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from facts.connections import Database
    from facts.sqlfiles import Queries


@dataclass(frozen=True, kw_only=True, slots=True)
class MigrationSet:
    """The migration files of one package; their record is the table `record` in `schema`."""

    package: str
    schema: str
    identifiers: dict[str, str] = field(default_factory=dict)
    record: str = "harvester_migrations"

    @property
    def queries(self) -> Queries:
        return load_queries("facts", "sql/migrations", records=self.schema, record=self.record)

    def steps(self) -> list[Step]:
        """All steps in order."""
        folder = resources.files(self.package)
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
        return [
            Step(name=name.removesuffix(".sql"), text=folder.joinpath(name).read_text(encoding="utf-8"))
            for name in names
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One migration file."""

    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def fact_migrations(schema: str = "pilotswarm_facts") -> MigrationSet:
    """The migrations of the fact store in `schema`."""
    return MigrationSet(package="facts.migrations", schema=schema, identifiers={"facts": schema})


def migrate(db: Database, steps: MigrationSet) -> list[str]:
    """Apply what is missing and return the names applied; several processes may call it at once."""
    connection = db.connect(autocommit=True)
    try:
        connection.execute(steps.queries.lock_migrations, {"records": steps.schema})
        connection.execute(steps.queries.create_schema)
        connection.execute(steps.queries.create_records)
        recorded = _recorded(connection, steps)
        pending = pending_steps(steps.steps(), recorded, steps.schema)
        for step in pending:
            with connection.transaction():
                connection.execute(render(step.text, steps.identifiers))
                connection.execute(steps.queries.record_step, {"name": step.name, "checksum": step.checksum})
        return [step.name for step in pending]
    except psycopg.Error as error:
        raise domain_error(error) or error from error
    finally:
        connection.close()


def require_current(db: Database, steps: MigrationSet) -> None:
    """Refuse to go on over a database that is older or newer than this program."""
    with db.transaction() as connection:
        known = connection.execute(steps.queries.records_exist, {"records": steps.schema}).fetchone()
        recorded = _recorded(connection, steps) if known == (True,) else {}
    missing = pending_steps(steps.steps(), recorded, steps.schema)
    if missing:
        raise Unavailable(
            f"the database lacks {len(missing)} migration(s) of schema {steps.schema}"
            f" (first: {missing[0].name}); run `harvester migrate`"
        )


def pending_steps(steps: Sequence[Step], recorded: dict[str, str], schema: str) -> list[Step]:
    """The steps that are not recorded yet; a record that this program does not know or that differs is an error."""
    by_name = {step.name: step for step in steps}
    unknown = sorted(set(recorded) - set(by_name))
    if unknown:
        raise Unavailable(
            f"schema {schema} was migrated by a newer version (it knows {unknown[0]}); upgrade this program"
        )
    for name, checksum in sorted(recorded.items()):
        if by_name[name].checksum != checksum:
            raise Conflict(
                f"migration {name} of schema {schema} was applied with other content than this program holds;"
                " install the version that applied it"
            )
    return [step for step in steps if step.name not in recorded]


def _recorded(connection: Connection, steps: MigrationSet) -> dict[str, str]:
    rows = connection.execute(steps.queries.read_records).fetchall()
    return {str(name): str(checksum) for name, checksum in rows}
