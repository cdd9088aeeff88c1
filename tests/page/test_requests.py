"""What goes over the wire: the cookie, the headers, and requests that are not the page's own."""

from __future__ import annotations

import hashlib
import re
from importlib import metadata
from typing import Any

import httpx
import psycopg
import pytest

from crawler.page.assets import read_assets
from crawler.page.routes import PAGE_TOOLS
from crawler.registry import all_tools
from facts.access import Role
from facts.errors import Unavailable
from facts.sqlfiles import load_queries
from tests.page.world import CANARY

OWN = {"X-Harvester-Page": "1"}


@pytest.fixture
def client(site):
    with httpx.Client(base_url=site.url, headers=OWN) as opened:
        yield opened


@pytest.fixture
def sign_in(site, client):
    def run(key=None, **headers):
        return client.post("/page/session", json={"key": key or site.key()}, headers=headers)

    return run


def read(client, tool="graph_search_nodes", **headers):
    return client.post(f"/page/tools/{tool}", json={}, headers=headers)


def test_the_cookie_is_out_of_reach_and_only_its_hash_is_stored(site, client, sign_in):
    said = sign_in().headers["set-cookie"]
    assert re.search(r"; HttpOnly; Max-Age=604800; Path=/page; SameSite=strict$", said)
    token = client.cookies["harvester_page"]
    assert len(token) >= 43
    rows = site.run("SELECT s::text, token_sha256, expires_at - created_at FROM pilotswarm_facts.page_sessions AS s")
    assert hashlib.sha256(token.encode()).digest() in [bytes(row[1]) for row in rows]
    assert token not in str(rows)
    assert {row[2].days for row in rows} == {7}


