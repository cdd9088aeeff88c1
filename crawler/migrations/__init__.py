"""The tables of serving, beside the facts: API keys and what hangs on them. Their record is a table of its own."""

from facts.migrations import MigrationSet


def serving_migrations(schema: str = "pilotswarm_facts") -> MigrationSet:
    """The migrations of serving, in the schema of the fact store."""
    return MigrationSet(
        package="crawler.migrations", schema=schema, identifiers={"facts": schema}, record="serving_migrations"
    )
