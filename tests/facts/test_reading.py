"""Reads: scopes, filters, order, cursors, and that nobody sees what is not theirs."""

from __future__ import annotations

import pytest

from facts import AccessContext, DeleteFactInput, FactStore, ReadFactsQuery, StoreFactInput
from facts.access import EVERY_KEY, UNRESTRICTED, Writer
from facts.errors import InvalidArgument, NotFound, NotPermitted
from facts.statistics import NamespaceCount
from facts.uncrawled import CrawlMark, SkipReason

AMBER = AccessContext(reader_session_id="s-amber")
FAMILY = AccessContext(reader_session_id="s-amber", granted_session_ids=frozenset({"s-birch"}))
CRAWLER = AccessContext(reader_session_id="s-crawl", granted_prefixes=EVERY_KEY)


@pytest.fixture(autouse=True)
def tides(store: FactStore) -> None:
    for session, agent, key, shared, tags in (
        ("s-amber", "pilot", "tide/am", False, ["tide", "am"]),
        ("s-birch", "pilot", "tide/pm", False, ["tide", "pm"]),
        ("s-cedar", "clerk", "tide/own", False, []),
        ("s-birch", "clerk", "tide/chart", True, ["tide"]),
        ("s-amber", "keeper", "lamp/colour", True, ["lamp"]),
    ):
        store.store(
            StoreFactInput(key=key, value=key, shared=shared, tags=tags), Writer(session_id=session, agent_id=agent)
        )


def keys(store: FactStore, access: AccessContext, **query: object) -> list[str]:
    return [fact.scope_key for fact in store.read(ReadFactsQuery(**query), access).facts]


AM, PM, OWN = "session:s-amber:tide/am", "session:s-birch:tide/pm", "session:s-cedar:tide/own"
CHART, COLOUR = "shared:tide/chart", "shared:lamp/colour"


@pytest.mark.parametrize(
    ("access", "query", "expected"),
    (
        (AMBER, {}, [COLOUR, CHART, AM]),
        (FAMILY, {}, [COLOUR, CHART, PM, AM]),
        (FAMILY, {"scope": "descendants"}, [COLOUR, CHART, PM, AM]),
        (FAMILY, {"scope": "session"}, [AM]),
        (FAMILY, {"scope": "shared"}, [COLOUR, CHART]),
        (AccessContext(), {}, [COLOUR, CHART]),
        (AccessContext(), {"scope": "session"}, []),
        (AccessContext(reader_session_id="stranger"), {}, [COLOUR, CHART]),
        (UNRESTRICTED, {}, [COLOUR, CHART, OWN, PM, AM]),
        (UNRESTRICTED, {"scope": "shared"}, [COLOUR, CHART]),
        (UNRESTRICTED, {"scope": "session"}, []),
        (CRAWLER, {}, [COLOUR, CHART]),
        (CRAWLER, {"scope": "all"}, [COLOUR, CHART, OWN, PM, AM]),
        (AccessContext(granted_prefixes=("tide/",)), {"scope": "all"}, [COLOUR, CHART, OWN, PM, AM]),
        (AccessContext(granted_prefixes=("lamp/",)), {"scope": "all"}, [COLOUR, CHART]),
        (FAMILY, {"session_id": "s-birch"}, [CHART, PM]),
        (FAMILY, {"agent_id": "pilot"}, [PM, AM]),
        (AMBER, {"session_id": "s-cedar"}, []),
        (UNRESTRICTED, {"tags": ["tide", "pm"]}, [PM]),
        (UNRESTRICTED, {"key_pattern": "tide/*m"}, [PM, AM]),
        (AMBER, {"key_pattern": "tide/*", "scope": "shared", "tags": ["tide"]}, [CHART]),
        (AMBER, {"scope_keys": [AM, OWN, CHART, "shared:nope", "nonsense", "a\x00"]}, [CHART, AM]),
        (AMBER, {"scope_keys": [AM, AM]}, [AM]),
        (AMBER, {"scope_keys": [AM, CHART], "scope": "session"}, [AM]),
        (AMBER, {"scope_keys": [AM, CHART], "scope": "shared"}, [CHART]),
        (UNRESTRICTED, {"scope_keys": []}, []),
        (UNRESTRICTED, {"scope_keys": [OWN, CHART], "scope": "session"}, []),
        (CRAWLER, {"scope_keys": [OWN, CHART]}, [CHART]),
        (CRAWLER, {"scope_keys": [OWN, CHART], "scope": "all"}, [CHART, OWN]),
    ),
)
def test_a_reader_sees_its_scope_and_nothing_else(store: FactStore, access, query, expected) -> None:
    assert keys(store, access, **query) == expected


def test_scope_all_is_not_for_agents(store: FactStore) -> None:
    with pytest.raises(NotPermitted):
        keys(store, FAMILY, scope="all")


