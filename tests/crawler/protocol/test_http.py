"""The endpoint itself: who is let in, what strangers and broken clients send, and that no process remembers anything."""

import json
import socket

import httpx
import psycopg
import pytest
from starlette.datastructures import Headers
from structlog.testing import capture_logs

from crawler.protocol.hosts import HostRules
from tests.crawler.serving.served import key_request, running

VERSION = "2025-06-18"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_facts", "arguments": {}}}


@pytest.fixture
def key(keys) -> str:
    return keys.create(key_request(session="s1", agent_id="a")).token


@pytest.fixture
def http(http_url, key):
    with httpx.Client(base_url=http_url.removesuffix("/mcp"), timeout=60, headers=headers(key)) as client:
        yield client


def headers(key: str | None) -> dict[str, str]:
    said = {"accept": "application/json, text/event-stream", "mcp-protocol-version": VERSION}
    return said if key is None else said | {"authorization": f"Bearer {key}"}


def calling(tool: str, **arguments) -> dict:
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def content(answer: httpx.Response) -> dict:
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]["structuredContent"]


@pytest.mark.parametrize("given", [None, "Bearer", "Bearer hv_wrong", "Basic hv_wrong"])
def test_without_a_key_that_is_known_nobody_is_let_in(http_url, given):
    said = {} if given is None else {"authorization": given}
    answer = httpx.post(http_url, json=CALL, headers=headers(None) | said, timeout=60)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "unauthenticated"


def test_the_key_of_each_request_says_who_calls(http, keys):
    stored = content(http.post("/mcp", json=calling("store_fact", key="k", value=1)))
    assert stored["scopeKey"] == "session:s1:k"
    other = keys.create(key_request(session="s2")).token
    assert content(http.post("/mcp", json=CALL, headers=headers(other)))["count"] == 0
    assert content(http.post("/mcp", json=CALL))["count"] == 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_there_is_nothing_but_post(http, method):
    answer = http.request(method, "/mcp")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"not json", 400),
        (b"", 400),
        (b"[" * 100_000, 400),
        (b"\xff", 400),
        (b"[]", 400),
        (json.dumps([CALL, CALL]).encode(), 400),
        (b'{"jsonrpc": "2.0", "id": {}, "method": 5}', 400),
        (b'"' + b"x" * 2_100_000 + b'"', 413),
    ],
)
@pytest.mark.parametrize("version", [VERSION, "2026-07-28"])
def test_what_is_no_message_is_refused_and_the_next_one_answered(http, body, status, version):
    said = {"content-type": "application/json", "mcp-protocol-version": version}
    assert http.post("/mcp", content=body, headers=said).status_code == status
    assert content(http.post("/mcp", json=CALL))["count"] == 0


def test_odd_text_in_a_call_is_an_error_of_that_call_and_not_of_the_server(http, stores):
    odd = json.dumps(calling("store_fact", key="\ud800\x00", value="\ud800")).encode()
    plain = {"content-type": "application/json"}
    assert http.post("/mcp", content=odd, headers=plain).status_code in {200, 400}
    modern = json.loads(odd) | {"method": "tools/call"}
    modern["params"]["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    routed = plain | {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "store_fact"}
    answer = http.post("/mcp", content=json.dumps(modern).encode(), headers=routed)
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["structuredContent"]["code"] == "invalid_argument"
    assert stores.facts.read().facts == ()


def test_a_client_that_hangs_up_in_the_middle_of_a_call_holds_nobody_up(http, database_url, stores):
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    request = http.build_request("POST", "/mcp", json=calling("store_fact", key="k", value=1, shared=True))
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    with psycopg.connect(database_url) as locker, psycopg.connect(database_url, autocommit=True) as watcher:
        locker.execute("LOCK TABLE pilotswarm_facts.facts IN SHARE ROW EXCLUSIVE MODE")
        with socket.create_connection((request.url.host, request.url.port)) as line:
            line.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + request.content)
            while watcher.execute(waiting).fetchone() != (1,):
                pass
        assert content(http.post("/mcp", json=CALL))["count"] == 0
        locker.rollback()
    # Waits for the row that the abandoned call may still be writing.
    assert content(http.post("/mcp", json=calling("store_fact", key="k", value=2, shared=True)))["stored"] is True
    assert stores.facts.inspect("shared:k").value == 2


def test_any_process_answers_any_request_as_after_a_restart(http_url, environment, tmp_path, key):
    """Stateless: what one process was told is in the database, nothing else is needed."""

    def ask(url: str, asked: dict) -> dict:
        return content(httpx.post(url, json=asked, headers=headers(key), timeout=60))

    assert ask(http_url, calling("store_fact", key="k/1", value=1))["stored"] is True
    with running(environment, tmp_path) as another:
        url = f"{another.url}/mcp"
        assert ask(url, CALL)["count"] == 1
        assert ask(url, calling("store_fact", key="k/2", value=1))["stored"] is True
    assert ask(http_url, CALL)["count"] == 2


def test_a_stranger_host_or_page_is_refused_before_its_key_is_looked_at(http):
    assert http.post("/mcp", json=CALL, headers={"host": "memory.example.com"}).status_code == 421
    assert http.post("/mcp", json=CALL, headers={"origin": "https://evil.example.com"}).status_code == 403
    assert http.post("/mcp", json=CALL, headers={"origin": "http://localhost:3000"}).status_code == 200


@pytest.mark.parametrize(
    ("rules", "host", "origin", "status"),
    [
        ({}, "localhost", None, None),
        ({}, "LOCALHOST:8000", None, None),
        ({}, "127.0.0.1:1", None, None),
        ({}, "[::1]:8000", None, None),
        ({}, "[::1]", None, None),
        ({}, "memory.example.com", None, 421),
        ({}, "localhost.example.com", None, 421),
        ({}, "", None, 421),
        ({}, "localhost", "null", 403),
        ({}, "localhost", "http://127.0.0.1:5173", None),
        ({}, "localhost", "https://localhost.example.com", 403),
        ({"hosts": ["memory.example.com"]}, "memory.example.com:443", "https://memory.example.com", None),
        ({"hosts": ["memory.example.com:8443"]}, "memory.example.com:443", None, 421),
        ({"hosts": ["*"]}, "a.example", "https://a.example", None),
        ({"hosts": ["*"]}, "a.example", "https://b.example", 403),
        ({"origins": ["https://tools.example.com"]}, "localhost", "https://tools.example.com", None),
        ({"origins": ["https://tools.example.com"]}, "localhost", "http://tools.example.com", 403),
        ({"origins": ["*"]}, "localhost", "https://x.example", None),
    ],
)
def test_hosts_and_origins_are_judged_by_the_settings_and_a_refusal_names_them(rules, host, origin, status):
    said = {"host": host} | ({"origin": origin} if origin is not None else {})
    with capture_logs() as logs:
        refused = HostRules(**rules).refusal(Headers(said))
    assert (None if refused is None else refused.status) == status
    named = {None: [], 421: ["HARVESTER_ALLOWED_HOSTS"], 403: ["HARVESTER_ALLOWED_ORIGINS"]}
    assert [line["setting"] for line in logs] == named[status]
