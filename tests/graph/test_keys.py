"""Identity rules as tables."""

import pytest

from facts.errors import InvalidArgument
from graph.confidence import Strength, combine_confidence
from graph.keys import in_namespace, merge_aliases, namespace_of, node_key, predicate_key, split_key


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [
        ("Ship", "Aurora", "ship:aurora"),
        ("SHIP", "  AURORA! ", "ship:aurora"),
        ("Sailing Ship", "Cutty  Sark", "sailing_ship:cutty-sark"),
        ("город", "Ростов-на-Дону", "город:ростов-на-дону"),
        ("language", "C++", "language:c++"),
        ("language", "C#", "language:c#"),
        ("language", "C", "language:c"),
        ("person", "हिन्दी", "person:हिन्दी"),
        ("person", "Zoë Ångström", "person:zoe-angstrom"),
        ("mark", "!!!", "mark:~e84c538e7fe2"),
        ("shape", "ﬁligree", "shape:filigree"),
    ],
)
def test_spellings_of_one_thing_give_one_key(kind: str, name: str, key: str) -> None:
    assert node_key(kind, name) == key


def test_an_exact_identity_keeps_the_name_as_written() -> None:
    assert node_key("path", " /usr/Local/x ", "exact") == "path:/usr/Local/x"


@pytest.mark.parametrize(("kind", "name", "argument"), [("!!!", "x", "kind"), ("ship", "  ", "name")])
def test_what_gives_no_key_is_refused_and_named(kind: str, name: str, argument: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        node_key(kind, name)
    assert refused.value.argument == argument


@pytest.mark.parametrize(
    ("predicate", "key"),
    [
        ("Depends on", "depend_on"),
        ("DEPENDS_ON the", "depend_on"),
        ("shipped from", "shipped_from"),
        ("shipped to", "shipped_to"),
        ("of the", "of"),
        ("to", "to"),
        ("is a", "is_a"),
        ("carries", "carry"),
        ("passes", "pass"),
        ("boxes", "box"),
        ("crosses the", "cross"),
        ("was owned by", "was_owned_by"),
        ("is owned by", "owned_by"),
        ("status", "status"),
        ("has bus", "has_bus"),
        ("C++ binding", "c_binding"),
        ("für", "fur"),
        ("由...组成", "由_组成"),
    ],
)
def test_a_predicate_keeps_its_direction_and_loses_its_inflection(predicate: str, key: str) -> None:
    assert predicate_key(predicate) == key


def test_a_predicate_without_words_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        predicate_key("->")


@pytest.mark.parametrize("key", ["ship", "ship:", ":aurora", "Ship:aurora", "sailing ship:x"])
def test_a_key_that_no_name_could_give_is_refused(key: str) -> None:
    with pytest.raises(InvalidArgument):
        split_key(key)


def test_a_key_splits_at_its_first_colon() -> None:
    assert split_key("path:C:/x") == ("path", "C:/x")


def test_one_spelling_a_form_is_kept_the_first_one() -> None:
    existing, incoming = ["  Cutty Sark ", "CUTTY-SARK"], ["cutty sark", "Old Lady", "", "  ", "old  lady!"]
    assert merge_aliases(existing, incoming) == ["Cutty Sark", "Old Lady"]


@pytest.mark.parametrize(
    ("given", "stored"), [(None, None), ("  ", None), (" default/ ", None), ("/corpus/sea/", "corpus/sea")]
)
def test_namespaces_lose_blanks_and_slashes_at_both_ends(given: str | None, stored: str | None) -> None:
    assert namespace_of(given) == stored


def test_a_namespace_covers_itself_and_what_lies_below() -> None:
    assert in_namespace("corpus/acme/services", "corpus/acme")
    assert not in_namespace("corpus/acme2", "corpus/acme")


def test_confidence_is_noisy_or_and_a_withdrawal_leaves_exactly_the_rest() -> None:
    assert combine_confidence([0.6, 0.45]) == pytest.approx(0.78, abs=1e-9)
    assert combine_confidence([1.0, 0.1]) == 1.0
    total = Strength().plus(0.5, 60)
    assert (total.confidence, total.plus(0.5, -1).observations) == (1.0, 59)
    assert Strength().plus(0.3).plus(1.0).plus(1.0, -1).confidence == pytest.approx(0.3, abs=1e-12)
