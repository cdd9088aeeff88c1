import json
from typing import Any

import pytest

from crawler.ingest import Ingest, register_namespace
from crawler.sources.contract import Skipped, SourceFact, Unreadable
from crawler.sources.mcp_memory import McpMemory

LINES: list[dict[str, Any]] = [
    {"type": "relation", "from": "Kelp", "to": "Brest", "relationType": "lies in"},
    {"type": "entity", "name": "Kelp", "entityType": "boat", "observations": ["has two masts"]},
    {"type": "entity", "name": "Brest", "entityType": "port", "observations": []},
    {"type": "relation", "from": "Kelp", "to": "Nobody", "relationType": "belongs to"},
]


@pytest.fixture
def memory(tmp_path):
    def write(*lines):
        path = tmp_path / "memory.jsonl"
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return McpMemory(path)

    return write


def read(source):
    return list(source.items(lambda _: set()))


def test_a_relation_knows_the_kinds_of_its_ends_wherever_they_stand(memory):
    facts = {item.key: item.value for item in read(memory(*LINES)) if isinstance(item, SourceFact)}
    assert facts['mcp-memory/memory/relation/["Kelp", "lies in", "Brest"]'] == {
        "from": {"kind": "boat", "name": "Kelp"}, "predicate": "lies in", "to": {"kind": "port", "name": "Brest"},
    }  # fmt: skip
    assert facts["mcp-memory/memory/entity/Kelp"]["observations"] == ["has two masts"]
    assert facts['mcp-memory/memory/relation/["Kelp", "belongs to", "Nobody"]']["to"]["kind"] == "entity"


def test_lines_that_are_neither_are_named_and_the_rest_goes_on(memory):
    items = read(memory("{", "[1]", {"type": "note"}, {"type": "entity", "name": " "}, "[" * 100_000, *LINES, LINES[1]))
    bad = [item.where.rpartition(":")[2] for item in items if isinstance(item, Unreadable)]
    assert bad == ["1", "2", "3", "4", "5"]
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["said before"]
    assert sum(isinstance(item, SourceFact) for item in items) == 4


def test_the_memory_becomes_a_graph_in_a_namespace_that_says_what_it_is(memory, stores, harvester, call):
    source = memory(*LINES)
    assert Ingest(stores.facts, source).run().stored == 4
    register_namespace(stores.graph, source)
    harvester({"include": ["mcp-memory"]}).drain()
    found = call("graph_neighbourhood", nodeKey="boat:kelp")["edges"]
    assert {(edge["predicate"], edge["toKey"]) for edge in found} == {
        ("lies in", "port:brest"), ("observed", "observation:has two masts"), ("belongs to", "entity:nobody"),
    }  # fmt: skip
    spaces = call("graph_list_namespaces")["namespaces"]
    assert "observed" in next(one for one in spaces if one["namespace"] == "mcp-memory/memory")["description"]


def test_what_a_person_said_of_a_namespace_stays(memory, stores):
    source = memory(*LINES)
    register_namespace(stores.graph, source)
    kept = stores.graph.get_namespace("mcp-memory/memory")
    source.description = "Something else."
    register_namespace(stores.graph, source)
    assert stores.graph.get_namespace("mcp-memory/memory") == kept


def test_a_name_longer_than_a_key_still_has_a_key_of_its_own(memory):
    pair = [{**LINES[1], "name": "é" * 120 + end} for end in "ab"]
    relations = [{**LINES[0], "from": one["name"], "to": one["name"], "relationType": "r" * 250} for one in pair]
    keys = {item.key for item in read(memory(*pair, *relations))}
    assert len(keys) == 4
    assert all(len(key.encode()) <= 512 for key in keys)
