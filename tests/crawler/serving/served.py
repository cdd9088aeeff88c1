"""`harvester serve` in a process of its own, on a port that the system chose."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from crawler.serving.keys import Binding, KeyRequest
from facts.access import Role
from facts.sqlfiles import load_queries

HARVESTER = Path(sys.executable).with_name("harvester")


@dataclass(frozen=True)
class Served:
    url: str
    process: subprocess.Popen[str]
    log: Path


@contextmanager
def running(environment: dict[str, str], folder: Path, *options: str) -> Iterator[Served]:
    """Waits for the one line on stdout that says where; ends it with SIGTERM and expects an orderly end."""
    log = folder / "serve.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [HARVESTER, "--log-format", "json", "serve", "--port", "0", *options], env=environment, cwd=folder,
            stdout=subprocess.PIPE, stderr=stderr, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("serving on http://"), log.read_text()
        yield Served(url=line.split()[2], process=process, log=log)
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        process.stdout.close()
    assert code == 0, log.read_text()


def clean_environment(database_url: str | None = None) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HARVESTER_", "GIT_"))}
    return clean | {"NO_COLOR": "1"} | ({} if database_url is None else {"HARVESTER_DATABASE_URL": database_url})


def key_request(role: str = "agent", *, session=None, tree=None, several=(), **more) -> KeyRequest:
    if tree is not None:
        return KeyRequest(role=Role(role), binding=Binding.TREE, session_ids=(tree,), **more)
    sessions = tuple(several) or (() if session is None else (session,))
    binding = Binding.SET if several else Binding.SESSION if sessions else Binding.NONE
    return KeyRequest(role=Role(role), binding=binding, session_ids=sessions, **more)


def empty(database_url: str) -> None:
    """Take every row of every store away."""
    queries = load_queries(
        "tests.conformance", "stage", facts="pilotswarm_facts", graph="knowledge", registry="knowledge_registry"
    )
    with psycopg.connect(database_url) as connection:
        connection.execute(queries.empty_everything)
