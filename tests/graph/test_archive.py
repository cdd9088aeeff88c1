"""A backup restored into an empty database is the same store and the same graph, and work goes on there."""

from __future__ import annotations

import importlib.util
import subprocess
import zipfile
from pathlib import Path

import pytest

from crawler.migrations import serving_migrations
from facts import open_fact_store
from facts.access import UNRESTRICTED
from facts.connections import Database
from facts.errors import Conflict, InvalidArgument, NotFound
from facts.migrations import fact_migrations, migrate
from facts.tables import fact_tables
from graph.archive import MANIFEST, back_up, restore
from graph.cypher import CypherQuery
from graph.doctor import Level, examine, mend
from graph.migrations import graph_migrations
from graph.rebuild import Place
from graph.store import open_graph_store
from tests.graph.test_rebuild import place
from tests.graph.upkeep_world import AGENT, edge, isle, rows_of, shown, stored
from tests.graph.world import World

FACTS = """SELECT id, scope_key, key, value::text, agent_id, session_id, shared, tags, created_at, updated_at, deleted_at,
           etag, last_crawled_at, owner_session_id, pinned FROM {facts}.facts"""
LEDGER = "SELECT id, scope_key, etag, fact_id, writer, extraction::text, incorporated_at FROM {registry}.source"


def exactly(world: World, facts: str = "pilotswarm_facts", registry: str = "knowledge_registry") -> list[list]:
    with world.facts.db.transaction() as conn:
        return [rows_of(conn, query.format(facts=facts, registry=registry)) for query in (FACTS, LEDGER)]


@pytest.fixture
def archive(told: World, tmp_path: Path) -> Path:
    told.store("pending", {"quote": "back\\slash\ttab \u2028 \N{WAVING HAND SIGN}"})
    told.facts.sessions.register("s2")
    path = tmp_path / "all.zip"
    back_up(place(told), path)
    return path


def test_a_backup_restored_into_an_empty_database_is_the_same(told: World, archive: Path, database_url: str) -> None:
    with open_fact_store(database_url) as facts, open_graph_store(facts=facts) as graph:
        world = World(facts, graph)
        done = restore(place(world), archive)
        assert (done.facts, done.nodes) == (6, len(shown(told)["nodes"]))
        assert exactly(world) == exactly(told)
        assert stored(world) == stored(told)
        assert shown(world) == shown(told)
        assert facts.queue_statistics() == told.facts.queue_statistics()
        assert not [each for each in examine(place(world)) if each.level is Level.FAULT]


def test_work_goes_on_after_a_restore(told: World, archive: Path, database_url: str) -> None:
    largest = max(told.facts.inspect(key).etag for key in ("shared:a", "shared:pending"))
    with open_fact_store(database_url) as facts, open_graph_store(facts=facts) as graph:
        world = World(facts, graph)
        restore(place(world), archive)
        world.harvest("a", isle("Ona"), edge("Ona", "bridge to", "Nova"))
        world.harvest("fresh", isle("Fresh"))
        assert facts.inspect("shared:a").etag > largest
        world.node("Isle", "By hand", "shared:fresh")
        world.graph.unmerge_nodes(3, AGENT)
        cypher = CypherQuery(cypher="MATCH (n:GraphNode {name: 'By hand'}) RETURN n.node_key")
        assert graph.query(cypher, UNRESTRICTED).rows == (("isle:by-hand",),)
        assert not [each for each in examine(place(world)) if each.level is Level.FAULT]


def test_an_archive_is_restored_under_other_names(told: World, archive: Path, empty_database_url: str) -> None:
    with Database.open(empty_database_url) as db:
        migrate(db, fact_migrations("memory"))
        migrate(db, graph_migrations("atlas", "atlas_own"))
        migrate(db, serving_migrations("memory"))
        restore(Place(db=db, facts=fact_tables("memory"), graph="atlas", registry="atlas_own"), archive)
    with open_fact_store(empty_database_url, schema="memory") as facts:
        graph = open_graph_store(facts=facts, graph="atlas", registry="atlas_own")
        assert shown(World(facts, graph)) == shown(told)


def test_a_database_that_holds_something_is_refused_and_left_alone(told: World, archive: Path, world: World) -> None:
    world.store("mine")
    with pytest.raises(Conflict, match=r"not empty: facts\.facts"):
        restore(place(world), archive)
    assert [fact.key for fact in world.facts.read().facts] == ["mine"]


def test_a_file_that_is_there_is_not_overwritten(told: World, archive: Path) -> None:
    before = archive.read_bytes()
    with pytest.raises(Conflict, match="there already"):
        back_up(place(told), archive)
    assert archive.read_bytes() == before
    assert [path.name for path in archive.parent.iterdir()] == ["all.zip"]


def test_damage_is_named_and_nothing_is_restored(archive: Path, world: World, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file"):
        restore(place(world), tmp_path / "none.zip")
    other = tmp_path / "other.zip"
    other.write_bytes(b"no zip")
    with pytest.raises(InvalidArgument, match="no backup"):
        restore(place(world), other)
    other.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(InvalidArgument, match="no backup"):
        restore(place(world), other)
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(other, "w") as cut:
        for name in whole.namelist():
            text = whole.read(name)
            cut.writestr(name, text[: text.index(b"\n") + 1] if name == "registry.mention.copy" else text)
    with pytest.raises(InvalidArgument, match=r"registry\.mention has 1 rows"):
        restore(place(world), other)
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(other, "w") as older:
        for name in whole.namelist():
            older.writestr(
                name, whole.read(name).replace(b'"0001_', b'"0000_') if name == MANIFEST else whole.read(name)
            )
    with pytest.raises(Conflict, match="another version"):
        restore(place(world), other)
    assert world.keys() == []


def test_a_plain_dump_and_restore_is_mended_by_the_doctor(told: World, tmp_path: Path, empty_database_url: str) -> None:
    spec = importlib.util.find_spec("pgserver")
    assert spec is not None
    assert spec.origin is not None
    programs = Path(spec.origin).parent / "pginstall" / "bin"
    dump = tmp_path / "plain.dump"
    subprocess.run([programs / "pg_dump", "-Fc", "-f", dump, told.facts.db.url], check=True)
    subprocess.run([programs / "pg_restore", "-d", empty_database_url, dump], check=True)
    count = CypherQuery(cypher="MATCH (n:GraphNode) RETURN count(n)")
    with open_fact_store(empty_database_url) as facts, open_graph_store(facts=facts) as graph:
        with pytest.raises(InvalidArgument, match="does not exist"):
            graph.query(count, UNRESTRICTED)
        restored = place(World(facts, graph))
        assert [each.check for each in examine(restored) if each.level is Level.FAULT] == ["graph_oid"]
        assert mend(restored) == ("graph_oid",)
    with open_fact_store(empty_database_url) as facts, open_graph_store(facts=facts) as graph:
        world = World(facts, graph)
        assert not [each for each in examine(place(world)) if each.level is Level.FAULT]
        assert graph.query(count, UNRESTRICTED).rows == ((len(shown(told)["nodes"]),),)
        assert stored(world) == stored(told)
