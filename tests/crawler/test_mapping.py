import pytest

from crawler.errors import BadSetting
from crawler.extractors.contract import Extraction, Failure
from crawler.extractors.mapping import MappingExtractor
from graph.model import EdgeMention, NodeMention, NodeRef
from tests.crawler.conftest import claimed

NODE = {"kind": "package", "name": "value.name"}
EDGE = {"from": NODE, "to": {"kind": "package", "name": "item.name"}, "each": "value.requires", "predicate": "needs"}


def extract(options, value, key="k"):
    return MappingExtractor({"confidence": 0.9, **options}).extract([claimed(value, key=key)])[0]


def test_expressions_see_the_key_the_value_the_tags_and_the_item():
    options = {"nodes": [{"kind": "x", "name": "join('|', [key, value.a, tags[0], item])", "each": "value.items"}]}
    said = extract(options, {"a": "A", "items": ["i", "j"]}, key="some/key")
    assert [node.name for node in said.nodes] == ["some/key|A|t1|i", "some/key|A|t1|j"]


def test_each_item_of_a_list_gives_an_edge_with_the_rules_confidence():
    said = extract({"edges": [EDGE]}, {"name": "a", "requires": [{"name": "b"}, {"name": "c"}]})
    source = NodeRef(kind="package", name="a")
    assert said == Extraction(
        nodes=[],
        edges=[
            EdgeMention(source=source, target=NodeRef(kind="package", name=name), predicate="needs", confidence=0.9)
            for name in ("b", "c")
        ],
    )


def test_a_list_of_names_gives_a_node_each_and_an_edge_for_each_pair():
    options = {
        "nodes": [{"kind": "person", "name": "value.authors", "aliases": "value.nicks", "identity": "exact"}],
        "edges": [
            {
                "from": {"kind": "person", "name": "value.authors"},
                "to": {"kind_from": "value.kind", "name": "value.title"},
                "predicate_from": "value.verb",
                "confidence": "value.certainty",
            }
        ],
    }
    value = {"authors": ["Ann", "Bob"], "nicks": ["A"], "kind": "book", "title": 1984, "verb": "wrote", "certainty": 1}
    said = extract(options, value)
    assert said.nodes == [
        NodeMention(kind="person", name=name, aliases=("A",), identity="exact") for name in ("Ann", "Bob")
    ]
    assert [(edge.source.name, edge.target.name, edge.confidence) for edge in said.edges] == [
        ("Ann", "1984", 1.0),
        ("Bob", "1984", 1.0),
    ]


def test_what_is_not_there_says_nothing():
    assert extract({"nodes": [NODE], "edges": [EDGE]}, {"other": 1}) == Extraction(nodes=[], edges=[])
    assert extract({"nodes": [NODE], "edges": [EDGE]}, "prose") == Extraction(nodes=[], edges=[])


def test_when_filters_items():
    options = {"nodes": [{"kind": "x", "name": "item.n", "each": "value", "when": "item.ok"}]}
    said = extract(options, [{"n": "yes", "ok": True}, {"n": "no", "ok": False}])
    assert [node.name for node in said.nodes] == ["yes"]


@pytest.mark.parametrize(
    ("options", "value"),
    (
        ({"nodes": [NODE]}, {"name": {"deep": 1}}),
        ({"nodes": [NODE]}, {"name": True}),
        (
            {"edges": [{"from": NODE, "to": NODE, "predicate": "p", "confidence": "value.c"}]},
            {"name": "a", "c": "high"},
        ),
        ({"nodes": [{"kind": "x", "name": "join('/', value)"}]}, 7),
    ),
)
def test_a_value_that_does_not_fit_fails_its_fact_only(options, value):
    results = MappingExtractor(options).extract([claimed({"name": "fine", "c": 1}), claimed(value)])
    assert isinstance(results[1], Failure)


@pytest.mark.parametrize(
    ("options", "said"),
    (
        ({}, "at least one entry"),
        ({"nodes": [{"kind": "x", "name": "value.["}]}, r"nodes\[0\].name is not valid JMESPath"),
        ({"nodes": [{"kind": "x"}]}, "nodes.0.name"),
        ({"nodes": [{"name": "key"}]}, "give either"),
        ({"nodes": [{"kind": "x", "kind_from": "y", "name": "key"}]}, "give either"),
        ({"edges": [{"from": NODE, "to": NODE, "predicat": "x"}]}, "edges.0.predicat"),
        ({"node": []}, "node"),
    ),
)
def test_a_bad_mapping_is_refused_before_anything_runs(options, said):
    with pytest.raises(BadSetting, match=said):
        MappingExtractor(options)
