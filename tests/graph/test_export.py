from __future__ import annotations

import io
import json
from itertools import pairwise

import networkx as nx
import pytest

from facts import open_fact_store
from facts.errors import InvalidArgument
from graph.export import ExportFormat
from graph.store import open_graph_store
from tests.graph.world import World, reader


@pytest.fixture
def isles(world):
    ona = world.node("Isle", "Ona \x01 \u20ac", "shared:o", "session:s2:o", aliases=["First"], namespace="corpus/n")
    rost = world.node("Isle", "Rost")
    world.edge(ona, "bridge", rost, "shared:o", confidence=0.5)
    world.edge(rost, "ferry", ona)
    world.edge(rost, "bridge", ona)
    return world


def exported(world, export_format, **more):
    out = io.BytesIO()
    counts = world.graph.export(out, export_format, **more)
    assert (counts.nodes, counts.edges) == (2, 3)
    return out


def test_networkx_holds_nodes_by_key_and_edges_by_predicate(isles):
    graph = isles.graph.to_networkx(access=reader("s1"))
    assert sorted(graph.nodes) == ["isle:ona", "isle:rost"]
    assert graph.nodes["isle:ona"]["evidence"] == ["shared:o"]
    assert sorted(graph.edges(keys=True)) == [
        ("isle:ona", "isle:rost", "bridge"), ("isle:rost", "isle:ona", "bridge"), ("isle:rost", "isle:ona", "ferry"),
    ]  # fmt: skip
    assert graph.edges["isle:ona", "isle:rost", "bridge"]["confidence"] == 0.5


def test_json_lines_hold_what_searches_show(isles):
    lines = [json.loads(line) for line in exported(isles, "jsonl", access=reader("s1")).getvalue().splitlines()]
    assert [line["type"] for line in lines] == ["node", "node", "edge", "edge", "edge"]
    assert lines[0]["nodeKey"] == "isle:ona"
    assert (lines[0]["aliases"], lines[0]["namespaces"], lines[0]["evidence"]) == (
        ["First", "Ona \x01 €"], ["corpus/n"], ["shared:o"],
    )  # fmt: skip
    assert (lines[2]["fromKey"], lines[2]["assertedBy"], lines[2]["confidence"]) == ("isle:ona", ["tester"], 0.5)


@pytest.mark.parametrize(
    ("export_format", "read"), [("graphml", nx.read_graphml), ("gexf", nx.read_gexf), ("node-link", None)]
)
def test_other_programs_read_the_same_graph_back(isles, export_format, read):
    out = exported(isles, export_format)
    out.seek(0)
    graph = nx.node_link_graph(json.load(out), edges="links") if read is None else read(out)
    assert sorted(graph.nodes) == ["isle:ona", "isle:rost"]
    assert graph.number_of_edges() == 3
    assert {data["predicate"] for _, _, data in graph.edges(data=True)} == {"bridge", "ferry"}
    expected = "Ona \x01 €" if read is None else "Ona \ufffd €"
    assert graph.nodes["isle:ona"]["name"] == expected


def test_an_export_of_more_than_a_page_is_whole(world):
    keys = [world.node("Bead", f"{number:04d}") for number in range(7)]
    for here, there in pairwise(keys):
        world.edge(here, "next", there)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graph.export.MOST_ROWS", 2)
        graph = world.graph.to_networkx()
    assert sorted(graph.nodes) == keys
    assert graph.number_of_edges() == 6


def test_an_export_of_a_namespace_holds_it_and_what_touches_it(isles):
    graph = isles.graph.to_networkx(namespace="corpus")
    assert graph.nodes["isle:ona"]["name"] == "Ona \x01 €"
    assert graph.nodes["isle:rost"] == {}
    assert graph.number_of_edges() == 3


def test_an_export_follows_the_callers_sight(database_url):
    with open_fact_store(database_url) as facts, open_graph_store(facts=facts, topology="visible") as graph:
        world = World(facts, graph)
        world.node("Isle", "Ona", "session:s2:o")
        for export_format in ExportFormat:
            out = io.BytesIO()
            assert graph.export(out, export_format, access=reader("s1")).nodes == 0
            assert b"ona" not in out.getvalue()
            assert graph.export(io.BytesIO(), export_format, access=reader("s2")).nodes == 1


def test_an_unknown_format_is_refused(world):
    with pytest.raises(InvalidArgument, match="format must be one of"):
        world.graph.export(io.BytesIO(), "pdf")
