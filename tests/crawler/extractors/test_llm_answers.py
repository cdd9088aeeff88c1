"""What a model may answer, and what is refused."""

import pytest

from crawler.extractors.contract import Extraction, Failure
from crawler.extractors.llm_answers import SHAPE
from graph.model import ABSENT
from tests.crawler.extractors.asking import GRAPH, ask
from tests.crawler.extractors.model_server import EMPTY, raw, saying


def test_what_an_injected_answer_claims_for_itself_is_not_taken(model, extractor):
    node = {"kind": "person", "name": "Ada"}
    certain = {**GRAPH["edges"][0], "confidence": 1}
    model.script = [
        saying({"nodes": [{**node, "namespace": "skills"}], "edges": []}),
        saying({"nodes": [{**node, "namespace": None}], "edges": [certain]}),
        saying({"nodes": [node], "edges": [{"from": "person:eve", "to": node, "predicate": "is"}]}),
        saying({"nodes": [{"kind": "admin", "name": "Eve"}], "edges": []}),
    ]
    one, two, three, four = (ask(extractor(kinds=["person", "city"], confidence=0.4), str(n)) for n in range(4))
    assert one.label == "llm: namespace"
    assert (two.nodes[0].namespace, two.edges[0].confidence) == (ABSENT, 0.4)
    assert (three.label, four.label) == ("llm: end without kind", "llm: kind")


@pytest.mark.parametrize(
    ("content", "nodes", "edges"),
    [
        (EMPTY, 0, 0),
        ("[]", 0, 0),
        ({"nodes": []}, 0, 0),
        ("```json\n" + SHAPE + "\n```", 1, 1),
        ("\n```\n" + SHAPE + "\n```  ", 1, 1),
        ({"subject": "Ada", "predicate": "knows", "object": "Bob"}, 0, 1),
        ([{"head": "Ada", "relation": "knows", "tail": "Bob"}] * 2, 0, 2),
    ],
)
def test_accepted_shapes(model, extractor, content, nodes, edges):
    model.script = [saying(content)]
    said = ask(extractor(structured=False))
    assert isinstance(said, Extraction), said
    assert (len(said.nodes), len(said.edges)) == (nodes, edges)


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (saying("Ada lives in Turin, as far as I can see."), "prose"),
        (saying("Here you are:\n```json\n" + SHAPE + "\n```"), "prose"),
        (saying(SHAPE[:40]), "broken JSON"),
        (saying("```json\n" + SHAPE[:40]), "broken JSON"),
        (saying(SHAPE + SHAPE), "broken JSON"),
        (saying("[" * 100_000), "broken JSON"),
        (saying(SHAPE.replace("0.9", "NaN")), "broken JSON"),
        (saying(SHAPE.replace("0.9", "90")), "confidence"),
        (saying(SHAPE[:40], finish="length"), "truncated"),
        (saying("null"), "prose"),
        (saying({}), "unknown shape: empty object"),
        (saying({"entities": [], "relations": []}), "unknown shape: object with entities, relations"),
        (saying({"nodes": [{"title": "Ada"}], "edges": []}), "unknown shape: node: object with title"),
        (saying({"nodes": [], "edges": [{"a": 1}]}), "unknown shape: edge: object with a"),
        (saying(None), "no text"),
        (saying(" "), "no text"),
        (saying(None, refusal="I would rather not"), "declined"),
        (saying("", finish="content_filter"), "declined"),
        (raw(b'{"choices": []}'), "no completion"),
        (raw(b"<html>hello</html>"), "no completion"),
        (raw(b"[1]"), "no completion"),
        (raw(b" " * (4 * 1024 * 1024 + 1)), "too long"),
    ],
)
def test_every_other_answer_is_refused_by_name_and_is_never_empty(model, extractor, answer, label):
    model.script = [answer]
    said = ask(extractor())
    assert isinstance(said, Failure), said
    assert said.label == f"llm: {label}"
    assert len(model.seen) == 1, "it was paid for once"
