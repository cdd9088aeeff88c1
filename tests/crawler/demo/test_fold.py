import pytest

from crawler.demo.fold import Belief, Change, Knowledge, fold
from crawler.rules import read_rules
from facts.receipts import ClaimedFact

EDGE = ("person:ada", "know", "person:grace")
RULES = read_rules({"rules": [{"match": "*", "extractor": "triples"}]}, reserved_prefixes=())


def fact(key: str, *confidences: float) -> ClaimedFact:
    edges = [
        {
            "from": {"kind": "person", "name": "Ada"},
            "to": {"kind": "person", "name": "Grace"},
            "predicate": "knows",
            "confidence": c,
        }
        for c in confidences
    ]
    return ClaimedFact(
        fact_id=0, scope_key=f"shared:{key}", key=key, value={"nodes": [], "edges": edges}, etag=1, deleted=False,
        session_id=None, agent_id=None, shared=True, tags=(), attempts=0,
    )  # fmt: skip


def test_no_facts_say_nothing():
    assert fold([], RULES) == Knowledge(nodes=frozenset(), edges={})


def test_two_facts_that_say_the_same_are_believed_more():
    known = fold([fact("a", 0.5), fact("b", 0.6)], RULES)
    assert known.edges[EDGE].agrees(Belief(confidence=0.8, evidence=frozenset({"shared:a", "shared:b"})))
    assert known.nodes == {"person:ada", "person:grace"}


def test_one_fact_counts_once_at_its_strongest():
    assert fold([fact("a", 0.5, 0.7, 0.6)], RULES).edges[EDGE].confidence == pytest.approx(0.7)


def test_a_difference_in_evidence_alone_is_a_difference():
    one, other = fold([fact("a", 0.5)], RULES), fold([fact("b", 0.5)], RULES)
    assert len(one.differences(other)) == 1
    assert one.differences(one) == []


def test_what_went_and_what_weakened_is_told_apart():
    before, after = fold([fact("a", 0.5), fact("b", 0.6)], RULES), fold([fact("a", 0.5)], RULES)
    assert Change.between(before, after) == Change(changed=frozenset({EDGE}))
    assert Change.between(after, fold([], RULES)) == Change(gone=frozenset({EDGE}))
