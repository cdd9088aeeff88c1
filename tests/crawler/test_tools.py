"""The registry: who has what, how arguments are read, what answers look like."""

import json

import pytest

from crawler import fact_tools, graph_tools, registry
from crawler.answers import answer_call, error_answer
from crawler.caller import Caller
from crawler.calls import UNKNOWN_TOOL, call_counts
from crawler.registry import Desk, Need, all_tools, call_tool, capabilities, tools_for
from crawler.tools.facts import ReadFacts
from crawler.wiring import connect_stores
from facts import StoreFactInput
from facts.access import Role
from facts.errors import Conflict, HarvesterError, InvalidArgument, NotFound, NotPermitted, Unsupported
from tests.crawler.conftest import triple

AGENT, CRAWLER, MANAGER, TUNER = Role.AGENT, Role.CRAWLER, Role.FACTS_MANAGER, Role.AGENT_TUNER
WITH_GRAPH = frozenset({Need.GRAPH})
EVERYONE = {
    "store_fact": "acm",
    "delete_fact": "acm",
    "read_facts": "acmt",
    "facts_tombstone_stats": "mt",
    "facts_purge_tombstones": "m",
    "facts_force_purge": "m",
    "facts_read_uncrawled": "cm",
    "facts_set_crawled": "cm",
    "graph_incorporate": "cm",
    "graph_remove_evidence": "cm",
    "graph_search_nodes": "acmt",
    "graph_search_edges": "acmt",
    "graph_neighbourhood": "acmt",
    "graph_upsert_node": "acm",
    "graph_upsert_edge": "acm",
    "graph_merge_nodes": "acm",
    "graph_unmerge_nodes": "acm",
    "graph_delete_node": "acm",
    "graph_delete_edge": "acm",
    "graph_merge_suggestions": "acmt",
    "graph_stats": "mt",
    "graph_list_namespaces": "acmt",
    "graph_get_namespace": "acmt",
    "graph_upsert_namespace": "acm",
    "graph_query": "mt",
    "graph_archive_namespace": "cm",
    "graph_delete_namespace": "m",
}
LETTERS = {"a": AGENT, "c": CRAWLER, "m": MANAGER, "t": TUNER}


@pytest.mark.parametrize("letter", "acmt")
def test_each_role_has_its_tools(letter):
    names = {tool.name for tool in tools_for(LETTERS[letter], WITH_GRAPH)}
    assert names & set(EVERYONE) == {name for name, letters in EVERYONE.items() if letter in letters}


def test_without_a_graph_there_are_no_graph_and_queue_tools():
    names = {tool.name for tool in tools_for(MANAGER, frozenset())}
    assert names == {
        "store_fact",
        "read_facts",
        "delete_fact",
        "facts_tombstone_stats",
        "facts_purge_tombstones",
        "facts_force_purge",
    }


def test_an_agent_tuner_can_change_nothing():
    assert not any(tool.mutates for tool in tools_for(TUNER, frozenset(Need)))


def test_every_tool_says_what_it_does_and_has_a_schema_in_wire_names():
    for tool in all_tools().values():
        assert len(tool.description) > 60, tool.name
        schema = tool.input_schema()
        json.dumps(schema)
        assert not any("_" in name for name in schema.get("properties", {})), tool.name


def test_a_tool_that_is_not_for_the_role_or_not_there_is_refused(call, stores):
    with pytest.raises(NotPermitted, match="not for the role agent"):
        call("graph_stats")
    with pytest.raises(NotFound, match="there is no tool"):
        call("graph_fly")
    with pytest.raises(Unsupported, match="needs graph"):
        call_tool("graph_stats", {}, Desk(facts=stores.facts, graph_store=None, caller=Caller(role=MANAGER)))


def test_a_fact_is_stored_read_and_deleted_as_the_caller(call):
    stored = call("store_fact", key="notes/a", value={"n": 1}, tags=["x"])
    assert stored == stored | {
        "key": "notes/a",
        "shared": False,
        "scope": "session",
        "stored": True,
        "scopeKey": "session:s1:notes/a",
    }
    (fact,) = call("read_facts")["facts"]
    assert (fact["agentId"], fact["sessionId"], fact["etag"]) == ("worker", "s1", stored["etag"])
    assert call("read_facts", session="s2")["count"] == 0
    assert call("delete_fact", session="s2", key="notes/a")["deleted"] is False
    assert call("delete_fact", key="notes/a") == {"key": "notes/a", "shared": False, "deleted": True}


