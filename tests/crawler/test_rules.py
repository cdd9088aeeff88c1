import re

import pytest

from crawler.errors import BadSetting
from crawler.rules import SHIPPED, read_rules
from facts.coverage import EVERYTHING
from tests.crawler.conftest import RESERVED, claimed, triple


def rules(**config):
    return read_rules(config, reserved_prefixes=RESERVED)


def like_to_regex(like: str) -> str:
    parts = re.findall(r"\\.|%|[^%\\]", like, re.DOTALL)
    return "".join(".*" if part == "%" else re.escape(part[-1]) for part in parts)


def test_without_a_file_known_shapes_outside_reserved_prefixes_are_covered():
    built_in = rules()
    assert [rule.name for rule in built_in.rules] == ["known-shapes"]
    assert built_in.rule_for(claimed(triple("a", "b", "c"), key="any/thing")) is built_in.rules[0]
    assert built_in.rule_for(claimed("prose")) is None
    assert built_in.rule_for(claimed(triple("a", "b", "c"), key="intake/x")) is None
    coverage = built_in.coverage()
    assert coverage.value_path is not None
    assert coverage.outside_prefixes == tuple(RESERVED)
    assert coverage.pinned_tombstones
    assert coverage.key_patterns == ()


@pytest.mark.parametrize(
    ("pattern", "key", "covered"),
    (
        ("corpus/*", "corpus/x", True),
        ("corpus/*", "corpus", False),
        ("corpus/%/y", "corpus/a/b/y", True),
        ("a_b", "a_b", True),
        ("a_b", "axb", False),
        (r"a\*b", "a*b", True),
        (r"a\*b", "axb", False),
        (r"a\%*", "a%", True),
        ("a.b", "axb", False),
        ("a*", "a\nb", True),
        ("Corpus/*", "corpus/x", False),
    ),
)
def test_key_patterns_mean_the_same_in_python_and_in_like(pattern, key, covered):
    chosen = rules(rules=[{"match": pattern, "extractor": "triples"}])
    assert (chosen.rule_for(claimed(key=key)) is not None) == covered
    likes = chosen.coverage().key_patterns
    assert any(re.fullmatch(like_to_regex(like), key, re.DOTALL) for like in likes) == covered


@pytest.mark.parametrize(
    ("key", "covered"),
    (("corpus/acme", True), ("corpus/acme/x", True), ("corpus/acme2", False), ("corpus", False)),
)
def test_a_namespace_covers_itself_and_what_lies_below(key, covered):
    chosen = rules(rules=[{"match_namespace": "/corpus/acme/", "extractor": "triples"}])
    assert (chosen.rule_for(claimed(key=key)) is not None) == covered


def test_the_first_rule_that_covers_a_fact_decides():
    chosen = rules(
        rules=[
            {"name": "narrow", "match": ["a/b/*", "c"], "extractor": "triples", "namespace": "corpus/n"},
            {"name": "wide", "match": "*", "extractor": "triples", "namespace": 2},
        ]
    )
    narrow, wide = chosen.rules
    assert chosen.rule_for(claimed(key="a/b/c")) is narrow
    assert chosen.rule_for(claimed(key="a/c")) is wide
    assert narrow.namespace_for("a/b/c") == "corpus/n"
    assert [wide.namespace_for(key) for key in ("x", "x/y", "x/y/z")] == ["x", "x/y", "x/y"]


def test_a_rules_confidence_reaches_its_extractor():
    chosen = rules(rules=[{"match": "*", "extractor": "triples", "confidence": 0.3, "options": {"kind": "thing"}}])
    said = chosen.rules[0].extractor.extract([claimed(triple("a", "b", "c"))])[0]
    assert (said.edges[0].confidence, said.edges[0].source.kind) == (0.3, "thing")


def test_acknowledging_the_unmatched_covers_everything():
    assert rules(unmatched="acknowledge").coverage() == EVERYTHING


def test_every_shipped_rule_set_can_be_included():
    assert [rule.name for rule in rules(include=list(SHIPPED)).rules] == list(SHIPPED)
    own = rules(include=["git"], rules=[{"match": "x", "extractor": "triples"}])
    assert [rule.name for rule in own.rules] == ["rules[0]", "git"]


@pytest.mark.parametrize(
    ("config", "said"),
    (
        ({"unmatched": "drop"}, "unmatched"),
        ({"include": ["gitt"]}, "include"),
        ({"rule": []}, "rule"),
        ({"rules": [{"match": "*"}]}, "extractor"),
        ({"rules": [{"extractor": "triples"}]}, "needs match"),
        ({"rules": [{"match": "*", "extractor": "nope"}]}, "there is no extractor 'nope'"),
        ({"rules": [{"match": "*", "extractor": "triples", "namespace": 0}]}, "from 1 up"),
        ({"rules": [{"match": "*", "extractor": "triples", "confidence": 2}]}, "confidence"),
        ({"rules": [{"match": "*", "extractor": "triples", "options": {"x": 1}}]}, "no option 'x'"),
    ),
)
def test_a_bad_rule_is_refused_by_name(config, said):
    with pytest.raises(BadSetting, match=re.escape(said)):
        rules(**config)
