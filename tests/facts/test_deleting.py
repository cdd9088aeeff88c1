"""Deleting: whose rows, by which pattern, and what is left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts import DeleteFactInput, FactStore, ReadFactsQuery, StoreFactInput
from facts.access import UNRESTRICTED, Role, Writer
from facts.errors import InvalidArgument, NotPermitted
from facts.uncrawled import CrawlMark

S1 = Writer(session_id="s1", agent_id="bee")
AGENT = replace(S1, role=Role.AGENT)
MANAGER = Writer(session_id="fm", role=Role.FACTS_MANAGER)
TRUSTED = Writer(unrestricted=True)


def put(store: FactStore, *keys: str, session: str | None = None, shared: bool = True) -> None:
    store.store([StoreFactInput(key=key, value=1, shared=shared) for key in keys], Writer(session_id=session))


def left(store: FactStore) -> set[str]:
    return {fact.scope_key for fact in store.read(ReadFactsQuery(limit=1_000), UNRESTRICTED).facts}


def test_a_delete_is_a_new_version_on_the_queue_that_keeps_its_value(store: FactStore) -> None:
    put(store, "crane")
    store.set_crawled([CrawlMark(scope_key="shared:crane")])
    before = store.inspect("shared:crane")
    assert store.delete(DeleteFactInput(key="crane", shared=True)).deleted == 1
    row = store.inspect("shared:crane")
    assert before is not None
    assert row is not None
    assert (row.deleted, row.crawled, row.value) == (True, False, 1)
    assert row.etag != before.etag
    assert store.delete(DeleteFactInput(key="crane", shared=True)).deleted == 0
    assert store.inspect("shared:crane") == row


def test_without_pattern_a_star_is_a_star(store: FactStore) -> None:
    put(store, "dock/a", "dock/*")
    assert store.delete(DeleteFactInput(key="dock/*", shared=True)).scope_keys == ("shared:dock/*",)


def test_a_session_pattern_takes_the_own_session_only(store: FactStore) -> None:
    put(store, "dock/a", "dock/b")
    put(store, "dock/a", "dock/c", session="s1", shared=False)
    put(store, "dock/a", session="s2", shared=False)
    assert store.delete(DeleteFactInput(key="dock/*", pattern=True), S1).deleted == 2
    assert left(store) == {"shared:dock/a", "shared:dock/b", "session:s2:dock/a"}


def test_scope_all_needs_an_unrestricted_writer_or_the_facts_manager(store: FactStore) -> None:
    put(store, "dock/a")
    put(store, "dock/a", session="s2", shared=False)
    for writer in (Writer(), S1, AGENT, replace(S1, role=Role.CRAWLER)):
        with pytest.raises(NotPermitted):
            store.delete(DeleteFactInput(key="dock/%", pattern=True, scope="all"), writer)
    assert len(left(store)) == 2
    assert store.delete(DeleteFactInput(key="dock/%", pattern=True, scope="all", dry_run=True), MANAGER).deleted == 2
    assert store.delete(DeleteFactInput(key="dock/%", pattern=True, scope="all"), MANAGER).deleted == 2


def test_scope_all_without_pattern_is_the_exact_key_everywhere(store: FactStore) -> None:
    put(store, "a%", "ab")
    put(store, "a%", session="s2", shared=False)
    assert store.delete(DeleteFactInput(key="a%", scope="all"), TRUSTED).deleted == 2
    assert left(store) == {"shared:ab"}


@pytest.mark.parametrize("pattern", ("k_1", "k%1", "\\%*", "*", "k\\_*"))
def test_a_dry_run_counts_what_a_delete_takes(store: FactStore, pattern: str) -> None:
    put(store, "k_1", "kx1", "%x", "k_2", "other")
    dry = store.delete(DeleteFactInput(key=pattern, pattern=True, scope="shared", dry_run=True))
    assert len(left(store)) == 5
    wet = store.delete(DeleteFactInput(key=pattern, pattern=True, scope="shared"))
    assert dry.scope_keys == wet.scope_keys
    assert len(left(store)) == 5 - wet.deleted


def test_an_agent_deletes_shared_facts_that_its_tree_owns(store: FactStore) -> None:
    put(store, "mine", session="s1")
    put(store, "kin", session="s3")
    put(store, "theirs", session="s2")
    family = replace(AGENT, granted_session_ids=frozenset({"s3"}))
    assert store.delete(DeleteFactInput(key="mine", shared=True), family).deleted == 1
    assert store.delete(DeleteFactInput(key="kin", shared=True), family).deleted == 1
    with pytest.raises(NotPermitted):
        store.delete(DeleteFactInput(key="theirs", shared=True), family)
    assert store.delete(DeleteFactInput(key="theirs", shared=True), MANAGER).deleted == 1


def test_overwriting_does_not_make_an_owner(store: FactStore) -> None:
    put(store, "theirs", session="s2")
    store.store(StoreFactInput(key="theirs", value=2, shared=True), AGENT)
    with pytest.raises(NotPermitted):
        store.delete(DeleteFactInput(key="theirs", shared=True), AGENT)


def test_foreign_rows_under_a_pattern_are_left_and_not_counted(store: FactStore) -> None:
    put(store, "rope/a", session="s1")
    put(store, "rope/b", session="s2")
    assert store.delete(DeleteFactInput(key="rope/*", pattern=True, shared=True), AGENT).deleted == 1
    assert left(store) == {"shared:rope/b"}


def test_a_crawler_deletes_below_its_explicit_grants(store: FactStore) -> None:
    put(store, "corpus/a", "rope/a", session="s2")
    crawler = replace(S1, role=Role.CRAWLER, granted_prefixes=("corpus/",))
    assert store.delete(DeleteFactInput(key="corpus/*", pattern=True, shared=True), crawler).deleted == 1
    with pytest.raises(NotPermitted):
        store.delete(DeleteFactInput(key="rope/a", shared=True), crawler)


@pytest.mark.parametrize("pattern", ("s*", "*", "skills/*", "%kills/knot", "config/*", "memory/x"))
def test_a_shared_pattern_that_could_reach_a_reserved_prefix_is_refused_whole(store: FactStore, pattern: str) -> None:
    put(store, "skills/knot", "rope")
    with pytest.raises(NotPermitted, match="narrow the pattern"):
        store.delete(DeleteFactInput(key=pattern, pattern=True, scope="shared"), AGENT)


def test_a_pattern_that_only_looks_reserved_matches_nothing(store: FactStore) -> None:
    put(store, "skills/knot", session="s1")
    assert store.delete(DeleteFactInput(key="\\skills/*", pattern=True, scope="shared"), AGENT).deleted == 0


def test_a_reserved_key_is_refused_exactly_too(store: FactStore) -> None:
    put(store, "skills/knot", session="s1")
    with pytest.raises(NotPermitted):
        store.delete(DeleteFactInput(key="skills/knot", shared=True), AGENT)
    assert store.delete(DeleteFactInput(key="skills/knot", shared=True), MANAGER).deleted == 1


def test_a_hidden_intake_row_is_answered_as_absent(store: FactStore) -> None:
    put(store, "intake/x", session="s2")
    assert store.delete(DeleteFactInput(key="intake/x", shared=True), AGENT).deleted == 0
    assert store.delete(DeleteFactInput(key="intake/*", pattern=True, shared=True), AGENT).deleted == 0
    assert left(store) == {"shared:intake/x"}


def test_the_lanes_rows_survive_the_facts_managers_patterns(store: FactStore) -> None:
    put(store, "memory/x", "rope")
    assert store.delete(DeleteFactInput(key="*", pattern=True, shared=True), MANAGER).deleted == 1
    assert left(store) == {"shared:memory/x"}


def test_the_agent_tuner_deletes_nothing(store: FactStore) -> None:
    with pytest.raises(NotPermitted):
        store.delete(DeleteFactInput(key="k"), Writer(session_id="tu", role=Role.AGENT_TUNER, unrestricted=True))


@pytest.mark.parametrize(
    ("request_", "writer", "argument"),
    (
        (DeleteFactInput(key="k"), Writer(), "scope"),
        (DeleteFactInput(key="", shared=True), S1, "key"),
        (DeleteFactInput(key="k", scope="none"), S1, "scope"),
        (DeleteFactInput(key="a\x00", shared=True), S1, "key"),
    ),
)
def test_a_bad_delete_names_its_argument(store: FactStore, request_, writer, argument: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        store.delete(request_, writer)
    assert raised.value.argument == argument


def test_session_facts_go_and_shared_ones_stay(store: FactStore) -> None:
    put(store, "a", "b", session="s1", shared=False)
    put(store, "log", session="s1")
    assert store.delete_session_facts("s1") == 2
    assert store.delete_session_facts("s1") == 0
    assert left(store) == {"shared:log"}
    put(store, "a", session="s1", shared=False)
