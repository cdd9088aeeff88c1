"""The policy `exact-alias`: a harvester that ran out of work merges what is certain, once for each spell of work."""

from crawler.alias_merges import AliasMerges
from crawler.loop import Stop, run_loop
from tests.graph.world import World

TWINS = {
    "nodes": [{"kind": "person", "name": "Anna K", "aliases": ["Anna"]}, {"kind": "person", "name": "Anna"}],
    "edges": [],
}


def test_an_idle_harvester_merges_what_is_certain(stores, put, harvester, call):
    put({"a": TWINS})
    steps = AliasMerges(harvester(), stores.needed_graph())
    run_loop(steps, once=True, stop=Stop())
    assert World(stores.facts, stores.needed_graph()).keys() == ["person:anna-k"]
    [record] = call("graph_merge_suggestions", minScore=1.0)["suggestions"] or [None]
    assert record is None
    call("graph_unmerge_nodes", mergeId=1)
    put({"b": {"nodes": [{"kind": "person", "name": "Else"}], "edges": []}})
    run_loop(steps, once=True, stop=Stop())
    assert World(stores.facts, stores.needed_graph()).keys() == ["person:anna", "person:anna-k", "person:else"]


def test_suggestions_are_arguments_of_a_merge(put, harvester, call):
    put({"a": TWINS})
    harvester().drain()
    [found] = call("graph_merge_suggestions", limit=1)["suggestions"]
    assert found == {
        "fromKey": "person:anna", "intoKey": "person:anna-k", "score": 1.0,
        "reasons": ["person:anna is an alias of person:anna-k"],
    }  # fmt: skip
    merged = call("graph_merge_nodes", fromKey=found["fromKey"], intoKey=found["intoKey"], reason=found["reasons"][0])
    assert merged["intoKey"] == "person:anna-k"
    assert call("graph_merge_suggestions") == {"count": 0, "suggestions": []}
