"""The command in processes of its own, on a database of the test's own."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from facts import StoreFactInput
from facts.access import UNRESTRICTED
from graph.queries import EdgeQuery
from tests.crawler.conftest import HARVESTER, triple


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def fill(stores, count, hot=20):
    facts = [
        StoreFactInput(key=f"k/{n}", value=triple(f"a{n}", "leads to", f"hot {n % hot}", confidence=0.5), shared=True)
        for n in range(count)
    ]
    for at in range(0, count, 1_000):
        stores.facts.store(facts[at : at + 1_000])


def graph_of(stores):
    found, cursor = {}, None
    while True:
        page = stores.graph.search_edges(EdgeQuery(limit=500, cursor=cursor), UNRESTRICTED)
        for edge in page.edges:
            found[edge.from_key, edge.to_key] = (edge.observations, edge.confidence, edge.evidence)
        cursor = page.cursor
        if cursor is None:
            return found


def expected(count, hot=20):
    return {(f"entity:a{n}", f"entity:hot-{n % hot}"): (1, 0.5, (f"shared:k/{n}",)) for n in range(count)}


def test_run_once_drains_and_says_what_it_did(run, stores):
    fill(stores, 50)
    said = lines(run("run", "--once", "--json").stdout)[0]
    assert (said["acked"], said["edges"], said["queue"]["pending"]) == (50, 50, 0)
    assert graph_of(stores) == expected(50)


def test_two_workers_share_the_work_without_doubling_anything(run, stores, server):
    fill(stores, 3_000)
    log_before = server.log_path.stat().st_size
    said = lines(run("run", "--once", "--json", "--workers", "2", HARVESTER_BATCH_SIZE="200").stdout)[0]
    assert said["acked"] == 3_000
    assert graph_of(stores) == expected(3_000)
    with server.log_path.open("rb") as log:
        log.seek(log_before)
        assert b"40P01" not in log.read()


def start(environment, tmp_path, *arguments, **extra):
    return subprocess.Popen(
        [HARVESTER, "run", *arguments], cwd=tmp_path, env=environment | {"HARVESTER_POLL_MAX_SECONDS": "0.3"} | extra,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(condition, seconds=60.0):
    tick = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if condition():
            return
        tick.wait(0.05)
    pytest.fail("it did not happen in time")


@pytest.mark.parametrize("workers", ("1", "2"))
def test_a_running_harvester_stops_on_sigterm_and_holds_nothing(environment, tmp_path, stores, workers):
    fill(stores, 300)
    running = start(environment, tmp_path, "--workers", workers)
    wait_for(lambda: stores.facts.queue_statistics().pending == 0)
    fill(stores, 400)
    wait_for(lambda: stores.facts.queue_statistics().pending == 0)
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=40)
    assert running.returncode == 0, err
    assert "harvested 400 facts" in out
    assert stores.facts.queue_statistics().leased == 0
    assert graph_of(stores) == expected(400)


def test_a_killed_harvester_loses_and_doubles_nothing(environment, tmp_path, stores, run):
    fill(stores, 4_000)
    running = start(environment, tmp_path, HARVESTER_BATCH_SIZE="100", HARVESTER_LEASE_SECONDS="1")
    wait_for(lambda: 0 < stores.facts.queue_statistics().pending < 4_000)
    running.kill()
    running.communicate(timeout=20)
    run("run", "--once", HARVESTER_LEASE_SECONDS="1")
    wait_for(lambda: stores.facts.queue_statistics().leased == 0)
    run("run", "--once", HARVESTER_LEASE_SECONDS="1")
    assert stores.facts.queue_statistics().pending == 0
    assert graph_of(stores) == expected(4_000)


def test_a_worker_that_dies_is_replaced(environment, tmp_path, stores):
    fill(stores, 10)
    running = start(environment, tmp_path, "--workers", "2", HARVESTER_LEASE_SECONDS="1")
    wait_for(lambda: stores.facts.queue_statistics().pending == 0)
    children = [int(pid) for pid in subprocess.check_output(["pgrep", "-P", str(running.pid)], text=True).split()]
    workers = [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    os.kill(workers[1], signal.SIGKILL)
    fill(stores, 20)
    wait_for(lambda: stores.facts.queue_statistics().pending == 0)
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=40)
    assert running.returncode == 0
    assert err.count("worker_died") == 2
    assert graph_of(stores) == expected(20)


def test_a_stream_of_calls_is_answered_in_order_whoever_calls(run):
    given = "\n".join(
        json.dumps(line)
        for line in [
            {"tool": "store_fact", "args": {"key": "a", "value": 1}, "caller": {"sessionId": "s1", "agentId": "x"}},
            {"tool": "read_facts", "args": {}, "caller": {"role": "agent", "sessionId": "s1"}},
            {"tool": "read_facts", "args": {}, "caller": {"role": "agent", "sessionId": "s2"}},
            {"tool": "read_facts", "args": {"scope": "all"}},
            {"tool": "read_facts", "caller": {"role": "boss"}},
        ]
    )
    stored, own, foreign, refused, odd = lines(run("call", "--jsonl", given=given + "\n\n").stdout)
    assert stored["result"]["scopeKey"] == "session:s1:a"
    assert (own["result"]["count"], foreign["result"]["count"]) == (1, 0)
    assert refused["error"]["code"] == "not_permitted"
    assert (odd["error"]["code"], odd["error"]["argument"]) == ("invalid_argument", "role")


def test_a_call_that_names_what_no_text_can_hold_does_not_end_the_stream(run):
    odd = {"\ud800": 1}
    given = [
        {"tool": "read_facts", "args": {}, "caller": odd},
        {"tool": "graph_incorporate", "args": {"facts": [{"scopeKey": "shared:a", "etag": 1} | odd]}},
        {"tool": "read_facts"},
    ]
    done = run("call", "--role", "crawler", "--jsonl", given="\n".join(map(json.dumps, given)))
    refused, rejected, last = lines(done.stdout)
    assert refused["error"]["argument"] == "caller.\ud800"
    assert rejected["result"]["facts"][0]["reason"] == "\ud800 is unknown"
    assert last["ok"]


def test_one_call_prints_its_result_or_one_line_of_error(run):
    done = run("call", "--session", "s1", "--agent", "me", "store_fact", '{"key": "a", "value": 1}')
    assert json.loads(done.stdout)["scopeKey"] == "session:s1:a"
    failed = run("call", "read_facts", '{"limit": 0}', code=1)
    assert failed.stderr.startswith("harvester: invalid_argument: limit")
    assert failed.stderr.count("\n") == 1
    assert "not valid JSON" in run("call", "read_facts", "{", code=1).stderr


def test_the_tools_of_a_role_can_be_listed(run):
    names = {tool["name"] for tool in lines(run("call", "--role", "agent-tuner").stdout)}
    assert "read_facts" in names
    assert "store_fact" not in names


def test_ingest_writes_the_first_rules_and_a_run_harvests_them(run, tmp_path):
    said = run("ingest", "python-env")
    assert "facts stored" in said.stdout
    assert (tmp_path / "harvest.toml").exists()
    assert json.loads(run("run", "--once", "--json").stdout)["queue"]["pending"] == 0
    assert "depends on" in run("show", "package:psycopg").stdout
    stats = json.loads(run("stats", "--json").stdout)
    assert stats["byKind"]["package"] > 5
    again = json.loads(run("ingest", "python-env", "--json").stdout)
    assert again["stored"] == 0


def test_bad_lines_of_a_source_are_named_and_the_exit_code_says_so(run, tmp_path):
    (tmp_path / "facts.jsonl").write_text('{"key": "a", "value": 1}\nnonsense\n')
    done = run("ingest", "jsonl", "facts.jsonl", code=1)
    assert "1 facts stored" in done.stdout
    assert "facts.jsonl:2: not JSON" in done.stderr


def test_the_queue_is_shown_and_failed_facts_are_tried_again(run, stores, tmp_path):
    (tmp_path / "harvest.toml").write_text('[[rules]]\nmatch = "*"\nextractor = "triples"\n')
    stores.facts.store(StoreFactInput(key="odd", value="prose", shared=True))
    run("run", "--once", HARVESTER_MAX_ATTEMPTS="1")
    shown = json.loads(run("queue", "--json").stdout)
    assert (shown["queue"]["parked"], shown["facts"][0]["scopeKey"]) == (1, "shared:odd")
    assert "parked" in run("queue").stdout
    assert json.loads(run("queue", "--unpark", "--json").stdout) == {"due": 1}
    assert json.loads(run("requeue", "--prefix", "odd", "--json").stdout) == {"requeued": 0}


@pytest.mark.parametrize(
    ("arguments", "extra", "said"),
    (
        (["stats"], {"HARVESTER_DATABASE_URL": "mysql://host/facts"}, "PostgreSQL URL"),
        (["stats"], {"HARVESTER_DATABASE_URL": "postgresql://127.0.0.1:1/none"}, "not reachable"),
        (["stats"], {"HARVESTER_DATABASE_URL": ""}, "there is no database"),
        (["run", "--once"], {"HARVESTER_FACTS_SCHEMA": "other_facts"}, "harvester migrate"),
        (["run", "--once"], {"HARVESTER_CONFIG": "nowhere.toml"}, "cannot read nowhere.toml"),
        (["run", "--once"], {"HARVESTER_GRAPH_URL": "off"}, "there is no graph"),
        (["ingest", "git", "/"], {}, "git cannot read"),
    ),
)
def test_what_cannot_work_is_one_line_that_says_what_to_do(run, tmp_path, arguments, extra, said):
    done = run(*arguments, code=1, **extra)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("harvester: ")
    assert said in last
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".harvester").exists()


def test_logs_are_json_when_nobody_watches(run, stores):
    stores.facts.store(StoreFactInput(key="a", value={"nodes": [{"kind": "!", "name": "x"}]}, shared=True))
    err = run("run", "--once").stderr
    (event,) = [json.loads(line) for line in err.splitlines() if "fact_failed" in line]
    assert (event["event"], event["scope_key"], event["level"]) == ("fact_failed", "shared:a", "warning")


@pytest.mark.parametrize("export_format", ("jsonl", "node-link", "graphml", "gexf"))
def test_the_graph_is_exported_whole_to_a_file(run, stores, tmp_path, export_format):
    fill(stores, 5)
    run("run", "--once")
    run("export", "graph.out", "--format", export_format)
    text = (tmp_path / "graph.out").read_text()
    assert all(f"entity:a{n}" in text for n in range(5))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_export_in_an_unknown_format_or_to_nowhere_is_refused(run, tmp_path):
    assert "format must be one of" in run("export", "x", "--format", "csv", code=1).stderr
    assert "cannot write" in run("export", "nowhere/x", code=1).stderr
    assert list(tmp_path.iterdir()) == []
