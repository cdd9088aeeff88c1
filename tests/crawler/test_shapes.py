from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from crawler.errors import UnknownShape
from crawler.extractors.shapes import KNOWN_SHAPES_PATH, Defaults, is_known, name_shape, read_mentions
from graph.model import ABSENT, EdgeMention, NodeMention, NodeRef

ANN, BOB = NodeRef(kind="entity", name="Ann"), NodeRef(kind="entity", name="Bob")
KNOWS = EdgeMention(source=ANN, target=BOB, predicate="knows", confidence=0.8)


def read(value):
    return read_mentions(value, Defaults())


@pytest.mark.parametrize(
    "value",
    (
        {"subject": "Ann", "predicate": "knows", "object": "Bob"},
        {"source": "Ann", "type": "knows", "target": "Bob"},
        {"head": "Ann", "relation": "knows", "tail": "Bob"},
        [{"subject": "Ann", "predicate": "knows", "object": "Bob", "why": "extra fields do not matter"}],
        {"edges": [{"source": {"name": "Ann"}, "type": "knows", "target": {"name": "Bob"}}]},
    ),
)
def test_the_usual_shapes_of_a_triple_say_the_same(value):
    assert read(value) == ([], [KNOWS])


def test_a_triple_may_say_kinds_confidence_and_namespace():
    value = {
        "subject": "Ann",
        "subject_type": "person",
        "predicate": "works for",
        "object": {"kind": "firm", "name": "Acme"},
        "confidence": 1,
        "namespace": "corpus/a",
    }
    edge = EdgeMention(
        source=NodeRef(kind="person", name="Ann"),
        target=NodeRef(kind="firm", name="Acme"),
        predicate="works for",
        confidence=1.0,
        namespace="corpus/a",
    )
    assert read(value) == ([], [edge])


def test_the_canonical_shape_takes_nodes_with_aliases_and_edges_by_key_or_name():
    value = {
        "nodes": [{"kind": "Ship", "name": "Aurora", "aliases": ["Dawn"], "namespace": None, "identity": "exact"}],
        "edges": [{"from": {"kind": "Ship", "name": "Aurora"}, "to": "port:alva", "predicate": "berthed in"}],
    }
    nodes, edges = read(value)
    assert nodes == [NodeMention(kind="Ship", name="Aurora", aliases=("Dawn",), namespace=None, identity="exact")]
    assert edges[0].source == NodeRef(kind="Ship", name="Aurora")
    assert (edges[0].target, edges[0].confidence, edges[0].namespace) == ("port:alva", 0.8, ABSENT)


def test_an_edge_may_name_its_ends_by_the_ids_of_the_nodes_listed():
    value = {
        "nodes": [{"id": "n1", "type": "person", "name": "Ann"}, {"id": "Bob", "label": "person"}],
        "edges": [{"source": "n1", "target": "Bob", "type": "knows"}],
    }
    nodes, edges = read(value)
    assert [(node.kind, node.name) for node in nodes] == [("person", "Ann"), ("person", "Bob")]
    assert edges[0].source == NodeRef(kind="person", name="Ann")
    assert edges[0].target == NodeRef(kind="person", name="Bob")


@pytest.mark.parametrize(
    ("value", "shape"),
    (
        ("prose", "text"),
        (None, "null"),
        (7, "number"),
        ({}, "empty object"),
        ({"a": 1, "b": 2}, "object with a, b"),
        ({"nodes": {}}, "object with nodes"),
        ([{"subject": "a", "predicate": "b", "object": "c"}, "prose"], "text"),
        ({"nodes": [], "edges": [{"from": "a"}]}, "edge: object with from"),
        ({"nodes": [{"kind": "x"}]}, "node: object with kind"),
        ({"nodes": [{"name": "x", "aliases": "y"}]}, "node: aliases"),
        ({"subject": 1, "predicate": "b", "object": "c"}, "subject: number"),
        ({"subject": "a", "predicate": 1, "object": "c"}, "predicate: number"),
        ({"subject": "a", "predicate": "b", "object": "c", "confidence": True}, "confidence"),
        ({"subject": "a", "predicate": "b", "object": "c", "namespace": 1}, "namespace"),
        ({"nodes": [{"name": "x", "identity": "odd"}]}, "identity"),
    ),
)
def test_an_unknown_shape_is_refused_by_name(value, shape):
    with pytest.raises(UnknownShape) as caught:
        read(value)
    assert caught.value.shape == shape


def test_many_fields_are_cut_in_the_name_of_a_shape():
    assert name_shape(dict.fromkeys("abcdefgh", 1)) == "object with a, b, c, d, e, f, ..."


def test_the_database_and_the_extractor_agree_on_what_a_known_shape_is(server):
    values: list[Any] = [
        "prose",
        None,
        7,
        True,
        {},
        [],
        [[]],
        [1],
        {"nodes": []},
        {"edges": []},
        {"nodes": {}},
        {"nodes": 1, "edges": []},
        {"subject": 1, "predicate": 2, "object": 3},
        {"subject": 1, "object": 3},
        {"source": "a", "type": "b", "target": "c"},
        {"head": "a", "relation": "b", "tail": "c"},
        [{"head": "a", "relation": "b", "tail": "c"}, {"nodes": []}],
        [{"head": "a", "relation": "b", "tail": "c"}, {"x": 1}],
        [{"head": "a", "relation": "b", "tail": "c"}, "x"],
        [[{"head": "a", "relation": "b", "tail": "c"}]],
        {"subject": None, "predicate": None, "object": None},
        {"value": {"subject": 1, "predicate": 2, "object": 3}},
    ]
    with psycopg.connect(server.url) as connection:
        for value in values:
            row = connection.execute("SELECT %s::jsonb @@ %s::jsonpath", [Jsonb(value), KNOWN_SHAPES_PATH]).fetchone()
            assert (row == (True,)) == is_known(value), value
