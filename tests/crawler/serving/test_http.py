"""What is served over HTTP, asked of `harvester serve` in a process of its own."""

import json
import socket
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from crawler.serving.routes import READS
from facts import StoreFactInput
from facts.access import Role, Writer


def store(client, **arguments):
    answer = client.post("/v1/tools/store_fact", json=arguments)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: httpx.Response, status: int, code: str, argument: str | None = None) -> dict:
    assert answer.status_code == status, answer.text
    said = answer.json()
    assert said["code"] == code
    assert set(said) <= {"code", "message", "argument"}
    if argument is not None:
        assert said["argument"] == argument
    return said


def test_the_key_says_who_calls_and_a_tool_answers_with_its_result(client):
    ada = client("agent", session="s1", agent_id="ada")
    stored = store(ada, key="notes/a", value={"n": 1})
    assert stored["scopeKey"] == "session:s1:notes/a"
    (fact,) = ada.get("/v1/facts", params={"keyPattern": "notes/*"}).json()["facts"]
    assert (fact["agentId"], fact["sessionId"], fact["value"]) == ("ada", "s1", {"n": 1})
    assert client("agent", session="s2").get("/v1/facts").json()["count"] == 0


def test_who_is_calling_is_never_an_argument(client):
    ada = client("agent", session="s1", agent_id="ada")
    for name in ("role", "caller", "unrestricted", "agentId", "sessionId", "session_id", "acting_session"):
        answer = ada.post("/v1/tools/store_fact", json={"key": "k", "value": 1, name: "s2"})
        refused(answer, 422, "invalid_argument", name)
        answer = ada.post(f"/v1/tools/store_fact?{name}=s2", json={"key": "k", "value": 1})
        assert answer.json()["scopeKey"] == "session:s1:k"
    refused(ada.get("/v1/facts?role=facts-manager"), 422, "invalid_argument", "role")
    # `session_id` of read_facts filters by writer; it opens nothing.
    store(client("agent", session="s2"), key="secret", value=1)
    assert ada.get("/v1/facts?sessionId=s2").json()["count"] == 0


