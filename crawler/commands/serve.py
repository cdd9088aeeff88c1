"""`harvester serve`: HTTP, MCP and the web page in one process, harvesters beside it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_line, hint

FIRST_KEY = "there is no API key yet; make one: harvester keys create --role facts-manager"


def add(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: the system chooses.")] = 8420,
    harvest: Annotated[int, typer.Option(min=0, max=64, help="Harvester processes beside the server.")] = 0,
    wake_exec: Annotated[str | None, typer.Option(metavar="CMD", help="A shell command to run at new intake.")] = None,
    wake_post: Annotated[str | None, typer.Option(metavar="URL", help="An http(s) URL to post new intake to.")] = None,
) -> None:
    """Serve agents and people over HTTP until stopped (SIGTERM ends what is in hand)."""
    from crawler.protocol.source import Source
    from crawler.schedule import keeping_schedule
    from crawler.serving.app import make_app
    from crawler.serving.keys import open_keys
    from crawler.serving.running import Halt, address, harvesting, listen, run_server
    from crawler.waking import act_of, keeping_awake
    from crawler.wiring import open_stores
    from crawler.workers import Job

    asked = invocation(context)
    act = act_of(wake_exec, wake_post)
    settings, rules = asked.settings.answering_as(host), asked.rules
    coverage = rules.coverage()
    if harvest:
        rules.make_ready()
    with listen(host, port) as listener, open_stores(settings, create=True) as stores:
        if harvest:
            stores.needed_graph()
        keys = open_keys(stores.facts.db, settings.facts_schema)
        app, house = make_app(Source(stores=stores, settings=settings, coverage=coverage))
        if not keys.any():
            hint(FIRST_KEY)
        stop = Halt(house)
        kept = keeping_schedule(stores.facts, stores.url, settings, asked.config) if harvest else nullcontext()
        job = Job(url=stores.url, settings=settings, config=asked.config, once=False)
        with kept, keeping_awake(stores.facts, act), harvesting(job, harvest, stop):
            emit_line(f"serving on {address(listener)}")
            run_server(app, listener, deadline=settings.shutdown_seconds, stop=stop)
