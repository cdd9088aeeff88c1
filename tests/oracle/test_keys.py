"""The oracle's key rules, against the behaviour cases and the examples of the design page."""

import pytest

from tests.oracle import keys
from tests.oracle.keys import KeyRefused


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    (
        ("город", "Ростов-на-Дону", "город:ростов-на-дону"),
        ("language", "C++", "language:c++"),
        ("language", "C#", "language:c#"),
        ("language", "C", "language:c"),
        ("person", "हिन्दी", "person:हिन्दी"),
        ("mark", "!!!", "mark:~e84c538e7fe2"),
        ("SHIP", "AURORA!", "ship:aurora"),
        ("Captain", "J. Rask", "captain:j-rask"),
        ("Sea Port", "Ålesund", "sea_port:alesund"),
        ("Session", "Q3 review", "session:q3-review"),
        ("path", "a/b/c.py", "path:a-b-c-py"),
        ("film", "Ⅳ", "film:iv"),
        ("sum", "a + b", "sum:a-b"),
        ("sum", "a+b", "sum:a+b"),
    ),
)
def test_a_name_gives_the_key_of_the_cases(kind, name, key):
    assert keys.node_key(kind, name) == key


def test_an_exact_name_is_only_composed_and_trimmed():
    assert keys.node_key("Package", "  Zope.Interface ", "exact") == "package:Zope.Interface"
    assert keys.node_key("path", "cafe\u0301", "exact") == "path:caf\u00e9"


@pytest.mark.parametrize(
    ("predicate", "key"),
    (
        ("shipped from", "shipped_from"),
        ("of the", "of"),
        ("to", "to"),
        ("depends on", "depend_on"),
        ("DEPENDS_ON the", "depend_on"),
        ("depends upon", "depend_upon"),
        ("carries", "carry"),
        ("passes", "pass"),
        ("fixes", "fix"),
        ("is owned by", "owned_by"),
        ("was owned by", "was_owned_by"),
        ("status", "status"),
        ("this", "this"),
        ("gas", "gas"),
        ("c++ binds", "c_bind"),
    ),
)
def test_a_predicate_gives_its_key(predicate, key):
    assert keys.predicate_key(predicate) == key


@pytest.mark.parametrize("key", ("aurora", "ship:", ":aurora", "Ship:aurora", "sea port:x"))
def test_a_text_that_no_name_gives_is_no_endpoint(key):
    with pytest.raises(KeyRefused):
        keys.split_key(key)


def test_a_key_splits_at_its_first_colon():
    assert keys.split_key("url:https://x:1") == ("url", "https://x:1")


@pytest.mark.parametrize("blank", ("", "  ", "default", " default/ ", "/"))
def test_a_blank_or_default_namespace_is_none(blank):
    assert keys.namespace(blank) is None


def test_a_namespace_is_trimmed_and_otherwise_literal():
    assert keys.namespace(" /corpus/Sea/ ") == "corpus/Sea"


@pytest.mark.parametrize(("kind", "name"), (("!!", "x"), ("ship", "  ")))
def test_an_empty_kind_and_a_blank_name_are_refused(kind, name):
    with pytest.raises(KeyRefused):
        keys.node_key(kind, name)


def test_a_predicate_without_words_is_refused():
    with pytest.raises(KeyRefused):
        keys.predicate_key("->")