def test_a_batch_is_stored_whole_or_not_at_all(call):
    answer = call("store_fact", key="ignored", facts=[{"key": "a", "value": None}, {"key": "b", "value": "x\x00y"}])
    assert answer["stored"] == 2
    assert [fact.get("cleaned") for fact in answer["facts"]] == [None, True]
    with pytest.raises(InvalidArgument, match=r"facts\[1\]\.value.*facts\[2\]\.key"):
        call("store_fact", facts=[{"key": "c", "value": 1}, {"key": "d"}, {"key": "", "value": 1}])
    assert call("read_facts")["count"] == 2


def test_a_dry_run_counts_and_changes_nothing(call):
    call("store_fact", facts=[{"key": "a/1", "value": 1}, {"key": "a/2", "value": 1}])
    answer = call("delete_fact", key="a/*", pattern=True, dry_run=True)
    assert answer == answer | {"keyPattern": "a/*", "scope": "session", "deleted": 2, "dryRun": True}
    assert call("read_facts")["count"] == 2
    assert call("delete_fact", key="a/*")["deleted"] is False, "without pattern a star is a star"


def test_an_answer_keeps_to_its_budget_and_its_pages_hold_everything(call):
    call("store_fact", facts=[{"key": f"k{n}", "value": "v" * 700} for n in range(30)])
    seen, cursor = [], None
    while True:
        answer = call("read_facts", budget=8_000, cursor=cursor)
        assert len(json.dumps(answer)) < 8_500
        seen += [fact["key"] for fact in answer["facts"]]
        cursor = answer.get("cursor")
        if cursor is None:
            break
        assert answer["truncated"]
    assert sorted(seen) == sorted(f"k{n}" for n in range(30))


def test_one_value_too_large_for_an_answer_comes_in_pieces(call):
    value = {"text": "é" * 20_000}
    call("store_fact", key="big", value=value)
    answer = call("read_facts", budget=20_000)
    text, piece = "", answer["facts"][0]
    while True:
        assert piece["valueIsPiece"]
        text += piece["value"]
        if piece["piece"]["nextOffset"] is None:
            break
        answer = call(
            "read_facts", budget=20_000, scopeKeys=[piece["scopeKey"]], valueOffset=piece["piece"]["nextOffset"]
        )
        piece = answer["facts"][0]
    assert json.loads(text) == value


@pytest.mark.parametrize(
    ("key", "why"), (("shared:nowhere", "not there"), ("session:s9:secret", "another's"), ("shared:dead", "deleted"))
)
def test_evidence_that_the_caller_cannot_see_is_refused_like_evidence_that_is_not_there(call, key, why):
    call("store_fact", session="s9", key="secret", value=1)
    call("store_fact", key="dead", value=1, shared=True)
    call("delete_fact", key="dead", shared=True)
    with pytest.raises(NotFound) as caught:
        call("graph_upsert_node", kind="Ship", name="Aurora", evidence=[key])
    assert caught.value.message == f"evidence: there is no fact {key}", why
    assert caught.value.argument == "evidence"
    assert call("graph_search_nodes")["count"] == 0


def test_crawlers_cite_freely_but_no_tombstone(call):
    call("store_fact", session="s9", key="secret", value=1)
    call("store_fact", session="s9", key="dead", value=1)
    call("delete_fact", session="s9", key="dead")
    assert call("graph_upsert_node", role=CRAWLER, kind="Ship", name="Aurora", evidence=["session:s9:secret"])[
        "created"
    ]
    with pytest.raises(Conflict, match="session:s9:dead"):
        call("graph_upsert_node", role=CRAWLER, kind="Ship", name="Aurora", evidence=["session:s9:dead"])


def test_what_is_no_scope_key_is_no_evidence(call):
    with pytest.raises(InvalidArgument, match="is no scope key"):
        call("graph_upsert_node", role=CRAWLER, kind="Ship", name="Aurora", evidence=["somewhere"])


def test_incorporate_does_a_crawlers_whole_job(call):
    stored = call("store_fact", facts=[{"key": key, "value": 1, "shared": True} for key in "abc"])
    etags = {fact["key"]: fact["etag"] for fact in stored["facts"]}
    call("delete_fact", key="c", shared=True)
    (tombstone,) = (f for f in call("facts_read_uncrawled", role=CRAWLER)["facts"] if "deletedAt" in f)
    edge = {"from": {"kind": "Ship", "name": "Aurora"}, "to": "port:alva", "predicate": "berthed in"}
    facts = [
        {"scopeKey": "shared:a", "etag": etags["a"], "nodes": [{"kind": "Ship", "name": "Aurora"}], "edges": [edge]},
        {"scopeKey": "shared:b", "etag": etags["b"], "nodes": [{"kind": "", "name": "x"}], "edges": [edge | {"to": 7}]},
        {"scope_key": "shared:c", "etag": str(tombstone["etag"])},
        {"scopeKey": "shared:nowhere", "etag": 1},
    ]
    answer = call("graph_incorporate", role=CRAWLER, agent="mapper", facts=json.dumps(facts))["facts"]
    assert [one["outcome"] for one in answer] == ["acked", "rejected", "acked", "gone"]
    assert (answer[0]["nodes"], answer[0]["edges"]) == (2, 1)
    assert "edges[0].to" in answer[1]["reason"]
    again = call("graph_incorporate", role=CRAWLER, facts=facts[:1])["facts"][0]
    assert (again["outcome"], again["reason"]) == ("stale", "acknowledged")
    (found,) = call("graph_search_edges")["edges"]
    assert (found["assertedBy"], found["evidence"]) == (["mapper"], ["shared:a"])


