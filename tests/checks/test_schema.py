import psycopg
import pytest

from checks.schema import describe, difference


@pytest.fixture
def described(empty_database_url):
    def after(*statements: str) -> str:
        with psycopg.connect(empty_database_url) as connection:
            connection.execute("DROP SCHEMA IF EXISTS house CASCADE")
            connection.execute("CREATE SCHEMA house")
            for statement in statements:
                connection.execute(statement)
            return describe(connection, ["house"])

    return after


TABLE = "CREATE TABLE house.room (name text NOT NULL, size int DEFAULT 1)"


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE house.room ADD COLUMN colour text",
        "ALTER TABLE house.room ALTER COLUMN size TYPE bigint",
        "ALTER TABLE house.room ALTER COLUMN size SET DEFAULT 2",
        "ALTER TABLE house.room ALTER COLUMN name DROP NOT NULL",
        "ALTER TABLE house.room ADD CONSTRAINT room_size CHECK (size > 0)",
        "CREATE INDEX room_name ON house.room (name)",
        "ALTER TABLE house.room SET (fillfactor = 80)",
        "CREATE SEQUENCE house.number",
        "CREATE VIEW house.door AS SELECT name FROM house.room",
        "CREATE FUNCTION house.one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_every_kind_of_change_is_seen(described, change):
    assert described(TABLE) != described(TABLE, change)


def test_the_order_of_creation_does_not_show(described):
    other = "CREATE TABLE house.attic (name text)"
    assert described(TABLE, other) == described(other, TABLE)


def test_a_difference_names_the_line():
    assert "+  size bigint" in difference("  size integer\n", "  size bigint\n")
