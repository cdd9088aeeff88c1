"""API keys: what is kept of them, what they are bound to, when they hold."""

import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from starlette.datastructures import Headers

from crawler.errors import BadRequest, Unauthenticated
from crawler.serving.identity import Credential, Identities
from crawler.serving.keys import Binding, KeyRequest, digest_of, is_token
from facts.access import Role
from facts.errors import InvalidArgument, NotFound, NotPermitted
from tests.crawler.serving.served import key_request


@pytest.fixture
def identities(keys, stores):
    return Identities(keys, stores.facts.sessions)


def who(identities, token, acting=None):
    return identities.of(Credential(token=token, acting_session=acting)).caller


def test_a_key_is_256_random_bits_of_which_the_database_keeps_the_digest_and_a_preview(keys, database_url):
    made = [keys.create(key_request()) for _ in range(20)]
    assert len({one.token for one in made}) == 20
    token = made[0].token
    assert is_token(token)
    assert len(token) == len("hv_") + 43
    assert token not in repr(made[0])
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT api_keys::text, key_sha256, preview FROM pilotswarm_facts.api_keys"
        ).fetchall()
    assert not any(one.token[9:] in row[0] for one in made for row in rows)
    assert digest_of(token) in {bytes(row[1]) for row in rows}
    assert all(len(row[2]) == 9 for row in rows)


@pytest.mark.parametrize(
    "token", ["", "hv_", "hv_" + "x" * 42, "hv_" + "x" * 44, "xx_" + "x" * 43, "hv_" + "é" * 43, "hv_" + "\x00" * 43]
)
def test_what_is_no_key_is_no_key(keys, token):
    assert keys.find(token) is None


def test_unknown_expired_and_revoked_keys_are_told_the_same(keys, identities, database_url):
    revoked, expired = keys.create(key_request()), keys.create(key_request())
    keys.revoke(revoked.key.key_id)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE pilotswarm_facts.api_keys SET expires_at = now() - interval '1 s' WHERE id = %s",
            [expired.key.key_id],
        )
    said = set()
    for token in (revoked.token, expired.token, "hv_" + "A" * 43):
        with pytest.raises(Unauthenticated) as caught:
            who(identities, token)
        said.add(caught.value.message)
    assert len(said) == 1
    assert [keys.find_by_id(one.key.key_id) for one in (revoked, expired)] == [None, None]
    assert keys.list() == ()
    assert len(keys.list(include_over=True)) == 2


def test_the_last_use_is_kept_coarsely_so_that_reading_does_not_write(keys, database_url):
    made = keys.create(key_request())
    assert made.key.last_used_at is None
    written = "SELECT last_used_at, xmin::text FROM pilotswarm_facts.api_keys"
    with psycopg.connect(database_url, autocommit=True) as connection:
        keys.find(made.token)
        first = connection.execute(written).fetchone()
        assert first[0] is not None
        for _ in range(3):
            keys.find(made.token)
        assert connection.execute(written).fetchone() == first
        connection.execute("UPDATE pilotswarm_facts.api_keys SET last_used_at = now() - interval '10 min'")
        keys.find(made.token)
        assert connection.execute(written).fetchone()[0] > first[0]


def test_a_key_for_one_session_acts_in_it_and_in_no_other(keys, identities):
    token = keys.create(key_request("agent", session="s1", agent_id="ada")).token
    caller = who(identities, token)
    assert (caller.role, caller.session_id, caller.agent_id) == (Role.AGENT, "s1", "ada")
    assert who(identities, token, "s1").session_id == "s1"
    with pytest.raises(NotPermitted):
        who(identities, token, "s2")


def test_a_key_for_a_set_names_its_session_or_acts_in_none(keys, identities):
    token = keys.create(key_request("agent", several=("a", "b"))).token
    assert who(identities, token).session_id is None
    assert who(identities, token, "b").session_id == "b"
    for wrong in ("c", "a,b", "A"):
        with pytest.raises(NotPermitted):
            who(identities, token, wrong)
    for wrong in ("", "a:b"):
        with pytest.raises(InvalidArgument):
            who(identities, token, wrong)


