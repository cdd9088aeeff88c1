import subprocess
import sys

import pytest

from crawler.errors import BadSetting
from crawler.extractors.contract import Extraction, Failure
from crawler.extractors.text import TextExtractor
from crawler.rules import read_rules
from facts import StoreFactInput
from tests.crawler.conftest import claimed
from tests.crawler.extractors.quality import MODEL, measure


@pytest.fixture(scope="module")
def extractor():
    return TextExtractor({"model": MODEL, "confidence": 0.8})


def said(extractor, text):
    (answer,) = extractor.extract([claimed({"text": text})])
    return {(edge.source.name, edge.predicate, edge.target.name): edge.confidence for edge in answer.edges}


def test_precision_and_recall_on_labelled_sentences_stay_above_a_floor():
    quality = measure()
    assert quality.sentences >= 40
    assert quality.precision >= 0.85
    assert quality.recall >= 0.7


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("Maria Keller founded Northwind Labs.", {("Maria Keller", "found", "Northwind Labs")}),
        ("Northwind Labs was founded by Maria Keller.", {("Maria Keller", "found", "Northwind Labs")}),
        ("Robert King was born in Chicago.", {("Robert King", "born in", "Chicago")}),
        ("Siemens did not buy Nokia.", set()),
        ("The lamp is out.", set()),
    ],
)
def test_active_passive_and_negated_sentences_say_what_they_say(extractor, text, edges):
    assert set(said(extractor, text)) == edges


def test_what_is_only_asked_or_supposed_is_less_certain(extractor):
    assert set(said(extractor, "Microsoft acquired GitHub.").values()) == {0.8}
    assert set(said(extractor, "Perhaps Microsoft acquired GitHub.").values()) == {0.4}


def test_entities_have_our_kinds_and_dates_name_nothing(extractor):
    (answer,) = extractor.extract([claimed({"text": "Maria Keller visited Vienna in March 2019."})])
    assert {(node.kind, node.name) for node in answer.nodes} == {("person", "Maria Keller"), ("place", "Vienna")}


def test_answers_keep_the_order_of_the_facts(extractor):
    values = [
        {"text": "Microsoft acquired GitHub."},
        {"other": 1},
        {"text": 7},
        {"text": ""},
        {"text": "Peter Novak left."},
    ]
    answers = extractor.extract([claimed(value) for value in values])
    assert [type(one) for one in answers] == [Extraction, Extraction, Failure, Extraction, Extraction]
    assert [len(one.nodes) for one in answers if isinstance(one, Extraction)] == [2, 0, 0, 1]


@pytest.mark.parametrize(
    ("options", "said_"),
    [
        ({}, "model"),
        ({"model": "xx_no_such_model"}, "no model 'xx_no_such_model'"),
        ({"model": MODEL, "text": "value.["}, "JMESPath"),
        ({"model": MODEL, "colour": 1}, "colour"),
    ],
)
def test_options_that_cannot_work_are_refused_by_name(options, said_):
    with pytest.raises(BadSetting, match=said_):
        TextExtractor(options)


def test_a_missing_extra_is_named_together_with_the_model(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(BadSetting, match=r"'en_core_web_sm'.*age-harvester\[text\]"):
        TextExtractor({"model": "en_core_web_sm"})


def test_rules_with_text_import_no_spacy():
    rules = {"rules": [{"match": "*", "extractor": "text", "options": {"model": MODEL}}]}
    program = f"import sys; from crawler.rules import read_rules; read_rules({rules!r}, reserved_prefixes=[]); "
    program += "assert not [name for name in sys.modules if name.startswith('spacy')]"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_version_names_the_model_so_that_another_model_can_be_told_apart(extractor):
    assert extractor.version == f"1+{MODEL}-3.8.0"


def test_prose_becomes_a_graph_with_the_confidence_and_the_namespace_of_its_rule(stores, harvester, call):
    rule = {"match": "notes/*", "extractor": "text", "namespace": 2, "confidence": 0.6, "options": {"model": MODEL}}
    assert read_rules({"rules": [rule]}, reserved_prefixes=[]).rules[0].namespace_for("notes/sea/1") == "notes/sea"
    stores.facts.store([StoreFactInput(key="notes/sea/1", value={"text": "Microsoft acquired GitHub."}, shared=True)])
    harvester({"rules": [rule]}).drain()
    found = call("graph_search_edges", predicate="acquire")["edges"]
    assert [(edge["fromKey"], edge["confidence"], edge["namespace"]) for edge in found] == [
        ("organisation:microsoft", 0.6, "notes/sea")
    ]
