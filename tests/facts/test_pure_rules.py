"""The language of keys, patterns, values and batches: no database."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import StoreFactInput
from facts.access import Role, Writer
from facts.cleaning import UnstorableValueError, clean_value
from facts.cursors import decode_cursor, encode_cursor
from facts.errors import Conflict, InvalidArgument, NotPermitted, TooLarge
from facts.inputs import check_batch
from facts.limits import BATCH_FACTS, KEY_BYTES, NESTING, TAG_BYTES, TAGS, FactLimits, checked_count
from facts.patterns import parse_pattern
from facts.queue import Backoff
from facts.reserved import ReservedRules
from facts.scope_keys import ScopeKey, parse_scope_key, scope_key

RULES = ReservedRules()
LIMITS = FactLimits()
PERSON = Writer(session_id="s1", agent_id="a")
AGENT = Writer(session_id="s1", agent_id="a", role=Role.AGENT)


def check(*items: StoreFactInput, writer: Writer = PERSON, single: bool = False):
    return check_batch(items, writer, limits=LIMITS, rules=RULES, single=single)


def fact(key: str = "k", **fields: object) -> StoreFactInput:
    return StoreFactInput(**{"key": key, "value": 1, **fields})


# --- scope keys


@pytest.mark.parametrize(
    ("text", "parsed"),
    (
        ("shared:a/b", ScopeKey(key="a/b", session_id=None)),
        ("shared:a:b", ScopeKey(key="a:b", session_id=None)),
        ("session:s1:berth:4", ScopeKey(key="berth:4", session_id="s1")),
        ("session:s1", None),
        ("session::k", None),
        ("session:s1:", None),
        ("shared:", None),
        ("berth", None),
        ("", None),
    ),
)
def test_a_scope_key_comes_apart_in_one_way(text: str, parsed: ScopeKey | None) -> None:
    assert parse_scope_key(text) == parsed
    if parsed is not None:
        assert str(parsed) == text


@given(st.text(min_size=1), st.one_of(st.none(), st.text(min_size=1).filter(lambda s: ":" not in s)))
def test_no_two_facts_share_a_scope_key(key: str, session: str | None) -> None:
    assert parse_scope_key(scope_key(key, session)) == ScopeKey(key=key, session_id=session)


# --- patterns


def matches(pattern: str, key: str) -> bool:
    runs = parse_pattern(pattern).runs
    return re.fullmatch(".*".join(map(re.escape, runs)), key, re.DOTALL) is not None


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    (
        ("mill/*", "mill/ab", True),
        ("mill/%", "mill/", True),
        ("mill_a", "millxa", False),
        ("mill_a", "mill_a", True),
        (r"mill\_a", "mill_a", True),
        (r"mill\*a", "mill*a", True),
        (r"mill\*a", "millxa", False),
        (r"mill\%a", "mill%a", True),
        (r"mill\\a", r"mill\a", True),
        (r"mill\a", r"mill\a", True),
        ("mill\\", "mill\\", True),
        ("MILL/*", "mill/a", False),
        ("*", "anything", True),
        ("a**b", "a-b", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXc", False),
    ),
)
def test_only_star_and_percent_are_wild(pattern: str, key: str, expected: bool) -> None:
    assert matches(pattern, key) is expected


@pytest.mark.parametrize(
    ("pattern", "prefix", "expected"),
    (
        ("s*", "skills/", True),
        ("*", "skills/", True),
        ("skills/knot", "skills/", True),
        ("skills", "skills/", False),
        (r"\skills/*", "skills/", False),
        (r"\*kills/*", "skills/", False),
        ("t*", "skills/", False),
        ("skillsx*", "skills/", False),
        ("*/knot", "skills/", True),
    ),
)
def test_a_pattern_that_could_reach_below_a_prefix_is_known(pattern: str, prefix: str, expected: bool) -> None:
    assert parse_pattern(pattern).may_match_below(prefix) is expected


@given(st.text(alphabet="ab*%_\\/", max_size=8), st.text(alphabet="ab/", max_size=5))
def test_reaching_below_a_prefix_is_never_overlooked(pattern: str, tail: str) -> None:
    key = "ab/" + tail
    if matches(pattern, key):
        assert parse_pattern(pattern).may_match_below("ab/")


# --- cleaning


@pytest.mark.parametrize(
    ("value", "cleaned"),
    (
        ("K\x00rsou", "Krsou"),
        ({"a\x00": ["x\x00", {"b": "\ud800"}]}, {"a": ["x", {"b": ""}]}),
        (["\udfffy"], ["y"]),
    ),
)
def test_nul_and_lone_surrogates_go_at_any_depth(value: object, cleaned: object) -> None:
    result = clean_value(value)
    assert result.value == cleaned
    assert result.cleaned


@pytest.mark.parametrize("value", ("\\u0000", "\\ud800", "😀", "é", None, 0, False, [], {}, "a\\x00b", 10**400))
def test_what_can_be_stored_stays_as_it_is(value: object) -> None:
    result = clean_value(value)
    assert result.value == value
    assert not result.cleaned


@pytest.mark.parametrize(
    "value", (float("nan"), float("inf"), {"a": [-float("inf")]}, b"bytes", {1, 2}, object(), {"a": 1, "a\x00": 2})
)
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(UnstorableValueError):
        clean_value(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(UnstorableValueError):
        clean_value(value)


def test_nesting_has_a_limit() -> None:
    def nested(depth: int) -> object:
        value: object = 0
        for _ in range(depth):
            value = [value]
        return value

    assert not clean_value(nested(NESTING)).cleaned
    for depth in (NESTING + 1, 100_000):
        with pytest.raises(UnstorableValueError, match="nested"):
            clean_value(nested(depth))


# --- batches


@pytest.mark.parametrize(
    ("bad", "argument", "says"),
    (
        (fact(""), "key", "empty"),
        (fact("a\x00b"), "key", "NUL"),
        (fact("a\ud800"), "key", "surrogate"),
        (fact("x" * (KEY_BYTES + 1)), "key", "at most 512"),
        (fact("字" * (KEY_BYTES // 3 + 1)), "key", "at most 512"),
        (fact(7), "key", "text"),
        (fact(tags="abc"), "tags", "list"),
        (fact(tags=["x" * (TAG_BYTES + 1)]), "tags", "at most 128"),
        (fact(tags=["t"] * (TAGS + 1)), "tags", "at most 64"),
        (fact(tags=[""]), "tags", "empty"),
        (fact(tags=["a\x00"]), "tags", "NUL"),
        (StoreFactInput(key="k"), "value", "no value"),
        (fact(value=float("nan")), "value", "finite"),
        (fact(shared="yes"), "shared", "true or false"),
    ),
)
def test_bad_input_names_its_argument_and_index(bad: StoreFactInput, argument: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says) as alone:
        check(bad, single=True)
    assert alone.value.argument == argument
    with pytest.raises(InvalidArgument, match=says) as among:
        check(fact("good"), bad)
    assert among.value.argument == f"facts[1].{argument}"


def test_keys_and_values_at_the_limit_are_taken() -> None:
    check(fact("x" * KEY_BYTES), fact("字" * (KEY_BYTES // 3)), fact("v", value="x" * (LIMITS.value_bytes - 2)))


def test_a_value_beyond_the_limit_is_too_large() -> None:
    with pytest.raises(TooLarge, match="1048576") as raised:
        check(fact(value="x" * LIMITS.value_bytes))
    assert raised.value.argument == "facts[0].value"


def test_every_bad_index_is_listed() -> None:
    with pytest.raises(InvalidArgument) as raised:
        check(fact(""), fact("ok"), fact("z", value=float("inf")))
    assert "facts[0].key" in raised.value.message
    assert "facts[2].value" in raised.value.message
    assert "facts[1]" not in raised.value.message


def test_a_key_twice_in_a_batch_is_a_conflict_that_names_both() -> None:
    with pytest.raises(Conflict, match=r"facts\[2\].key.*index 0"):
        check(fact("a"), fact("b"), fact("a"))


def test_the_same_key_in_two_scopes_is_no_conflict() -> None:
    assert [f.scope_key for f in check(fact("a"), fact("a", shared=True))] == ["session:s1:a", "shared:a"]


@pytest.mark.parametrize("session", ("s1:berth", "", "x" * 129, "a\x00"))
def test_a_session_id_that_could_be_misread_is_refused(session: str) -> None:
    with pytest.raises(InvalidArgument, match="session id"):
        check(fact(), writer=Writer(session_id=session))


def test_a_private_fact_needs_a_session() -> None:
    with pytest.raises(InvalidArgument, match="needs a session"):
        check(fact(), writer=Writer())


@pytest.mark.parametrize("count", (0, BATCH_FACTS + 1))
def test_a_batch_has_a_size(count: int) -> None:
    with pytest.raises(InvalidArgument, match="batch"):
        check(*[fact(str(n)) for n in range(count)])


@pytest.mark.parametrize("prefix", ("skills/", "asks/", "config/facts-manager/", "memory/", "claims/"))
@pytest.mark.parametrize("shared", (True, False))
def test_agents_do_not_write_below_reserved_prefixes(prefix: str, shared: bool) -> None:
    with pytest.raises(NotPermitted, match=r"facts\[1\].key"):
        check(fact("fine"), fact(prefix + "x", shared=shared), writer=AGENT)
    check(fact(prefix + "x", shared=shared))


@pytest.mark.parametrize(
    ("prefix", "allowed"), (("skills/", True), ("asks/", True), ("config/facts-manager/", True), ("memory/", False))
)
def test_the_facts_manager_writes_its_own_prefixes(prefix: str, allowed: bool) -> None:
    manager = Writer(session_id="fm", role=Role.FACTS_MANAGER)
    if allowed:
        check(fact(prefix + "x"), writer=manager)
    else:
        with pytest.raises(NotPermitted):
            check(fact(prefix + "x"), writer=manager)


def test_the_agent_tuner_writes_nothing() -> None:
    with pytest.raises(NotPermitted):
        check(fact(), writer=Writer(session_id="tu", role=Role.AGENT_TUNER))


# --- cursors, counts, back-off


@pytest.mark.parametrize("cursor", ("", "!!", "WzFd", encode_cursor("queue", 1), encode_cursor("facts", 1), "a" * 5))
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidArgument, match="cursor"):
        decode_cursor(cursor, "facts", 2)


@pytest.mark.parametrize("value", (0, -1, 1.5, "3", True, None))
def test_a_limit_below_one_or_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgument) as raised:
        checked_count(value, argument="limit")
    assert raised.value.argument == "limit"


def test_a_limit_above_its_cap_is_cut_to_it() -> None:
    assert checked_count(900, argument="limit", most=500) == 500


def test_backoff_doubles_to_its_ceiling_and_then_gives_up() -> None:
    policy = Backoff()
    assert [policy.delay(n, lambda: 1.0) for n in (1, 2, 3, 8, 100)] == [5, 10, 20, 600, 600]
    assert policy.delay(4, lambda: 0.0) == 0
    assert [policy.gives_up(n) for n in (4, 5, 6)] == [False, True, True]