def test_the_graph_is_read_as_the_caller(call):
    call("store_fact", key="mine", value=triple("Ann", "knows", "Bob"))
    call("graph_upsert_node", kind="Ship", name="Aurora", aliases=["Dawn"], evidence=["session:s1:mine"])
    call("graph_upsert_node", kind="Port", name="Alva")
    call("graph_upsert_edge", fromKey="ship:aurora", toKey="port:alva", predicate="berthed in", confidence=0.5)
    (node,) = call("graph_search_nodes", nameLike="DAWN")["nodes"]
    assert (node["nodeKey"], node["evidence"]) == ("ship:aurora", ["session:s1:mine"])
    (foreign,) = call("graph_search_nodes", session="s2", nameLike="dawn")["nodes"]
    assert foreign["evidence"] == []
    near = call("graph_neighbourhood", nodeKey="ship:aurora", depth=99)
    assert near["capped"] == {"depth": 5}
    assert ([n["nodeKey"] for n in near["nodes"]], near["truncated"]) == (["port:alva"], False)
    assert call("graph_neighbourhood", nodeKey="ship:nowhere")["anchor"] is None


def test_graph_answers_keep_to_their_budget(call):
    call("graph_upsert_node", kind="hub", name="hub")
    for n in range(40):
        call("graph_upsert_node", kind="leaf", name=f"leaf {n} " + "x" * 200)
        call("graph_upsert_edge", fromKey="hub:hub", toKey=f"leaf:leaf-{n}-{'x' * 200}", predicate="has")
    near = call("graph_neighbourhood", nodeKey="hub:hub", budget=10_000)
    assert near["truncated"]
    assert len(json.dumps(near)) < 10_500
    listed = {node["nodeKey"] for node in near["nodes"]}
    assert listed
    assert all(edge["toKey"] in listed for edge in near["edges"])
    first = call("graph_search_nodes", kind="leaf", budget=5_000)
    rest = call("graph_search_nodes", kind="leaf", cursor=first["cursor"])
    assert first["count"] + rest["count"] == 40


def test_a_namespace_is_registered_described_archived_and_deleted(call):
    call("graph_upsert_node", kind="Ship", name="Aurora", namespace="corpus/sea")
    made = call(
        "graph_upsert_namespace",
        namespace="corpus/sea",
        frontmatter='{"description": "Ship logs"}',
        source="logs",
        node_schema={"kinds": ["Ship"]},
    )
    assert made == made | {"found": True, "name": "corpus/sea", "source": "logs", "nodeSchema": {"kinds": ["Ship"]}}
    kept = call("graph_upsert_namespace", namespace="corpus/sea", frontmatter={"description": "Logs"}, source=None)
    assert (kept["source"], kept["nodeSchema"]) == (None, {"kinds": ["Ship"]})
    assert call("graph_archive_namespace", role=CRAWLER, namespace="corpus/sea")["archived"]
    assert [each["namespace"] for each in call("graph_list_namespaces")["namespaces"]] == ["default"]
    assert call("graph_get_namespace", namespace="nowhere") == {"found": False, "namespace": "nowhere"}
    with pytest.raises(InvalidArgument, match="confirmDestructiveDelete"):
        call("graph_delete_namespace", role=MANAGER, namespace="corpus/sea", reason="old")
    gone = call(
        "graph_delete_namespace", role=MANAGER, namespace="corpus/sea", reason="old", confirmDestructiveDelete=True
    )
    assert (gone["deleted"], gone["nodesDeleted"]) == (True, 1)


def test_stats_count_what_the_graph_and_the_queue_hold(call, harvester):
    call("store_fact", facts=[{"key": "a", "value": triple("Ann", "knows", "Bob"), "shared": True}])
    harvester().drain()
    call("store_fact", key="b", value="prose", shared=True)
    stats = call("graph_stats", role=MANAGER)
    assert (stats["nodes"], stats["edges"], stats["byPredicate"]) == (2, 1, {"know": 1})
    assert stats["queue"]["pending"] == 1