@pytest.mark.parametrize(
    ("query", "argument"),
    (
        ({"scope": "everything"}, "scope"),
        ({"limit": 0}, "limit"),
        ({"limit": 2.5}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"tags": "tide"}, "tags"),
        ({"scope_keys": AM}, "scope_keys"),
        ({"key_pattern": "a\x00"}, "key_pattern"),
        ({"session_id": "a:b"}, "session_id"),
        ({"value_offset": -1, "scope_keys": [AM]}, "value_offset"),
        ({"value_offset": 0}, "value_offset"),
    ),
)
def test_a_bad_query_names_its_argument(store: FactStore, query, argument: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        keys(store, FAMILY, **query)
    assert raised.value.argument == argument


def test_tombstones_are_out_of_sight(store: FactStore) -> None:
    store.delete(DeleteFactInput(key="lamp/colour", shared=True))
    assert keys(store, UNRESTRICTED, scope_keys=[COLOUR, CHART]) == [CHART]
    assert COLOUR not in keys(store, UNRESTRICTED)


def test_a_walk_by_cursor_yields_every_item_once(store: FactStore) -> None:
    store.store([StoreFactInput(key=f"page/{n}", value=n, shared=True) for n in range(25)])
    store.store([StoreFactInput(key=f"page/{n}", value=n) for n in range(25)], Writer(session_id="s-amber"))
    seen: list[str] = []
    cursor = None
    while True:
        page = store.read(ReadFactsQuery(limit=7, cursor=cursor), AMBER)
        seen += [fact.scope_key for fact in page.facts]
        # What is stored meanwhile is newer than the walk.
        store.store(StoreFactInput(key=f"later/{len(seen)}", value=1, shared=True))
        cursor = page.cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 53
    assert not any("later/" in key for key in seen)


def test_the_last_page_has_no_cursor(store: FactStore) -> None:
    assert store.read(ReadFactsQuery(limit=3), AMBER).cursor is None
    assert store.read(ReadFactsQuery(limit=2), AMBER).cursor is not None


def test_scope_keys_are_answered_beyond_the_default_limit(store: FactStore) -> None:
    stored = store.store([StoreFactInput(key=f"many/{n}", value=n, shared=True) for n in range(120)])
    assert len(keys(store, AMBER, scope_keys=[fact.scope_key for fact in stored])) == 120


def test_one_large_value_is_read_in_pages(store: FactStore) -> None:
    store.store(StoreFactInput(key="big", value={"text": "é" * 1000}, shared=True))
    text = ""
    offset: int | None = 0
    while offset is not None:
        page = store.read(
            ReadFactsQuery(scope_keys=["shared:big"], value_offset=offset, value_length=300), AMBER
        ).value_page
        assert page is not None
        text += page.text
        offset = page.next_offset
    assert text == '{"text":"' + "é" * 1000 + '"}'
    with pytest.raises(NotFound):
        store.read(ReadFactsQuery(scope_keys=[OWN], value_offset=0), AMBER)


@pytest.mark.parametrize("session", ("prod_db", "a%", "a\\", "*"))
def test_a_session_id_is_no_pattern(store: FactStore, session: str) -> None:
    for name in (session, "prodXdb", "ab", "a\\\\", "other"):
        store.store(StoreFactInput(key="k", value=name), Writer(session_id=name))
    access = AccessContext(reader_session_id=session)
    assert keys(store, access, scope="session") == [f"session:{session}:k"]
    assert keys(store, access, key_pattern="k") == [f"session:{session}:k"]


@pytest.mark.parametrize("prefix", ("a%b/", "a_b/", "a\\b/", "a*b/"))
def test_a_key_prefix_is_literal_everywhere(store: FactStore, prefix: str) -> None:
    odd = ["a%b/1", "axb/1", "a_b/1", "a\\b/1", "a*b/1", "a\\%b/1"]
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in odd])
    assert [each.fact.key for each in store.read_uncrawled(key_prefix=prefix).facts] == [prefix + "1"]
    assert store.set_crawled(key_prefix=prefix).affected == 1
    assert store.read_uncrawled(key_prefix=prefix).facts == ()


# --- reserved prefixes


@pytest.fixture
def reserved(store: FactStore) -> None:
    for key, session, shared in (
        ("config/facts-manager/ttl", "fm", True),
        ("intake/knot/s9", "s9", True),
        ("intake/private", "s9", False),
        ("skills/knot", "fm", True),
    ):
        store.store(StoreFactInput(key=key, value=1, shared=shared), Writer(session_id=session))


