"""The line itself: what hosts and broken clients send, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from crawler.protocol.stdio import lines
from tests.crawler.serving.served import HARVESTER

OPENING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
LOCK = "LOCK TABLE pilotswarm_facts.facts IN SHARE ROW EXCLUSIVE MODE"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Server:
    """A server process and the ends of its pipes."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process

    def write(self, line: bytes) -> None:
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, request_id, method: str, params: dict) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode())

    def call(self, request_id, tool: str, **arguments) -> None:
        self.ask(request_id, "tools/call", {"name": tool, "arguments": arguments})

    def read(self) -> dict:
        line = self.process.stdout.readline()
        assert line, "the server closed its stdout"
        return json.loads(line)

    def answer(self, request_id, tool: str, **arguments) -> dict:
        self.call(request_id, tool, **arguments)
        said = self.read()
        assert said["id"] == request_id
        return said["result"]["structuredContent"]


@contextmanager
def running(environment, folder: Path, *options: str, **extra: str):
    process = subprocess.Popen(
        [HARVESTER, "mcp", "--session", "s1", "--agent", "a", *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment | extra, cwd=folder,
    )  # fmt: skip
    try:
        yield Server(process)
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
        process.wait()


@contextmanager
def opened(environment, folder: Path, **extra: str):
    with running(environment, folder, **extra) as server:
        server.ask(0, "initialize", OPENING)
        assert server.read()["result"]["serverInfo"]["name"] == "harvester"
        server.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        yield server


@contextmanager
def held(database_url: str):
    """Stores wait until the block lets them go: `wait()` returns when one does."""
    with psycopg.connect(database_url) as locker, psycopg.connect(database_url, autocommit=True) as watcher:
        locker.execute(LOCK)

        def wait() -> None:
            while watcher.execute(WAITING).fetchone() == (0,):
                pass

        yield wait, locker.rollback


NO_MESSAGES = {
    b"not json": -32700,
    b"{": -32700,
    b"[" * 100_000: -32700,
    b"\xff\xfe": -32700,
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "\\ud800"}}': -32700,
    b"17": -32600,
    b"[]": -32600,
    b"{}": -32600,
    b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]': -32600,
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": null, "method": "ping"}': -32600,
    b'{"jsonrpc": "2.0", "id": 1, "method": 5}': -32600,
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "' + b"x" * 400_000 + b'"}': -32600,
}


def test_what_is_no_message_is_answered_as_such_and_the_line_goes_on(environment, tmp_path, stores):
    with opened(environment, tmp_path, HARVESTER_MAX_MESSAGE_BYTES="300000") as server:
        for line, code in NO_MESSAGES.items():
            server.write(line)
            said = server.read()
            assert (said["id"], said["error"]["code"]) == (None, code), line[:80]
        server.write(b"")
        assert server.answer("after", "read_facts")["count"] == 0
    assert stores.facts.read().facts == ()


REQUESTS = [
    ("no/such/method", {}),
    ("tools/call", {}),
    ("tools/call", {"name": 5}),
    ("tools/call", {"name": "store_fact", "arguments": [1]}),
    ("tools/call", {"name": "store_fact", "arguments": {"key": "k", "value": 1, "caller": {"role": "facts-manager"}}}),
    ("tools/call", {"name": "store_fact", "arguments": {"key": "k" * 250_000, "value": 1}}),
    ("tools/call", {"name": "store_fact", "arguments": {"key": "k", "value": "x" * 250_000}}),
    ("tools/call", {"name": "store_fact", "arguments": {"facts": [{"key": "k", "value": 1}] * 2}}),
    ("tools/call", {"name": "x" * 100_000}),
    ("prompts/get", {"name": "no such"}),
    ("resources/read", {"uri": "file:///etc/passwd"}),
    ("initialize", {"protocolVersion": 5}),
]


def test_a_request_that_cannot_be_is_an_error_and_changes_nothing(environment, tmp_path, stores):
    with opened(
        environment, tmp_path, HARVESTER_MAX_MESSAGE_BYTES="300000", HARVESTER_MAX_VALUE_BYTES="100000"
    ) as server:
        for number, (method, params) in enumerate(REQUESTS, start=1):
            server.ask(number, method, params)
            said = server.read()
            assert said["id"] == number
            assert "error" in said or said["result"]["isError"], (method, str(params)[:80])
        assert server.answer("after", "read_facts")["count"] == 0
    assert stores.facts.read().facts == ()


def test_a_cancelled_call_is_not_answered_and_holds_nobody_up(environment, tmp_path, database_url, stores):
    with opened(environment, tmp_path) as server, held(database_url) as (wait, let_go):
        server.call(1, "store_fact", key="k", value=1, shared=True)
        wait()
        server.write(
            b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}}'
        )
        assert server.answer(2, "read_facts")["count"] == 0
        let_go()
        assert server.answer(3, "store_fact", key="other", value=2, shared=True)["stored"] is True
        server.process.stdin.close()
        assert server.process.stdout.read() == b""
        assert server.process.wait(30) == 0
    assert stores.facts.inspect("shared:other").value == 2