def test_over_https_the_cookie_is_for_https_only(site, sign_in):
    origin = httpx.URL(site.url).netloc.decode()
    assert "Secure" in sign_in(Origin=f"https://{origin}").headers["set-cookie"]
    assert "Secure" not in sign_in(Origin=f"http://{origin}").headers["set-cookie"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Harvester-Page": None},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_request_that_is_not_the_pages_own_is_refused(site, sign_in, headers):
    sign_in()
    cookie = sign_in().headers["set-cookie"].partition(";")[0]
    sent = {"Cookie": cookie} | {name: value for name, value in (OWN | headers).items() if value}
    with httpx.Client(base_url=site.url, headers=sent) as other:
        for asked in (read(other), other.get("/page/session"), other.delete("/page/session")):
            assert asked.status_code == 403
        assert other.post("/page/session", json={"key": site.key()}).status_code == 403
    with httpx.Client(base_url=site.url, headers=OWN | {"Cookie": cookie}) as own:
        assert read(own).status_code == 200  # the foreign sign-out did nothing


def test_the_cookie_opens_the_page_and_nothing_else(site, client, sign_in):
    sign_in(site.key(Role.FACTS_MANAGER))
    client.cookies = {"harvester_page": client.cookies["harvester_page"]}  # now for every path
    assert read(client).status_code == 200
    for tool in all_tools():
        asked = read(client, tool).status_code
        assert asked in ({200, 422} if tool in PAGE_TOOLS else {404}), tool
    assert client.post("/v1/tools/store_fact", json={"key": "k", "value": 1}).status_code == 401
    assert client.get("/v1/nodes").status_code == 401
    assert client.post("/mcp", json={}).status_code == 401
    assert site.run("SELECT 1 FROM pilotswarm_facts.facts WHERE key = 'k'") == []


def test_the_page_only_reads():
    assert [name for name in PAGE_TOOLS if all_tools()[name].mutates] == []


def test_a_role_is_offered_what_it_may(site, sign_in):
    assert "graph_stats" not in sign_in().json()["tools"]
    assert "graph_stats" in sign_in(site.key(Role.AGENT_TUNER)).json()["tools"]


def test_what_a_role_may_not_is_refused_whatever_the_page_asks(site, client, sign_in):
    sign_in()
    assert read(client, "graph_stats").status_code == 403


GREEDY: dict[str, list[dict[str, Any]]] = {
    "graph_search_nodes": [{}, {"seeds": ["package:typer"], "depth": 5}, {"nameLike": CANARY}],
    "graph_search_edges": [{}, {"fromKey": "package:typer", "toKey": "package:rich"}],
    "graph_neighbourhood": [{"nodeKey": "package:typer", "depth": 5}],
    "graph_list_namespaces": [{"includeArchived": True, "includeDetails": True}],
    "graph_stats": [{}],
    "read_facts": [{}, {"keyPattern": "*"}, {"scopeKeys": [f"session:s2:secret/{CANARY}"]}, {"sessionId": "s2"}],
}


def test_what_another_session_keeps_comes_out_of_nothing_that_the_page_asks(site, client, sign_in):
    """A tool that the page gets anew has to be asked here as well."""
    assert set(GREEDY) == set(PAGE_TOOLS)
    asked = [(tool, arguments) for tool, many in GREEDY.items() for arguments in many]

    def heard():
        return [client.post(f"/page/tools/{tool}", json=arguments).text for tool, arguments in asked]

    sign_in()
    assert not [answer for answer in heard() if CANARY in answer or "keeper" in answer]
    sign_in(site.key(Role.AGENT, "s2"))
    assert [answer for answer in heard() if CANARY in answer]


def test_a_key_of_several_sessions_reads_as_the_one_it_names(site, client, sign_in):
    assert sign_in(site.key(Role.AGENT, "s1", "s2")).json()["sessions"] == ["s1", "s2"]

    def secrets(**headers):
        asked = client.post("/page/tools/read_facts", json={"keyPattern": "secret/*"}, headers=headers)
        return asked.json()["count"] if asked.status_code == 200 else asked.status_code

    assert [secrets(), secrets(**{"X-Harvester-Session": "s1"})] == [0, 0]
    assert secrets(**{"X-Harvester-Session": "s2"}) == 1
    assert secrets(**{"X-Harvester-Session": "s3"}) == 403


@pytest.mark.parametrize("key", ["", "hv_", "hv_" + "x" * 43, "\ud800", "x" * 100_000, 7, None, ["hv_"]])
def test_what_is_no_key_is_refused_and_leaves_no_session(site, client, key):
    before = site.run("SELECT count(*) FROM pilotswarm_facts.page_sessions")
    body = '{"key": "\\ud800"}' if key == "\ud800" else None
    asked = client.post("/page/session", content=body, headers={"Content-Type": "application/json"}) if body else (
        client.post("/page/session", json={"key": key}))  # fmt: skip
    assert asked.status_code == (401 if isinstance(key, str) else 422)
    assert "set-cookie" not in asked.headers
    assert site.run("SELECT count(*) FROM pilotswarm_facts.page_sessions") == before


def test_a_session_goes_with_its_key(site, client, sign_in):
    key = site.new_key()
    sign_in(key.token)
    assert read(client).status_code == 200
    site.keys.revoke(key.key.key_id)
    assert read(client).status_code == 401
    assert client.get("/page/session").json() == {"signedIn": False}


def test_sessions_that_are_over_are_swept(site, sign_in):
    sign_in()
    site.end_sessions()
    sign_in()
    assert site.run("SELECT count(*) FROM pilotswarm_facts.page_sessions WHERE expires_at < now()") == [(0,)]


def test_every_file_is_served_under_a_strict_policy(client):
    names = ["/", *(f"/page/{name}" for name in read_assets())]
    for name in names:
        asked = client.get(name)
        assert asked.status_code == 200
        policy = dict(part.split(" ", 1) for part in asked.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["trusted-types"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert asked.headers["x-content-type-options"] == "nosniff"
        again = client.get(name, headers={"If-None-Match": asked.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/..%2froutes.py").status_code == 404
    assert client.get("/page/routes.py").status_code == 404


def test_nothing_is_inline_and_nothing_comes_from_elsewhere():
    for name, asset in read_assets().items():
        text = asset.content.decode()
        if name != "d3.js":
            assert not re.findall(r"(?:src|href|url\()\s*=?\s*[\"'(]*\s*(?:https?:)?//[^w]", text), name
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\b|new Function", text
            )
    page = read_assets()["index.html"].content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", page)


def test_without_the_package_that_carries_d3_the_server_says_which(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("crawler.page.assets.distribution", missing)
    with pytest.raises(Unavailable, match=r"comes in the package gravis .*pip install"):
        read_assets()


def test_every_query_is_planned_against_the_schema(site):
    queries = load_queries("crawler.page", "sql/page_sessions", facts="pilotswarm_facts")
    with psycopg.connect(site.stores.url) as connection:
        for name in queries:
            text = re.sub(r"%\((\w+)\)s", "NULL", getattr(queries, name).as_string(None))
            connection.execute(f"EXPLAIN {text}".encode())
