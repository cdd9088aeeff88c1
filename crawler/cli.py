"""The command `harvester`. Each command lives in a room of its own under `commands/` and is imported when it runs.

Every option has an environment twin: ``HARVESTER_DATABASE_URL`` for ``--database-url`` before the command,
``HARVESTER_RUN_ONCE`` for ``run --once``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from crawler.commands import add_commands
from crawler.invocation import Invocation
from crawler.settings import wants_debug
from facts.errors import HarvesterError

_FAULT = 70
_INTERRUPTED = 130

app = typer.Typer(
    name="harvester",
    help="Facts that survive, and a knowledge graph that is always exactly the fold of the live facts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"auto_envvar_prefix": "HARVESTER", "help_option_names": ["-h", "--help"]},
)
add_commands(app)


@app.callback()
def read_options(
    context: typer.Context,
    database_url: Annotated[str | None, typer.Option(help="PostgreSQL of the facts; unset: embedded.")] = None,
    graph_url: Annotated[str | None, typer.Option(help="PostgreSQL of the graph; unset: the same; off: none.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the embedded server [.harvester].")] = None,
    config: Annotated[Path | None, typer.Option(help="Rules and settings [harvest.toml, if it is there].")] = None,
    facts_schema: Annotated[str | None, typer.Option(help="Schema of the facts [pilotswarm_facts].")] = None,
    graph_name: Annotated[str | None, typer.Option(help="Name of the graph [knowledge].")] = None,
    registry_schema: Annotated[str | None, typer.Option(help="The graph's own schema [knowledge_registry].")] = None,
    log_format: Annotated[str | None, typer.Option(help="auto, json or console.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options before the command: where the data is, and how to speak."""
    if debug:
        log_level = log_level or "debug"
    given: dict[str, Any] = {
        "database_url": database_url, "graph_url": graph_url, "data_dir": data_dir, "facts_schema": facts_schema,
        "graph_name": graph_name, "registry_schema": registry_schema, "log_format": log_format, "log_level": log_level,
    }  # fmt: skip
    context.obj = Invocation.read(given, config)


def main() -> None:
    """Run a command; an error is one line on stderr and an exit code."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=arguments, standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except Exception as error:
        if wants_debug(arguments):
            raise
        return _say_what_failed(error)
    return code if isinstance(code, int) else 0


def _say_what_failed(error: Exception) -> int:
    """One clear line, and the exit code that goes with it."""
    if isinstance(error, BrokenPipeError):
        # The reader of our output went away (`| head`); nothing more can be said to it.
        sys.stderr.close()
        return 1
    if isinstance(error, typer.TyperException):
        # With usage and hint where typer knows them.
        show = getattr(error, "show", None)
        complain(error.format_message()) if show is None else show()
        return error.exit_code
    if isinstance(error, HarvesterError):
        complain(error.message)
        return 1
    complain(f"{type(error).__name__}: {error} (a fault of harvester; --debug shows where)")
    return _FAULT


def complain(message: str) -> None:
    sys.stderr.write(f"harvester: {' '.join(message.split())}\n")


if __name__ == "__main__":
    main()
