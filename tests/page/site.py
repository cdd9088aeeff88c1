"""The whole server on a real socket, over real stores."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from crawler.protocol.source import Source
from crawler.serving.app import make_app
from crawler.serving.keys import Binding, KeyRequest, Keys, NewKey
from crawler.settings import Settings
from crawler.wiring import Stores, connect_stores, rules_of
from facts.access import Role
from tests.page.world import RULES


@dataclass
class Site:
    stores: Stores
    keys: Keys
    url: str

    def key(self, role: Role = Role.AGENT, *sessions: str, **more: Any) -> str:
        """A new key's token; bound to the sessions named, to `s1` unless another is."""
        return self.new_key(role, *sessions, **more).token

    def new_key(self, role: Role = Role.AGENT, *sessions: str, **more: Any) -> NewKey:
        binding = Binding.SET if len(sessions) > 1 else Binding.SESSION
        return self.keys.create(KeyRequest(role=role, binding=binding, session_ids=sessions or ("s1",), **more))

    def end_sessions(self) -> None:
        """As if seven days had passed."""
        self.run("UPDATE pilotswarm_facts.page_sessions SET expires_at = now() - interval '1 second'")

    def run(self, statement: str) -> list[tuple]:
        with self.stores.facts.db.transaction() as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []


@contextmanager
def serving(database_url: str) -> Iterator[Site]:
    settings = Settings(database_url=database_url)
    with connect_stores(database_url, settings) as stores, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        keys = Keys(stores.facts.db, settings.facts_schema)
        site = Site(stores=stores, keys=keys, url=f"http://127.0.0.1:{listening.getsockname()[1]}/")
        app, _ = make_app(Source(stores=stores, settings=settings, coverage=rules_of(RULES, settings).coverage()))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield site
        finally:
            server.should_exit = True
            thread.join()
