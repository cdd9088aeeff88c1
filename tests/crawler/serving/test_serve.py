"""`harvester serve` as a process: a first start, harvesters beside it, its end, and a database that goes away."""

import json
import re
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest

from facts.embedded import EmbeddedServer
from tests.crawler.conftest import triple
from tests.crawler.serving.served import HARVESTER, clean_environment, running

PATIENCE_S = 60


def make_key(environment, folder, *options: str) -> dict[str, str]:
    done = subprocess.run(
        [HARVESTER, "keys", "create", *options], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return {"authorization": f"Bearer {done.stdout.strip()}"}


def until(what, holds, seconds: float = PATIENCE_S):
    """Asks again and again; the answer that holds."""
    give_up = time.monotonic() + seconds
    while not holds(answer := what()):
        assert time.monotonic() < give_up, answer
    return answer


def test_in_an_empty_folder_it_makes_a_database_says_how_to_make_a_key_and_harvests():
    with tempfile.TemporaryDirectory(prefix="harvester-serve-") as scratch:
        folder, environment = Path(scratch), clean_environment() | {"HARVESTER_POLL_MAX_SECONDS": "0.2"}
        with running(environment, folder, "--harvest", "1", "--wake-exec", "echo $HARVESTER_WAKE >> woken") as served:
            assert "harvester keys create --role facts-manager" in served.log.read_text()
            assert httpx.get(f"{served.url}/readyz").status_code == 200
            key = make_key(environment, folder, "--role", "facts-manager", "--session", "fm")
            with httpx.Client(base_url=served.url, headers=key, timeout=60) as client:
                said = {"key": "a", "value": triple("Ann", "knows", "Bob"), "shared": True}
                assert client.post("/v1/tools/store_fact", json=said).status_code == 200
                until(lambda: client.get("/v1/edges").json()["count"], lambda count: count == 1)
                seen = {"key": "intake/seen", "value": 1, "shared": True}
                assert client.post("/v1/tools/store_fact", json=seen).status_code == 200
                until((folder / "woken").read_text, lambda woken: '"notified"' in woken)
                assert client.get("/").headers["content-type"].startswith("text/html")
            worker = next(iter(children(served.process.pid)))
        assert not Path(f"/proc/{worker}").exists(), "workers end with the server"


def children(pid: int) -> list[int]:
    """Processes that this one started which run workers."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [
        int(child) for each in found for child in each.read_text().split()
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]  # fmt: skip


def test_a_stop_lets_what_is_in_hand_end_and_is_ready_for_nobody(database_url, tmp_path, token):
    environment = clean_environment(database_url)
    key = {"authorization": f"Bearer {token('crawler', session='c')}"}
    answers: list[httpx.Response] = []
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with running(environment, tmp_path) as served:
        with psycopg.connect(database_url) as locker, psycopg.connect(database_url, autocommit=True) as watcher:
            locker.execute("LOCK TABLE pilotswarm_facts.facts IN ACCESS EXCLUSIVE MODE")

            def ask() -> None:
                answers.append(httpx.get(f"{served.url}/v1/facts", headers=key, timeout=60))

            asking = threading.Thread(target=ask)
            asking.start()
            until(lambda: watcher.execute(waiting).fetchone(), lambda row: row == (1,))
            kept = httpx.Client(base_url=served.url)
            assert kept.get("/readyz").status_code == 200
            served.process.send_signal(signal.SIGTERM)
            until(lambda: "stopping" in served.log.read_text(), bool)
            locker.rollback()
            asking.join()
            kept.close()
        assert served.process.wait(PATIENCE_S) == 0
    assert answers[0].status_code == 200


def test_a_stop_cuts_off_at_its_deadline(database_url, tmp_path, token):
    environment = clean_environment(database_url) | {"HARVESTER_SHUTDOWN_SECONDS": "1"}
    key = {"authorization": f"Bearer {token('crawler', session='c')}"}
    with psycopg.connect(database_url) as locker, psycopg.connect(database_url, autocommit=True) as watcher:
        with running(environment | {"HARVESTER_STATEMENT_SECONDS": '{"crawler": 5}'}, tmp_path) as served:
            locker.execute("LOCK TABLE pilotswarm_facts.facts IN ACCESS EXCLUSIVE MODE")
            cut: list[object] = []

            def ask() -> None:
                try:
                    cut.append(httpx.get(f"{served.url}/v1/facts", headers=key, timeout=60).status_code)
                except httpx.HTTPError as error:
                    cut.append(error)

            asking = threading.Thread(target=ask)
            asking.start()
            waiting = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            until(lambda: watcher.execute(waiting).fetchone(), lambda row: row == (1,))
        asking.join()
        locker.rollback()
    assert cut[0] != 200


def test_it_outlives_a_restart_of_its_database():
    with tempfile.TemporaryDirectory(prefix="harvester-restart-") as scratch:
        folder = Path(scratch)
        with EmbeddedServer.start(folder / "pgdata") as server, ExitStack() as at_the_end:
            # Who started it knows of the first process only.
            at_the_end.callback(lambda: control(server, "stop"))
            environment = clean_environment(server.url) | {"HARVESTER_CHECKOUT_SECONDS": "0.5"}
            subprocess.run([HARVESTER, "migrate"], env=environment, cwd=folder, check=True, capture_output=True)
            key = make_key(environment, folder, "--role", "facts-manager")
            with (
                running(environment, folder) as served,
                httpx.Client(base_url=served.url, headers=key, timeout=60) as client,
            ):
                assert client.get("/v1/facts").status_code == 200
                control(server, "stop")
                away = client.get("/v1/facts")
                assert (away.status_code, away.json()["code"]) == (503, "unavailable")
                assert away.headers["retry-after"] == "1"
                assert until(lambda: client.get("/readyz").status_code, lambda status: status == 503)
                assert client.get("/healthz").status_code == 200
                control(server, "restart")
                codes: list[int] = []

                def asked() -> int:
                    codes.append(client.get("/v1/facts").status_code)
                    return codes[-1]

                until(asked, lambda code: code == 200)
                assert set(codes[:-1]) <= {503}
                assert until(lambda: client.get("/readyz").status_code, lambda status: status == 200)
                assert "Traceback" not in served.log.read_text()


def control(server: EmbeddedServer, act: str) -> None:
    """`stop` or `restart` (from stopped as well, with the options it had) below everybody, as an upgrade of it would."""
    from pgserver import _commands  # noqa: PLC0415 - importing it probes folders

    inside = server._server
    pg_ctl = vars(_commands)["pg_ctl"]
    pg_ctl(["-w", "-m", "fast", "-l", str(inside.log), act], pgdata=inside.pgdata, user=inside.system_user)


def test_a_port_that_is_taken_and_a_database_of_another_version_are_one_clear_line(
    served, database_url, empty_database_url, tmp_path
):
    port = served.url.rpartition(":")[2]
    for environment, options, said in (
        (clean_environment(database_url), ["--port", port], f"cannot listen on 127.0.0.1 port {port}"),
        (clean_environment(empty_database_url), ["--port", "0"], "harvester migrate"),
    ):
        done = subprocess.run(
            [HARVESTER, "serve", *options], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert re.search(said, done.stderr.splitlines()[-1]), done.stderr


def test_what_it_logs_is_json_with_a_request_id_and_no_key(served, client):
    agent = client("agent")
    answer = agent.get("/v1/facts?keyPattern=private-*")
    (line,) = until(lambda: logged(served, answer), bool)
    assert (line["route"], line["status"]) == ("/v1/facts", 200)
    assert "private-" not in json.dumps(line)
    assert "hv_" not in served.log.read_text()


def logged(served, answer) -> list[dict]:
    """Written after the answer went out."""
    lines = [json.loads(line) for line in served.log.read_text().splitlines() if line.startswith("{")]
    mine = [line for line in lines if line.get("request_id") == answer.headers["x-request-id"]]
    return [line for line in mine if line["event"] == "request"]


@pytest.mark.parametrize("options", [("--port", "70000"), ("--harvest", "-1")])
def test_a_bad_option_is_refused(run, options):
    run("serve", *options, code=2)


def test_what_wakes_must_be_one_thing_that_can_be(run):
    assert "not both" in run("serve", "--wake-exec", "true", "--wake-post", "http://127.0.0.1:1/", code=1).stderr
    assert "http or https" in run("wake", "--post", "file:///etc/passwd", code=1).stderr
    assert "--exec or --post" in run("wake", code=1).stderr
    run("wake", "--exec", "echo $HARVESTER_WAKE >> woken", "--times", "1")
