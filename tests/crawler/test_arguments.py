"""How the arguments of tools are read: what is accepted in more than one spelling, and what is refused by name."""

import pytest

from crawler.arguments import parse_arguments
from crawler.caller import Caller
from crawler.tools.facts import ReadFacts, StoreFact
from facts.access import Role
from facts.errors import InvalidArgument

CRAWLER, MANAGER = Role.CRAWLER, Role.FACTS_MANAGER


def test_both_spellings_and_lists_as_json_text_are_accepted():
    for arguments in ({"scope_keys": ["a"]}, {"scopeKeys": ["a"]}, {"scopeKeys": '["a"]'}):
        assert parse_arguments(ReadFacts, arguments)[0].scope_keys == ["a"]
    read, _ = parse_arguments(StoreFact, {"facts": '[{"key": "k", "value": "[1]"}]'})
    assert [(fact.key, fact.value) for fact in read.facts or ()] == [("k", "[1]")], "a value that is text stays text"


@pytest.mark.parametrize(
    ("arguments", "argument"),
    (
        ({"limit": 0}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": float("inf")}, "limit"),
        ({"scopeKeys": "a"}, "scopeKeys"),
        ({"scopeKeys": '{"a": 1}'}, "scopeKeys"),
        ({"scopeKeys": [1]}, "scopeKeys.0"),
        ({"keyPatern": "x"}, "keyPatern"),
        ({"unrestricted": True}, "unrestricted"),
        ({"valueOffset": -1}, "valueOffset"),
    ),
)
def test_a_bad_argument_is_named(arguments, argument):
    with pytest.raises(InvalidArgument) as caught:
        parse_arguments(ReadFacts, arguments)
    assert caught.value.argument == argument


def test_a_number_above_its_cap_is_cut_and_the_answer_says_so(call):
    answer = call("facts_read_uncrawled", role=CRAWLER, limit=900)
    assert answer["capped"] == {"limit": 500}
    assert "capped" not in call("facts_read_uncrawled", role=CRAWLER, limit=500)


@pytest.mark.parametrize(
    ("facts", "argument"),
    (([], "facts"), ([{}], "facts[0].scopeKey"), ([{"scopeKey": "shared:a"}], "facts[0].etag"), (["x"], "facts[0]")),
)
def test_incorporate_must_know_which_fact_it_is_about(call, facts, argument):
    with pytest.raises(InvalidArgument) as caught:
        call("graph_incorporate", role=CRAWLER, facts=facts)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    (
        ("facts_set_crawled", {"scopeKeys": [{"scopeKey": 7}]}, "scope_keys[0]"),
        ("facts_set_crawled", {"scopeKeys": [{"scopeKey": ["shared:a"]}]}, "scope_keys[0]"),
        ("facts_set_crawled", {"scopeKeys": [{"scopeKey": "shared:a", "etag": "9" * 5_000}]}, "scope_keys[0].etag"),
        ("graph_incorporate", {"facts": [{"scopeKey": "shared:a", "etag": "9" * 5_000}]}, "facts[0].etag"),
        ("graph_incorporate", {"facts": [{"scopeKey": "shared:\0", "etag": 1}]}, "facts[0].scopeKey"),
        ("graph_incorporate", {"facts": [{"scopeKey": "shared:\ud800", "etag": 1}]}, "facts[0].scopeKey"),
        ("graph_incorporate", {"facts": [{"scopeKey": "shared:a", "etag": 1}], "model": "\0"}, "model"),
        ("facts_tombstone_stats", {"ttlSeconds": 1e18}, "ttlSeconds"),
        ("facts_purge_tombstones", {"ttlSeconds": 1e308}, "ttlSeconds"),
        ("graph_search_edges", {"minConfidence": True}, "minConfidence"),
    ),
)
def test_an_argument_that_cannot_be_is_named(call, tool, arguments, argument):
    with pytest.raises(InvalidArgument) as caught:
        call(tool, role=MANAGER, **arguments)
    assert caught.value.argument == argument


def test_the_namespace_of_an_edge_that_is_known_is_judged_as_well(call):
    for name in ("Aurora", "Alva"):
        call("graph_upsert_node", kind="Ship", name=name)
    ends = {"fromKey": "ship:aurora", "toKey": "ship:alva", "predicate": "follows"}
    call("graph_upsert_edge", **ends)
    with pytest.raises(InvalidArgument) as caught:
        call("graph_upsert_edge", **ends, namespace=[7])
    assert caught.value.argument == "namespace"


def test_a_detail_of_a_namespace_too_deep_to_be_shown_is_not_stored(call):
    deep: object = 1
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(InvalidArgument) as caught:
        call("graph_upsert_namespace", namespace="x", frontmatter={"description": "d"}, nodeSchema=deep)
    assert caught.value.argument == "nodeSchema"
    assert not call("graph_get_namespace", namespace="x")["found"]


@pytest.mark.parametrize(
    ("given", "argument"),
    (
        ({"role": "root"}, "role"),
        ({"sessionId": "a:b"}, "session_id"),
        ({"unrestricted": True}, "caller.unrestricted"),
        ("me", "caller"),
    ),
)
def test_a_bad_caller_is_refused(given, argument):
    with pytest.raises(InvalidArgument) as caught:
        Caller.from_json(given)
    assert caught.value.argument == argument


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_text_that_no_database_holds_is_refused_by_name_wherever_it_stands(call, text):
    for name, arguments, argument in (
        ("graph_search_nodes", {"nameLike": text}, "nameLike"),
        ("graph_list_namespaces", {"prefix": text}, "prefix"),
        ("graph_upsert_namespace", {"namespace": "n", "frontmatter": {"description": text}}, "frontmatter.description"),
        ("read_facts", {"scopeKeys": ["shared:k", text]}, "scopeKeys.1"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            call(name, **arguments)
        assert caught.value.argument == argument