def test_cypher_is_for_those_who_may_see_everything(call):
    call("graph_upsert_node", kind="Ship", name="Aurora")
    text = "MATCH (n:GraphNode) WHERE n.node_key = $key RETURN n.name"
    answer = call("graph_query", role=TUNER, cypher=text, params='{"key": "ship:aurora"}', columns=["name"])
    assert answer == {"columns": ["name"], "rows": [["Aurora"]], "truncated": False}
    with pytest.raises(NotPermitted):
        call("graph_query", role=CRAWLER, cypher=text)
    with pytest.raises(HarvesterError):
        call("graph_query", role=MANAGER, cypher="MATCH (n) SET n.name = 'x' RETURN n")


def test_tools_for_agents_in_this_process_carry_their_caller(stores):
    caller = Caller(role=AGENT, session_id="s1", agent_id="inner")
    tools = fact_tools(stores.facts, caller)
    assert tools["store_fact"](key="a", value=1)["scopeKey"] == "session:s1:a"
    assert set(tools) == {"store_fact", "read_facts", "delete_fact"}
    over_graph = graph_tools(stores.facts, stores.graph, caller)
    assert over_graph["graph_upsert_node"](kind="Ship", name="Aurora")["nodeKey"] == "ship:aurora"
    assert "store_fact" not in over_graph


def test_an_answer_never_says_what_went_wrong_inside(stores, monkeypatch):
    def broken(*_):
        raise KeyError("postgresql://me:secret@host")

    monkeypatch.setattr(type(stores.facts), "read", broken)
    desk = Desk(facts=stores.facts, graph_store=None, caller=Caller())
    answer = answer_call("read_facts", {}, desk)
    assert answer["error"]["code"] == "internal"
    assert "secret" not in json.dumps(answer)
    assert error_answer(HarvesterError("path /x"))["code"] == "internal"


def test_a_relative_of_the_spawn_tree_is_in_sight(stores, call):
    stores.facts.sessions.register("root")
    stores.facts.sessions.register("s1", parent_session_id="root")
    stores.facts.store(
        StoreFactInput(key="a", value=1), Caller(session_id="root").writer(stores.facts, with_tree=False)
    )
    assert call("read_facts", session="s1")["count"] == 1
    assert call("read_facts", session="s2")["count"] == 0


def test_nothing_that_an_agent_tuner_is_offered_needs_to_write(database_url, settings, call):
    """Its tools work where no transaction may change anything, so there is nothing that they could change."""
    call("graph_upsert_node", kind="Ship", name="Aurora")
    call("store_fact", key="k", value=1, shared=True)
    asked = {
        "graph_neighbourhood": {"nodeKey": "ship:aurora"},
        "graph_get_namespace": {"namespace": "default"},
        "graph_query": {"cypher": "MATCH (n) RETURN n.node_key"},
    }
    frozen = f"{database_url}&options=-c%20default_transaction_read_only%3Don"
    with connect_stores(frozen, settings.model_copy(update={"database_url": frozen})) as stores:
        desk = Desk(facts=stores.facts, graph_store=stores.graph, caller=Caller(role=TUNER, session_id="t"))
        offered = tools_for(TUNER, capabilities(stores.graph))
        for one in offered:
            assert call_tool(one.name, asked.get(one.name, {}), desk), one.name
        manager = Desk(facts=stores.facts, graph_store=stores.graph, caller=Caller(role=MANAGER))
        with pytest.raises(HarvesterError, match="read-only"):
            call_tool("store_fact", {"key": "k2", "value": 1, "shared": True}, manager)
    assert len(offered) >= 9


def test_a_tool_that_changes_something_cannot_be_given_to_an_agent_tuner():
    with pytest.raises(AssertionError, match="changes nothing"):

        @registry.tool(ReadFacts, mutates=True)
        def careless(_desk, _asked):
            """Written in a hurry."""


def test_no_tool_takes_a_role_or_a_session_to_act_in():
    taken = {"role", "caller", "actingSession", "sessionId", "agentId", "unrestricted", "grantedPrefixes"}
    found = {(one.name, name) for one in all_tools().values() for name in one.input_schema().get("properties", {})}
    # These two narrow a read to what somebody wrote; they open nothing.
    assert {pair for pair in found if pair[1] in taken} == {("read_facts", "sessionId"), ("read_facts", "agentId")}


def test_calls_are_counted_by_tool_and_outcome_and_made_up_names_are_one(call):
    before = call_counts()

    def more(name: str, outcome: str) -> int:
        return call_counts().get((name, outcome), 0) - before.get((name, outcome), 0)

    call("read_facts")
    with pytest.raises(InvalidArgument):
        call("read_facts", limit=0)
    for name in ("made_up", "made_up_2"):
        with pytest.raises(NotFound):
            call(name)
    counted = [more("read_facts", "ok"), more("read_facts", "invalid_argument"), more(UNKNOWN_TOOL, "not_found")]
    assert counted == [1, 1, 2]
