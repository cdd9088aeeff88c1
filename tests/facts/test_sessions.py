"""Sessions: trees that survive cycles and deleted members, and sweeps that leave shared facts alone."""

from __future__ import annotations

from collections.abc import Collection

import psycopg
import pytest

from facts import FactStore, ReadFactsQuery, StoreFactInput, open_fact_store
from facts.access import UNRESTRICTED, Writer
from facts.errors import Conflict, InvalidArgument, NotFound
from facts.settings import FactSettings

GROVE = {"oak": None, "twig1": "oak", "twig2": "oak", "leaf1": "twig1", "leaf2": "twig2", "fir": None, "cone": "fir"}


def plant(store: FactStore, parents: dict[str, str | None]) -> None:
    for child, parent in parents.items():
        store.sessions.register(child, parent_session_id=parent)


def private(store: FactStore, *sessions: str) -> None:
    for session in sessions:
        store.store(StoreFactInput(key="k", value=1), Writer(session_id=session))


def holders(store: FactStore) -> set[str | None]:
    return {fact.session_id for fact in store.read(ReadFactsQuery(limit=99), UNRESTRICTED).facts if not fact.shared}


@pytest.mark.parametrize(
    ("session", "tree"),
    (
        ("leaf1", {"oak", "twig1", "twig2", "leaf2"}),
        ("oak", {"twig1", "twig2", "leaf1", "leaf2"}),
        ("cone", {"fir"}),
        ("stranger", set()),
    ),
)
def test_a_spawn_tree_is_the_root_and_all_below_it(store: FactStore, session: str, tree: set[str]) -> None:
    plant(store, GROVE)
    assert store.sessions.tree(session) == tree


def test_a_cycle_of_parents_ends(store: FactStore) -> None:
    plant(store, {"ying": "yang", "yang": "ying", "kid": "ying"})
    assert store.sessions.tree("ying") == {"yang", "kid"}


def test_a_deleted_ancestor_is_passed_through_and_left_out(store: FactStore) -> None:
    plant(store, {**GROVE, "leaf3": "twig1"})
    store.sessions.delete("twig1")
    assert store.sessions.tree("leaf1") == {"oak", "leaf3", "twig2", "leaf2"}


def test_a_long_chain_is_one_tree(store: FactStore) -> None:
    plant(store, {f"s{n}": f"s{n - 1}" if n else None for n in range(60)})
    assert len(store.sessions.tree("s59")) == 59


def test_a_reader_is_granted_its_tree(store: FactStore) -> None:
    plant(store, GROVE)
    private(store, "oak", "leaf2", "fir")
    found = store.read(ReadFactsQuery(), store.reader("leaf1")).facts
    assert {fact.session_id for fact in found} == {"oak", "leaf2"}


def test_a_session_moves_under_another_parent(store: FactStore) -> None:
    plant(store, GROVE)
    assert store.sessions.reparent("cone", "oak").parent_session_id == "oak"
    assert "cone" in store.sessions.tree("leaf1")
    store.sessions.reparent("cone", None)
    assert store.sessions.tree("cone") == frozenset()
    with pytest.raises(NotFound):
        store.sessions.reparent("stranger", "oak")


def test_deleting_one_session_takes_its_private_facts_only(store: FactStore) -> None:
    plant(store, GROVE)
    private(store, "twig1", "leaf1")
    store.store(StoreFactInput(key="log", value=1, shared=True), Writer(session_id="twig1"))
    assert store.sessions.delete("twig1") == 1
    assert holders(store) == {"leaf1"}
    assert store.inspect("shared:log") is not None
    session = store.sessions.get("twig1")
    assert session is not None
    assert session.deleted_at is not None
    assert store.sessions.delete("twig1") == 0