@pytest.mark.usefixtures("reserved")
@pytest.mark.parametrize(
    ("access", "scope", "seen"),
    (
        (AMBER, "shared", {"skills/knot"}),
        (AccessContext(reader_session_id="s9"), "shared", {"skills/knot", "intake/knot/s9"}),
        (
            AccessContext(reader_session_id="s8", granted_session_ids=frozenset({"s9"})),
            "accessible",
            {"skills/knot", "intake/knot/s9", "intake/private"},
        ),
        (CRAWLER, "all", {"skills/knot"}),
        (AccessContext(granted_prefixes=("intake/",)), "all", {"skills/knot", "intake/knot/s9", "intake/private"}),
        (UNRESTRICTED, "shared", {"skills/knot", "intake/knot/s9", "config/facts-manager/ttl"}),
    ),
)
def test_reserved_prefixes_are_read_by_their_readers_only(store: FactStore, access, scope: str, seen: set[str]) -> None:
    found = {fact.key for fact in store.read(ReadFactsQuery(scope=scope, limit=99), access).facts}
    assert {key for key in found if not key.startswith(("tide", "lamp"))} == seen


def test_reserved_rows_do_not_use_up_the_limit(store: FactStore) -> None:
    store.store([StoreFactInput(key=f"intake/flood/{n}", value=n, shared=True) for n in range(60)])
    assert keys(store, AMBER, scope="shared", limit=2) == [COLOUR, CHART]


@pytest.mark.usefixtures("reserved")
@pytest.mark.parametrize(
    ("access", "scope_key", "expected"),
    (
        (AMBER, "shared:no/such", True),
        (AMBER, "session:s-amber:no/such", True),
        (AMBER, "session:s-amber", False),
        (AMBER, "session:s-birch:x", False),
        (AMBER, "nonsense", False),
        (AMBER, "shared:intake/knot/s9", False),
        (AMBER, "shared:intake/no/such", False),
        (AMBER, "shared:config/facts-manager/ttl", False),
        (AccessContext(reader_session_id="s9"), "shared:intake/knot/s9", True),
        (CRAWLER, "session:s-birch:x", True),
        (CRAWLER, "shared:intake/knot/s9", False),
        (AccessContext(granted_prefixes=("corpus/",)).at_work(), "shared:tide/chart", False),
        (AccessContext(granted_prefixes=("tide/",)).at_work(), "shared:tide/chart", True),
        (UNRESTRICTED, "shared:intake/knot/s9", True),
    ),
)
def test_scope_keys_are_readable_by_the_same_rule(store: FactStore, access, scope_key: str, expected: bool) -> None:
    assert store.readable([scope_key, "shared:tide/chart"], access) >= ({scope_key} if expected else set())
    assert (scope_key in store.readable([scope_key], access)) is expected


def test_the_queue_of_a_granted_crawler_ends_at_its_grant(store: FactStore) -> None:
    access = AccessContext(granted_prefixes=("tide/",))
    assert {each.fact.key for each in store.read_uncrawled(access).facts} == {
        "tide/am",
        "tide/pm",
        "tide/own",
        "tide/chart",
    }
    result = store.set_crawled([CrawlMark(scope_key=COLOUR), CrawlMark(scope_key=CHART)], access=access)
    assert (result.affected, [skip.reason for skip in result.skipped_keys]) == (1, [SkipReason.GONE])
    assert store.set_crawled(key_prefix="lamp/", access=access).affected == 0


@pytest.mark.parametrize("access", (AccessContext(reader_session_id="s-x"), AccessContext()))
def test_no_read_shows_a_strangers_canary(store: FactStore, access: AccessContext) -> None:
    """Field report H01: value, key and count of a private fact stay hidden on every read operation."""
    store.store(StoreFactInput(key="canary-key", value="canary-value"), Writer(session_id="s-own"))
    scope_key = "session:s-own:canary-key"
    answers = [
        store.read(ReadFactsQuery(limit=99), access),
        store.read(ReadFactsQuery(key_pattern="canary*"), access),
        store.read(ReadFactsQuery(scope_keys=[scope_key]), access),
        store.read(ReadFactsQuery(session_id="s-own"), access),
        store.readable([scope_key], access),
        store.statistics("session", ["s-own"], access),
    ]
    assert "canary" not in repr(answers)
    assert store.statistics("session", ["s-own"], access) == ()


def test_statistics_count_live_facts_by_first_segment(store: FactStore) -> None:
    one = Writer(session_id="s1")
    for key in ("skills/x", "notes/1", "notes/2", "notes/gone"):
        store.store(StoreFactInput(key=key, value=1), one)
    store.store(StoreFactInput(key="intake/t", value=1), Writer(session_id="s2"))
    store.delete(DeleteFactInput(key="notes/gone"), one)
    expected = (NamespaceCount(namespace="(other)", fact_count=2), NamespaceCount(namespace="skills", fact_count=1))
    assert store.statistics("session", ["s1"]) == expected
    assert [row.namespace for row in store.statistics("sessions", ["s1", "s2"])] == ["(other)", "intake", "skills"]
    assert store.statistics("shared")[0].fact_count == 2
    with pytest.raises(InvalidArgument):
        store.statistics("session", [])