def test_what_was_asked_before_stdin_closed_is_answered_and_then_the_server_ends(environment, tmp_path, database_url):
    with opened(environment, tmp_path) as server, held(database_url) as (wait, let_go):
        for number in (1, 2):
            server.call(number, "store_fact", key=f"k/{number}", value=1, shared=True)
        server.process.stdin.close()
        wait()
        let_go()
        answers = {server.read()["id"] for _ in (1, 2)}
        assert answers == {1, 2}
        assert server.process.stdout.read() == b""
        assert server.process.wait(30) == 0


def test_a_host_that_goes_away_in_the_middle_of_a_call_leaves_no_process_behind(
    environment, tmp_path, database_url, stores
):
    with opened(environment, tmp_path) as server, held(database_url) as (wait, let_go):
        server.call(1, "store_fact", key="k", value=1, shared=True)
        wait()
        server.process.stdout.close()
        server.process.stdin.close()
        let_go()
        assert server.process.wait(30) == 0
    assert stores.facts.inspect("shared:k").value == 1


def test_sigterm_ends_the_server_while_its_host_keeps_the_line_open(environment, tmp_path):
    with opened(environment, tmp_path) as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0


def test_a_launch_registers_its_session_below_its_parent_and_a_second_one_leaves_it_there(
    environment, tmp_path, stores
):
    for options in (["--parent-session", "root"], []):
        with running(environment, tmp_path, *options) as server:
            server.process.stdin.close()
            assert server.process.wait(30) == 0
    session = stores.facts.sessions.get("s1")
    assert (session.parent_session_id, session.agent_id) == ("root", "a")


@pytest.mark.parametrize(
    ("options", "extra", "said"),
    [
        (["--session", "a:b"], {}, "session"),
        (["--parent-session", "s1"], {}, "own parent"),
        ([], {"HARVESTER_DATABASE_URL": "postgresql://user@127.0.0.1:1/none"}, "127.0.0.1"),
    ],
)
def test_a_launch_that_cannot_be_says_why_on_stderr_and_nothing_on_stdout(environment, tmp_path, options, extra, said):
    with running(environment, tmp_path, *options, **extra) as server:
        out, err = server.process.communicate(timeout=60)
    assert server.process.returncode != 0
    assert out == b""
    assert said in err.decode()
    assert "Traceback" not in err.decode()


def test_stdout_carries_the_protocol_only_whatever_the_locale_and_the_level_of_logs(environment, tmp_path):
    speech = {"PYTHONIOENCODING": "cp1252", "HARVESTER_LOG_LEVEL": "debug", "HARVESTER_LOG_FORMAT": "console"}
    with opened(environment, tmp_path, **speech) as server:
        text = "🌊 \u2028 café"
        server.answer(1, "store_fact", key="k", value=text)
        assert server.answer(2, "read_facts")["facts"][0]["value"] == text
        server.call(3, "graph_search_nodes", nameLike=text)
        server.process.stdin.close()
        assert json.loads(server.process.stdout.readline())["id"] == 3
        assert server.process.stdout.read() == b""
        assert b"usage" in server.process.stderr.read()


def test_what_a_library_or_a_child_prints_goes_to_stderr_and_nobody_else_reads_stdin():
    program = """
import os, subprocess, sys
from crawler.protocol.stdio import claimed_stdio
print("before")
with claimed_stdio() as wire:
    print("printed")
    subprocess.run(["sh", "-c", "echo child; cat"], check=True)
    os.write(wire.sink, b"protocol: " + os.read(wire.source, 100))
print("after")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], input=b"asked\n", capture_output=True, check=True, timeout=60
    )
    assert done.stdout == b"before\nprotocol: asked\nafter\n"
    assert sorted(done.stderr.split()) == [b"child", b"printed"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([b"one\ntw", b"o\n"], [b"one", b"two"]),
        ([b"12345678\n123456789\n1\n"], [b"12345678", None, b"1"]),
        ([b"1234", b"56789", b"0123\nok\n"], [None, b"ok"]),
        ([b"no end"], [b"no end"]),
        ([b"123456789"], [None]),
        ([b"\n\n"], [b"", b""]),
        ([], []),
    ],
)
def test_lines_are_whole_however_they_arrive_and_too_long_ones_are_left_out(sent, expected):
    source, sink = os.pipe()
    for part in sent:
        os.write(sink, part)
    os.close(sink)
    found = list(lines(source, 8))
    os.close(source)
    assert found == expected