def test_a_sweep_cascades_over_descendants(store: FactStore) -> None:
    plant(store, GROVE)
    private(store, "oak", "twig1", "leaf1", "leaf2", "fir")
    assert store.sessions.sweep_tree("twig1") == 2
    assert holders(store) == {"oak", "leaf2", "fir"}
    assert store.sessions.sweep_tree("oak") == 2
    assert [each.session_id for each in store.sessions.list()] == ["cone", "fir"]
    assert len(store.sessions.list(include_deleted=True)) == 7


def test_an_unregistered_session_can_be_deleted_for_good(store: FactStore) -> None:
    private(store, "stray")
    assert store.sessions.delete("stray") == 1
    with pytest.raises(Conflict):
        private(store, "stray")
    with pytest.raises(Conflict):
        store.sessions.register("stray")


@pytest.mark.parametrize("session", ("a:b", "", "x" * 129))
def test_an_odd_session_id_is_refused(store: FactStore, session: str) -> None:
    with pytest.raises(InvalidArgument):
        store.sessions.register(session)
    with pytest.raises(InvalidArgument):
        store.sessions.register("ok", parent_session_id=session)


def test_a_session_is_not_its_own_parent(store: FactStore) -> None:
    with pytest.raises(InvalidArgument, match="own parent"):
        store.sessions.register("s", parent_session_id="s")


def test_sessions_are_listed_in_pages_by_id(store: FactStore) -> None:
    plant(store, GROVE)
    first = store.sessions.list(limit=3)
    rest = store.sessions.list(after=first[-1].session_id)
    assert [each.session_id for each in (*first, *rest)] == sorted(GROVE)


def test_an_application_brings_its_own_catalogue_as_a_query(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE app_runs (run text, spawned_by text, state text)")
        connection.execute("INSERT INTO app_runs VALUES ('r', NULL, 'up'), ('a', 'r', 'gone%'), ('b', 'a', 'up')")
    query = "SELECT run AS session_id, spawned_by AS parent_session_id, state LIKE 'gone\\%' AS deleted FROM app_runs;"
    with open_fact_store(database_url, settings=FactSettings(lineage_query=query)) as store:
        assert store.sessions.tree("b") == {"r"}
        with pytest.raises(Conflict, match="deleted"):
            private(store, "a")
        private(store, "b", "unknown")
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("UPDATE app_runs SET state = 'gone%' WHERE run = 'b'")
        assert store.sessions.sweep_gone() == 1
        assert holders(store) == {"unknown"}
        assert store.sessions.sweep_gone() == 0


class Catalogue:  # the protocol names the arguments
    """An application's catalogue that is not in the database."""

    def tree(self, conn: psycopg.Connection, session_id: str) -> frozenset[str]:  # noqa: ARG002
        return frozenset({"friend"})

    def descendants(self, conn: psycopg.Connection, session_id: str) -> frozenset[str]:  # noqa: ARG002
        return frozenset({"below"})

    def gone(self, conn: psycopg.Connection, session_ids: Collection[str]) -> frozenset[str]:  # noqa: ARG002
        return frozenset({"gone"} & set(session_ids))


def test_an_application_plugs_a_resolver_in(database_url: str) -> None:
    with open_fact_store(database_url, lineage=Catalogue()) as store:
        assert store.reader("me").granted_session_ids == {"friend"}
        private(store, "below", "top")
        assert store.sessions.sweep_tree("top") == 2


def test_a_sweep_of_gone_sessions_takes_odd_ids_of_an_adopted_table(database_url: str) -> None:
    class Odd(Catalogue):
        def gone(self, conn: psycopg.Connection, session_ids: Collection[str]) -> frozenset[str]:  # noqa: ARG002
            return frozenset(session_ids)

    with open_fact_store(database_url, lineage=Odd()) as store:
        with store.db.transaction() as conn:
            conn.execute(
                "INSERT INTO pilotswarm_facts.facts (scope_key, key, value, session_id, transient)"
                " VALUES ('session:a:b:k', 'k', '1', 'a:b', true)"
            )
        assert store.sessions.sweep_gone() == 1
        assert holders(store) == set()