def test_a_key_for_a_tree_follows_the_tree_downwards_only(keys, identities, stores):
    register = stores.facts.sessions.register
    register("top")
    register("root", parent_session_id="top")
    register("child", parent_session_id="root")
    register("stranger")
    token = keys.create(key_request("agent", tree="root")).token
    assert who(identities, token).session_id is None
    assert [who(identities, token, each).session_id for each in ("root", "child")] == ["root", "child"]
    for wrong in ("top", "stranger", "unheard"):
        with pytest.raises(NotPermitted):
            who(identities, token, wrong)
    register("later", parent_session_id="child")
    assert who(identities, token, "later").session_id == "later"


def test_being_a_crawler_is_not_inherited_by_child_sessions(keys, identities, stores):
    stores.facts.sessions.register("root")
    stores.facts.sessions.register("child", parent_session_id="root")
    token = keys.create(key_request("crawler", tree="root", granted_prefixes=("corpus/",))).token
    assert who(identities, token, "root").role is Role.CRAWLER
    assert who(identities, token, "root").granted_prefixes == ("corpus/",)
    child = who(identities, token, "child")
    assert (child.role, child.granted_prefixes) == (Role.AGENT, ())


@pytest.mark.parametrize(
    ("request_", "argument"),
    [
        ({"binding": Binding.SESSION}, "binding"),
        ({"binding": Binding.NONE, "session_ids": ("s",)}, "binding"),
        ({"binding": Binding.TREE, "session_ids": ("s", "t")}, "binding"),
        ({"binding": Binding.SESSION, "session_ids": ("a:b",)}, "sessions"),
        ({"granted_prefixes": ("x/",)}, "granted_prefixes"),
        ({"role": Role.CRAWLER, "granted_prefixes": ("",)}, "granted_prefixes"),
        ({"label": ""}, "label"),
        ({"label": "x" * 200}, "label"),
        ({"agent_id": ""}, "agent_id"),
        ({"expires_at": datetime.now(UTC) - timedelta(seconds=1)}, "expires_at"),
    ],
)
def test_a_key_that_cannot_be_is_refused_by_name_and_not_made(keys, request_, argument):
    with pytest.raises(InvalidArgument) as caught:
        keys.create(KeyRequest(**{"role": Role.AGENT} | request_))
    assert caught.value.argument == argument
    assert keys.list(include_over=True) == ()


def test_a_header_that_stands_there_twice_says_nothing():
    for name in ("authorization", "x-harvester-session"):
        with pytest.raises(BadRequest) as caught:
            Credential.of(Headers(raw=[(name.encode(), b"Bearer a"), (name.encode(), b"Bearer a")]))
        assert caught.value.argument == name


@pytest.mark.parametrize("given", ["Bearer", "Bearer ", "Basic hv_x", "hv_x", ""])
def test_only_a_bearer_key_is_a_key(given):
    assert Credential.of(Headers({"authorization": given})).token is None


def test_keys_are_made_listed_and_revoked_by_the_command(run, keys):
    made = run("keys", "create", "--role", "crawler", "--session", "s1", "--prefix", "corpus/", "--label", "mapper",
               "--more", '{"lane": "x"}', "--days", "1", "--json")  # fmt: skip
    shown = json.loads(made.stdout)
    assert keys.find(shown["key"]).more == {"lane": "x"}
    assert "digest" not in shown
    (listed,) = [json.loads(line) for line in run("keys", "list", "--json").stdout.splitlines()]
    assert (listed["role"], listed["sessionIds"], listed["grantedPrefixes"]) == ("crawler", ["s1"], ["corpus/"])
    assert "key" not in listed
    assert shown["key"] not in run("keys", "list").stdout
    run("keys", "revoke", str(shown["keyId"]))
    assert keys.find(shown["key"]) is None
    assert run("keys", "list", "--json").stdout == ""
    assert json.loads(run("keys", "list", "--all", "--json").stdout)["revokedAt"] is not None


def test_a_key_is_shown_once_alone_on_stdout(run, keys):
    done = run("keys", "create", "--role", "facts-manager")
    assert keys.find(done.stdout.strip()).role is Role.FACTS_MANAGER
    assert "only this once" in done.stderr


@pytest.mark.parametrize(
    "options", [("--tree", "a", "--session", "b"), ("--more", "[1]"), ("--more", "x"), ("--prefix", "x/")]
)
def test_a_command_that_makes_no_sense_is_one_clear_line(run, keys, options):
    done = run("keys", "create", *options, code=1)
    assert len(done.stderr.splitlines()) == 1
    assert keys.list() == ()


def test_there_is_no_key_to_revoke(keys):
    with pytest.raises(NotFound):
        keys.revoke(12)
