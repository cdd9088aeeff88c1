"""The edge: slow clients, too many at once, statements that take too long."""

import asyncio
import socket
import threading
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from crawler.protocol.hosts import HostRules
from crawler.serving.errors import json_answer
from crawler.serving.limits import Edge, EdgeLimits
from facts.access import Role
from tests.crawler.serving.served import clean_environment, running

TIGHT = {
    "HARVESTER_POOL_SIZE": "2", "HARVESTER_MAX_WAITING": "1", "HARVESTER_BODY_SECONDS": "0.3",
    "HARVESTER_REQUEST_SECONDS": "20", "HARVESTER_STATEMENT_SECONDS": '{"agent": 0.2}',
}  # fmt: skip
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture(scope="module")
def served(database_url, tmp_path_factory):
    with running(clean_environment(database_url) | TIGHT, tmp_path_factory.mktemp("tight")) as found:
        yield found


def test_a_body_that_does_not_come_is_given_up_and_holds_no_thread(served, client, token):
    parts = urlsplit(served.url)
    head = f"POST /v1/tools/store_fact HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token()}\r\n"
    slow = [socket.create_connection((parts.hostname, parts.port), timeout=30) for _ in range(8)]
    for wire in slow:
        wire.sendall(head.encode() + b"Content-Length: 20\r\n\r\n{")
    assert client("agent").get("/v1/facts").status_code == 200, "eight that dawdle are more than there are threads"
    for wire in slow:
        assert wire.recv(65_536).startswith(b"HTTP/1.1 408 ")
        wire.close()


def test_a_statement_takes_no_longer_than_its_role_may_wait(client, database_url, stores):
    with psycopg.connect(database_url) as locker:
        locker.execute("LOCK TABLE pilotswarm_facts.facts IN ACCESS EXCLUSIVE MODE")
        answer = client("agent", session="s1").get("/v1/facts")
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert answer.headers["retry-after"] == "1"
    assert "longer than it may" in answer.json()["message"]
    assert client("agent", session="s1").get("/v1/facts").status_code == 200


def test_beyond_those_at_work_and_those_who_wait_the_answer_is_503_at_once(served, client, database_url):
    """Two threads wait for a lock, one request waits for a thread: the next one finds no room."""
    patient = client("crawler", session="c")
    answers: list[int] = []
    with psycopg.connect(database_url) as locker, psycopg.connect(database_url, autocommit=True) as watcher:
        locker.execute("LOCK TABLE pilotswarm_facts.facts IN ACCESS EXCLUSIVE MODE")
        asking = [
            threading.Thread(target=lambda: answers.append(patient.get("/v1/facts").status_code)) for _ in range(3)
        ]
        for thread in asking:
            thread.start()
        while watcher.execute(WAITING).fetchone() != (2,):
            pass
        full = httpx.get(f"{served.url}/v1/facts")
        while full.status_code != 503:
            # Without a key: the third request may not be in yet.
            assert full.status_code == 401
            full = httpx.get(f"{served.url}/v1/facts")
        assert full.json()["code"] == "busy"
        assert full.headers["retry-after"] == "1"
        assert httpx.get(f"{served.url}/healthz").status_code == 200, "whoever watches is let in"
        locker.rollback()
        for thread in asking:
            thread.join()
    assert answers == [200, 200, 200]
    assert client("agent").get("/v1/facts").status_code == 200


def ask(edge: Edge, **scope) -> list[dict]:
    """One request without a body, as ASGI."""
    sent: list[dict] = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost")]
    asked = {"type": "http", "method": "GET", "path": "/x", "headers": headers} | scope
    asyncio.run(edge(asked, receive, send))
    return sent


def test_a_request_that_takes_too_long_is_answered_all_the_same():
    async def never(_scope, _receive, _send):
        await asyncio.Event().wait()

    limits = EdgeLimits(body_bytes=100, request_seconds=0.05)
    sent = ask(Edge(never, hosts=HostRules(), limits=limits))
    assert sent[0]["status"] == 503


def test_what_an_answer_says_of_itself_is_not_overwritten():
    async def app(scope, receive, send):
        await json_answer({}, headers={"cache-control": "no-cache"})(scope, receive, send)

    sent = ask(Edge(app, hosts=HostRules(), limits=EdgeLimits(body_bytes=100)))
    assert (b"cache-control", b"no-cache") in sent[0]["headers"]
    assert (b"x-frame-options", b"DENY") in sent[0]["headers"]


def test_the_timeout_of_a_role_does_not_stay_on_the_connection(stores):
    db = stores.facts.db

    def told() -> str:
        return db.run(lambda conn: conn.execute("SHOW statement_timeout").fetchone()[0])

    before = told()
    with db.statements_within(1.5):
        assert told() == "1500ms"
        with db.statements_within(None):
            assert told() == before
    assert told() == before
    assert {role.value for role in Role} == set(stores_roles())


def stores_roles() -> list[str]:
    from crawler.settings import STATEMENT_SECONDS  # noqa: PLC0415 - what is asked is whether each role is there

    return [role.value for role in STATEMENT_SECONDS]