@pytest.mark.parametrize("given", [None, "Bearer", "Bearer hv_wrong", "Basic eDp5", "Bearer hv_" + "A" * 43])
def test_without_a_key_that_holds_nobody_is_let_in(served, given):
    headers = {} if given is None else {"authorization": given}
    for method, path in (("POST", "/v1/tools/store_fact"), ("GET", "/v1/facts"), ("DELETE", "/v1/sessions/s1"),
                         ("POST", "/v1/tools/nothing"), ("GET", "/metrics"), ("GET", "/v1/guides")):  # fmt: skip
        answer = httpx.request(method, served.url + path, headers=headers)
        refused(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_key_for_several_sessions_without_one_named_writes_shared_facts_only(client):
    several = client("agent", several=("a", "b"))
    said = refused(several.post("/v1/tools/store_fact", json={"key": "k", "value": 1}), 422, "invalid_argument")
    assert "session" in said["message"]
    assert store(several, key="k", value=1, shared=True)["scope"] == "shared"
    assert several.get("/v1/facts").json()["count"] == 1
    named = client("agent", several=("a", "b"), acting="b")
    assert store(named, key="k", value=1)["scopeKey"] == "session:b:k"
    refused(client("agent", several=("a", "b"), acting="c").get("/v1/facts"), 403, "not_permitted")


def test_roles_and_missing_tools_have_their_statuses(client):
    agent = client("agent", session="s1")
    refused(agent.get("/v1/stats"), 403, "not_permitted")
    refused(agent.post("/v1/tools/graph_fly", json={}), 404, "not_found", "tool")
    refused(agent.get("/v1/nowhere"), 404, "not_found")
    answer = agent.get("/v1/tools/store_fact")
    refused(answer, 405, "unsupported")
    assert answer.headers["allow"] == "POST"
    refused(agent.post("/v1/tools/store_fact", json={"key": "", "value": 1}), 422, "invalid_argument")
    refused(agent.post("/v1/tools/store_fact", json={"key": "k", "value": "x" * 1_100_000}), 413, "too_large")
    refused(agent.post("/v1/tools/graph_upsert_node", json={"kind": "a", "name": "b", "evidence": ["shared:x"]}),
            404, "not_found")  # fmt: skip


def test_an_agent_tuner_reads_everything_and_changes_nothing(client, stores):
    stores.facts.store(StoreFactInput(key="private", value=1), Writer(session_id="s1", role=Role.AGENT))
    tuner = client("agent-tuner", session="t")
    assert tuner.get("/v1/facts?scope=all").json()["count"] == 1
    offered = tuner.get("/v1/tools").json()["tools"]
    assert not any(tool["mutates"] for tool in offered)
    everything = client("facts-manager").get("/v1/tools").json()["tools"]
    before = stores.facts.read().facts
    for tool in everything:
        if tool["mutates"]:
            refused(tuner.post(f"/v1/tools/{tool['name']}", json={}), 403, "not_permitted", "tool")
    refused(tuner.post("/v1/sessions", json={"sessionId": "x", "parentSessionId": "t"}), 403, "not_permitted")
    refused(tuner.delete("/v1/sessions/t"), 403, "not_permitted")
    refused(tuner.post("/v1/sessions/t/sweep"), 403, "not_permitted")
    assert stores.facts.read().facts == before


def test_typed_reads_are_the_tools_with_a_query_for_arguments(client):
    crawler = client("crawler", session="c")
    for kind, name in (("ship", "Aurora"), ("ship", "Dawn"), ("port", "Alva")):
        assert crawler.post("/v1/tools/graph_upsert_node", json={"kind": kind, "name": name}).status_code == 200
    edge = {"fromKey": "ship:aurora", "toKey": "port:alva", "predicate": "berthed in", "confidence": 0.5}
    assert crawler.post("/v1/tools/graph_upsert_edge", json=edge).status_code == 200
    first = crawler.get("/v1/nodes", params={"kind": "Ship", "limit": 1}).json()
    rest = crawler.get("/v1/nodes", params={"kind": "Ship", "limit": 1, "cursor": first["cursor"]}).json()
    assert {first["nodes"][0]["name"], rest["nodes"][0]["name"]} == {"Aurora", "Dawn"}
    assert crawler.get("/v1/edges", params={"minConfidence": "0.6"}).json()["count"] == 0
    assert crawler.get("/v1/edges", params={"min_confidence": "0.4"}).json()["count"] == 1
    around = crawler.get("/v1/neighbourhood", params={"nodeKey": "ship:aurora", "direction": "out"}).json()
    assert (around["anchor"]["name"], [node["name"] for node in around["nodes"]]) == ("Aurora", ["Alva"])
    seeds = crawler.get("/v1/nodes", params=[("seeds", "ship:aurora"), ("seeds", "ship:dawn")]).json()
    assert (
        seeds["count"] == crawler.get("/v1/nodes", params={"seeds": '["ship:aurora","ship:dawn"]'}).json()["count"] == 3
    )
    assert crawler.get("/v1/namespaces?includeDetails=true").json()["count"] == 1
    assert crawler.get("/v1/namespace?namespace=none").json() == {"found": False, "namespace": "none"}
    assert crawler.get("/v1/nodes?limit=900").json()["capped"] == {"limit": 500}
    assert client("facts-manager").get("/v1/stats").json()["nodes"] == 3


@pytest.mark.parametrize(
    ("path", "argument"),
    [
        ("/v1/facts?limit=0", "limit"),
        ("/v1/facts?limit=many", "limit"),
        ("/v1/facts?limit=1.5", "limit"),
        ("/v1/facts?limit=5&limit=6", "limit"),
        ("/v1/facts?valueOffset=-1", "valueOffset"),
        ("/v1/facts?scopeKeys=[1]", "scopeKeys.0"),
        ("/v1/facts?keyPattern=%00", "keyPattern"),
        ("/v1/facts?wrong=1", "wrong"),
        ("/v1/namespaces?includeDetails=yes", "includeDetails"),
        ("/v1/namespace", "namespace"),
        ("/v1/nodes?minConfidence=2", "minConfidence"),
        ("/v1/neighbourhood?nodeKey=a:b&direction=up", "direction"),
    ],
)
def test_a_bad_query_names_the_argument(client, path, argument):
    refused(client("agent", session="s1").get(path), 422, "invalid_argument", argument)


def test_the_description_holds_every_tool_with_its_schema_and_every_read(served):
    said = httpx.get(f"{served.url}/openapi.json").json()
    posts = {path for path, item in said["paths"].items() if "post" in item}
    assert "/v1/tools/store_fact" in posts
    body = said["paths"]["/v1/tools/store_fact"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = said["components"]["schemas"][body["$ref"].rpartition("/")[2]]
    assert {"key", "value", "tags", "shared", "facts"} == set(schema["properties"])
    for path in READS:
        assert said["paths"][path]["get"]["parameters"] or path == "/v1/stats"
    text = json.dumps(said)
    for ref in {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}:
        assert ref in said["components"]["schemas"]
    assert "#/$defs" not in text


# --- hostile input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"null", {}, 400),
        (b'"text"', {}, 400),
        (b"\xff\xfe{}", {}, 400),
        (b'{"key": "\xff"}', {}, 400),
        (b'{"key": "k", "value": NaN}', {}, 400),
        (b'{"key": "k", "value": Infinity}', {}, 400),
        (b'{"key": "k", "value": ' + b"9" * 5_000 + b"}", {}, 400),
        (b'{"key": "k", "value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", {}, 400),
        (b'{"key": "k", "value": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}", {}, 422),
        (b'{"key": "\\ud800", "value": 1}', {}, 422),
        (b'{"key": "a\\u0000b", "value": 1}', {}, 422),
        (b'{"key": "k", "value": 1}', {"content-type": "text/plain"}, 415),
        (b'{"key": "k", "value": 1}', {"content-type": "multipart/form-data; boundary=x"}, 415),
        (b'{"key": "k", "value": 1}', {"content-encoding": "gzip"}, 415),
    ],
)
def test_what_is_no_call_is_refused_and_stores_nothing(client, stores, body, said, status):
    answer = client("agent", session="s1").post(
        "/v1/tools/store_fact", content=body, headers={"content-type": "application/json"} | said
    )
    assert answer.status_code == status, answer.text
    assert answer.json()["code"] in {"invalid_argument", "unsupported"}
    assert stores.facts.sessions.get("s1") is None
    with stores.facts.db.transaction() as connection:
        assert connection.execute("SELECT count(*) FROM pilotswarm_facts.facts").fetchone() == (0,)


def test_a_body_beyond_the_cap_is_refused_before_it_is_read(served, token):
    parts = urlsplit(served.url)
    for framing in (b"Content-Length: 900000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"):
        with socket.create_connection((parts.hostname, parts.port), timeout=30) as wire:
            head = (
                f"POST /v1/tools/store_fact HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token()}\r\n"
                "Content-Type: application/json\r\n"
            )
            wire.sendall(head.encode() + framing)
            if b"chunked" in framing:
                chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
                for _ in range(40):
                    wire.sendall(chunk)
            assert wire.recv(65_536).startswith(b"HTTP/1.1 413 ")


def raw(served, text: bytes) -> bytes:
    parts = urlsplit(served.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as wire:
        wire.sendall(text)
        return wire.recv(65_536)


@pytest.mark.parametrize("name", ["Authorization", "X-Harvester-Session", "Host", "Content-Type"])
def test_a_header_that_stands_there_twice_is_refused(served, token, name):
    twice = {
        "Authorization": f"Bearer {token()}",
        "X-Harvester-Session": "a",
        "Host": "localhost",
        "Content-Type": "a/b",
    }
    lines = ["Host: localhost", f"Authorization: Bearer {token()}", f"{name}: {twice[name]}"]
    if name not in {"Host", "Authorization"}:
        lines.append(f"{name}: {twice[name]}")
    answer = raw(served, ("GET /v1/facts HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_what_is_no_http_is_refused_and_the_server_goes_on(served, client):
    for text in (b"\x16\x03\x01\x00\xff", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                 b"POST /v1/facts HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
                 b"GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"):  # fmt: skip
        assert raw(served, text + b"\r\n\r\n").split(b" ")[1][:1] == b"4"
    assert client("agent").get("/v1/facts").status_code == 200


def test_strangers_hosts_and_pages_are_refused_and_no_answer_is_for_other_origins(client):
    agent = client("agent")
    refused(agent.get("/v1/facts", headers={"host": "memory.example.com"}), 421, "not_permitted")
    refused(agent.get("/v1/facts", headers={"origin": "https://evil.example.com"}), 403, "not_permitted")
    answer = agent.options("/v1/facts", headers={"access-control-request-method": "GET"})
    assert answer.status_code == 405
    answer = agent.get("/v1/facts", headers={"origin": "http://localhost:3000"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_is_for_its_reader_only(client, served):
    agent = client("agent")
    ids = set()
    for answer in (agent.get("/v1/facts"), agent.get("/v1/nowhere"), httpx.get(f"{served.url}/v1/facts"),
                   agent.get("/v1/facts", headers={"host": "x.example.com"})):  # fmt: skip
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
        ids.add(answer.headers["x-request-id"])
    assert len(ids) == 4


def test_a_fault_of_the_server_says_a_request_id_and_no_more(client, served, database_url):
    agent = client("agent", session="s1")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "ALTER TABLE pilotswarm_facts.facts ADD CONSTRAINT broken CHECK (key <> 'canary-key') NOT VALID"
        )
    try:
        answer = agent.post("/v1/tools/store_fact", json={"key": "canary-key", "value": "canary-value"})
    finally:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("ALTER TABLE pilotswarm_facts.facts DROP CONSTRAINT broken")
    said = refused(answer, 500, "internal")
    request_id = answer.headers["x-request-id"]
    assert said == {"code": "internal", "message": f"something failed inside; the log has it under {request_id}"}
    lines = [json.loads(line) for line in served.log.read_text().splitlines() if request_id in line]
    assert "tool_failed" in {line["event"] for line in lines}
    assert any("canary-key" in line.get("exception", "") for line in lines)


# --- sessions ------------------------------------------------------------------------------------------------------


def test_a_session_is_spawned_below_ones_own_swept_and_ended(client, stores):
    stores.facts.sessions.register("root")
    root = client("agent", session="root")
    made = root.post("/v1/sessions", json={"sessionId": "child", "parentSessionId": "root", "agentId": "a"})
    assert made.status_code == 201
    assert (made.json()["sessionId"], made.json()["parentSessionId"]) == ("child", "root")
    assert root.post("/v1/sessions", json={"sessionId": "child", "parentSessionId": "root"}).status_code == 201
    store(client("agent", session="child"), key="private", value=1)
    assert root.get("/v1/facts").json()["count"] == 1, "families read each other"
    assert root.post("/v1/sessions/root/sweep").json() == {"sessionId": "root", "factsDeleted": 1}
    refused(
        client("agent", session="child").post("/v1/tools/store_fact", json={"key": "k", "value": 1}), 409, "conflict"
    )


def test_nobody_joins_a_family_that_is_not_his(client, stores):
    sessions = stores.facts.sessions
    sessions.register("mine")
    sessions.register("theirs")
    stores.facts.store(StoreFactInput(key="secret", value=1), Writer(session_id="unheard", role=Role.AGENT))
    mine = client("agent", session="mine")
    for asked in ({"sessionId": "mine", "parentSessionId": "theirs"}, {"sessionId": "new", "parentSessionId": "theirs"},
                  {"sessionId": "theirs"}):  # fmt: skip
        refused(mine.post("/v1/sessions", json=asked), 403, "not_permitted")
    for taken in ("theirs", "unheard"):
        refused(mine.post("/v1/sessions", json={"sessionId": taken, "parentSessionId": "mine"}), 409, "conflict")
    for method, path in (("DELETE", "/v1/sessions/theirs"), ("POST", "/v1/sessions/theirs/sweep")):
        refused(mine.request(method, path), 403, "not_permitted")
    assert sessions.get("theirs").parent_session_id is None
    assert sessions.get("mine").parent_session_id is None
    assert mine.get("/v1/facts").json()["count"] == 0
    moved = client("facts-manager").post("/v1/sessions", json={"sessionId": "theirs", "parentSessionId": "mine"})
    assert moved.status_code == 201
    assert client("facts-manager").delete("/v1/sessions/theirs").json()["factsDeleted"] == 0


# --- those who watch -----------------------------------------------------------------------------------------------


def test_probes_need_no_key_and_metrics_need_one_that_may_see_numbers(client, served):
    assert httpx.get(f"{served.url}/healthz", headers={"host": "10.0.0.7:8420"}).json() == {"status": "ok"}
    assert httpx.get(f"{served.url}/readyz", headers={"host": "10.0.0.7:8420"}).json() == {"status": "ready"}
    refused(client("agent").get("/metrics"), 403, "not_permitted")
    refused(client("crawler").get("/metrics"), 403, "not_permitted")
    store(client("agent", session="secret-session"), key="secret-key", value="secret-value")
    refused(client("agent").post("/v1/tools/secret-tool", json={}), 404, "not_found")
    text = client("agent-tuner").get("/metrics").text
    assert 'harvester_tool_calls_total{outcome="ok",tool="store_fact"}' in text
    assert 'harvester_http_requests_total{method="POST",route="/v1/tools/store_fact",status="200"}' in text
    assert "harvester_database_up 1.0" in text
    assert "harvester_queue_oldest_seconds" in text
    assert "secret" not in text


def test_guides_are_there_for_those_who_do_not_speak_mcp(client):
    agent = client("agent", session="s1")
    (first, *_) = agent.get("/v1/guides").json()["guides"]
    assert len(agent.get(f"/v1/guides/{first['name']}").json()["text"]) > 200
    refused(agent.get("/v1/guides/none"), 404, "not_found")
