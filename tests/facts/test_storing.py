"""What a store keeps, what it versions, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts import DeleteFactInput, FactStore, StoreFactInput
from facts.access import Role, Writer
from facts.errors import Conflict, InvalidArgument, NotPermitted
from facts.uncrawled import CrawlMark

AMBER = Writer(session_id="s-amber", agent_id="potter")
BIRCH = Writer(session_id="s-birch", agent_id="miller")


def shared(key: str, value: object = 1, **fields: object) -> StoreFactInput:
    return StoreFactInput(**{"key": key, "value": value, "shared": True, **fields})


def close(store: FactStore, *scope_keys: str) -> None:
    result = store.set_crawled([CrawlMark(scope_key=key) for key in scope_keys])
    assert result.affected == len(scope_keys)


def test_a_private_fact_is_transient_and_a_shared_one_is_not(store: FactStore) -> None:
    store.store([StoreFactInput(key="k", value=1), shared("k")], AMBER)
    private, public = store.inspect("session:s-amber:k"), store.inspect("shared:k")
    assert private is not None
    assert public is not None
    assert (private.transient, private.shared, public.transient, public.shared) == (True, False, False, True)
    assert public.owner_session_id == "s-amber"


def test_equal_content_keeps_value_version_and_queue_state(store: FactStore) -> None:
    before = store.store(shared("kiln", {"ramp": 90, "hold": 1.0}), AMBER)
    close(store, "shared:kiln")
    again = store.store(shared("kiln", {"hold": 1, "ramp": 90}), AMBER)
    row = store.inspect("shared:kiln")
    assert row is not None
    assert (again.etag, again.changed, row.crawled) == (before.etag, False, True)
    assert str(row.value["hold"]) == "1.0"


def test_tags_and_writer_follow_the_last_writer_without_a_new_version(store: FactStore) -> None:
    first = store.store(shared("kiln", tags=["a"]), AMBER)
    close(store, "shared:kiln")
    before = store.inspect("shared:kiln")
    second = store.store(shared("kiln", tags=["b", "c"]), BIRCH)
    row = store.inspect("shared:kiln")
    assert before is not None
    assert row is not None
    assert second.etag == first.etag
    assert (row.tags, row.agent_id, row.session_id, row.crawled) == (("b", "c"), "miller", "s-birch", True)
    assert row.owner_session_id == "s-amber"
    assert row.updated_at > before.updated_at


def test_omitted_tags_are_empty(store: FactStore) -> None:
    store.store(shared("kiln", tags=["a"]))
    store.store(shared("kiln"))
    row = store.inspect("shared:kiln")
    assert row is not None
    assert row.tags == ()


def test_a_repeat_moves_nothing_not_even_updated_at(store: FactStore) -> None:
    store.store(shared("kiln"), AMBER)
    before = store.inspect("shared:kiln")
    assert store.store(shared("kiln"), AMBER).changed is False
    assert store.inspect("shared:kiln") == before


def test_versions_are_never_repeated_not_even_on_the_way_back(store: FactStore) -> None:
    seen = [store.store(shared("kiln", value)).etag for value in ("A", "B", "A", "B")]
    store.delete(DeleteFactInput(key="kiln", shared=True))
    deleted = store.inspect("shared:kiln")
    assert deleted is not None
    seen.append(deleted.etag)
    close(store, "shared:kiln")
    assert store.purge().purged == 1
    seen += [store.store(shared("kiln", "A")).etag]
    assert len(set(seen)) == len(seen)


def test_a_revival_is_a_new_version_with_a_new_owner(store: FactStore) -> None:
    store.store(shared("kiln"), AMBER)
    store.delete(DeleteFactInput(key="kiln", shared=True))
    close(store, "shared:kiln")
    buried = store.inspect("shared:kiln")
    store.store(shared("kiln"), BIRCH)
    row = store.inspect("shared:kiln")
    assert buried is not None
    assert row is not None
    assert (row.deleted, row.crawled, row.owner_session_id, row.value) == (False, False, "s-birch", 1)
    assert row.etag != buried.etag


def test_null_is_a_value(store: FactStore) -> None:
    store.store(shared("kiln", None))
    row = store.inspect("shared:kiln")
    assert row is not None
    assert row.value is None
    assert store.store(shared("kiln", 0)).changed


def test_a_batch_answers_in_its_own_order(store: FactStore) -> None:
    store.store(shared("m"))
    keys = ["z", "m", "a"]
    assert [each.key for each in store.store([shared(key) for key in keys])] == keys


def test_the_middle_fact_of_a_batch_is_cleaned_and_flagged(store: FactStore) -> None:
    stored = store.store([shared("a"), shared("b", {"q": "K\x00rsou"}), shared("c")])
    assert [each.cleaned for each in stored] == [False, True, False]
    row = store.inspect("shared:b")
    assert row is not None
    assert row.value == {"q": "Krsou"}


def test_nothing_of_a_bad_batch_is_stored(store: FactStore) -> None:
    with pytest.raises(InvalidArgument, match=r"facts\[1\].key"):
        store.store([shared("a"), shared("b\x00"), shared("c")])
    assert store.inspect("shared:a") is None


@pytest.mark.parametrize("value", ("\\u0000", "a\\x00b", "😀 \\ud83d", "é", "\u2028", '"\\"'))
def test_backslash_text_and_emoji_stay_as_they_are(store: FactStore, value: str) -> None:
    store.store(shared("kiln", {value: value}))
    row = store.inspect("shared:kiln")
    assert row is not None
    assert row.value == {value: value}


def test_a_deleted_session_is_refused_for_private_facts_only(store: FactStore) -> None:
    store.sessions.register("s-amber")
    store.sessions.delete("s-amber")
    with pytest.raises(Conflict, match="s-amber is deleted"):
        store.store([StoreFactInput(key="k", value=1)], AMBER)
    store.store(shared("k"), AMBER)


def test_a_foreign_intake_row_is_not_overwritten(store: FactStore) -> None:
    agent, other = replace(AMBER, role=Role.AGENT), replace(BIRCH, role=Role.AGENT)
    store.store(shared("intake/knot/1"), agent)
    with pytest.raises(NotPermitted, match="another session"):
        store.store([shared("note"), shared("intake/knot/1", 2)], other)
    with pytest.raises(NotPermitted):
        store.store(shared("intake/knot/1"), other)
    row = store.inspect("shared:intake/knot/1")
    assert row is not None
    assert (row.value, row.session_id) == (1, "s-amber")
    assert store.inspect("shared:note") is None
    store.store(shared("intake/knot/1", 3), replace(other, granted_session_ids=frozenset({"s-amber"})))
    store.store(shared("intake/knot/1", 4), Writer(session_id="fm", role=Role.FACTS_MANAGER))


def test_a_bulk_batch_is_one_statement(store: FactStore) -> None:
    stored = store.store([shared(f"bulk/{n:05}", {"n": n}) for n in range(5_000)])
    assert len({each.etag for each in stored}) == 5_000
