"""`harvester ingest SOURCE`: put what a source has into the fact store."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, hint, say

if TYPE_CHECKING:
    from crawler.ingest import Ingested
    from crawler.invocation import Invocation
    from crawler.sources.contract import Source

_FIRST_CONFIG = """\
# Which facts go to which extractor. Written by `harvester ingest`; docs/harvest-toml.md tells of rules of your own.
include = ["python-env", "git", "documents", "csv", "mbox", "mcp-memory", "known-shapes"]
"""

Prune = Annotated[bool, typer.Option("--prune", help="Delete what the source stored once and no longer has.")]
Session = Annotated[str | None, typer.Option(help="Keep the facts private to this session; unset: shared.")]
Name = Annotated[str | None, typer.Option(help="What to call it in keys; unset: as the file or folder is called.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def add(app: typer.Typer) -> None:
    sources = typer.Typer(help="Store what a source has: idempotent, resumable.", no_args_is_help=True)
    sources.command("python-env")(python_env)
    sources.command("git")(git)
    sources.command("documents")(documents)
    sources.command("csv")(csv)
    sources.command("mbox")(mbox)
    sources.command("mcp-memory")(mcp_memory)
    sources.command("jsonl")(jsonl)
    app.add_typer(sources, name="ingest")


def python_env(
    context: typer.Context,
    path: Annotated[list[Path] | None, typer.Option(help="Folders to look in; unset: this interpreter's.")] = None,
    prune: Prune = False,
    session: Session = None,
    as_json: AsJson = False,
) -> int:
    """The installed Python distributions: one fact each."""
    from crawler.sources.python_env import PythonEnvironment

    source = PythonEnvironment(path=None if path is None else [str(one) for one in path])
    return ingest_source(invocation(context), source, prune=prune, session=session, as_json=as_json)


def git(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder in the repository.")] = Path(),
    name: Annotated[str | None, typer.Option(help="Name of the repository; unset: its folder's.")] = None,
    revision: Annotated[str, typer.Option(help="What to read the history of.")] = "HEAD",
    prune: Prune = False,
    session: Session = None,
    as_json: AsJson = False,
) -> int:
    """A git repository's history: one fact a commit, oldest first."""
    from crawler.sources.git import GitHistory

    source = GitHistory(folder, repository=name, revision=revision)
    return ingest_source(invocation(context), source, prune=prune, session=session, as_json=as_json)


def documents(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder with md, txt and html files.")],
    name: Name = None,
    largest: Annotated[int, typer.Option(help="MiB; larger files are left out.", min=1)] = 16,
    prune: Prune = False,
    session: Session = None,
    as_json: AsJson = False,
) -> int:
    """A folder of documents: one fact a document, one a section."""
    from crawler.sources.documents import Documents

    source = Documents(folder, name=name, largest_mib=largest)
    return ingest_source(invocation(context), source, prune=prune, session=session, as_json=as_json)


def csv(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file whose first line names the columns.")],
    key: Annotated[list[str] | None, typer.Option(help="A column that tells rows apart; unset: the first.")] = None,
    name: Name = None,
    delimiter: Annotated[str | None, typer.Option(help="Unset: , ; | or tabulator, whichever the header has.")] = None,
    encoding: Annotated[str, typer.Option(help="How the file is encoded.")] = "utf-8-sig",
    prune: Prune = False,
    session: Session = None,
    as_json: AsJson = False,
) -> int:
    """A table: one fact a row."""
    from crawler.sources.csv_rows import CsvRows

    source = CsvRows(file, key=key or (), name=name, delimiter=delimiter, encoding=encoding)
    return ingest_source(invocation(context), source, prune=prune, session=session, as_json=as_json)


def mbox(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A mail archive.")],
    name: Name = None,
    prune: Prune = False,
    session: Session = None,
    as_json: AsJson = False,
) -> int:
    """A mail archive: one fact a message."""
    from crawler.sources.mbox import MailArchive

    return ingest_source(
        invocation(context), MailArchive(file, name=name), prune=prune, session=session, as_json=as_json
    )


def mcp_memory(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The JSONL file of the MCP reference memory server.")],
    name: Name = None,
    prune: Prune = False,
    session: Session = None,
    as_json: AsJson = False,
) -> int:
    """What the MCP reference memory server keeps: one fact an entity, one a relation."""
    from crawler.sources.mcp_memory import McpMemory

    return ingest_source(invocation(context), McpMemory(file, name=name), prune=prune, session=session, as_json=as_json)


def jsonl(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A file, or - for stdin.")],
    prefix: Annotated[str, typer.Option(help="What every key starts with; --prune needs it.")] = "",
    prune: Prune = False,
    session: Session = None,
    as_json: AsJson = False,
) -> int:
    """Lines of JSON: {"key", "value", "tags"?, "shared"?}."""
    from crawler.sources.jsonl import JsonLines

    source = JsonLines(file, prefix=prefix)
    return ingest_source(invocation(context), source, prune=prune, session=session, as_json=as_json)


def ingest_source(asked: Invocation, source: Source, *, prune: bool, session: str | None, as_json: bool) -> int:
    """Store it, register its namespace, say what became of it; the exit code."""
    from crawler.ingest import Ingest, register_namespace
    from crawler.progress import item_progress
    from crawler.wiring import open_stores

    with open_stores(asked.settings, create=True) as stores, item_progress(source.name, source.size()) as advance:
        done = Ingest(stores.facts, source, session_id=session).run(prune=prune, on_item=advance)
        if stores.graph is not None and session is None:
            register_namespace(stores.graph, source)
    if as_json:
        emit_json({"source": source.name, **asdict(done)})
    else:
        _report(source.name, done)
    _mind_rules(asked, source, done)
    return 1 if done.bad else 0


def _report(name: str, done: Ingested) -> None:
    pruned = f", {done.pruned} deleted" if done.pruned else ""
    say(f"{name}: {done.stored} facts stored, {done.unchanged} unchanged{pruned}")
    for reason, count in sorted(done.skipped.items()):
        say(f"{name}: {count} left out: {reason}")
    sys.stderr.writelines(f"harvester: left out {one}\n" for one in done.left_out)
    if done.prune_withheld:
        sys.stderr.write("harvester: nothing was deleted, since what is bad may stand for facts that are stored\n")
    if done.bad:
        sys.stderr.writelines(f"harvester: skipped {problem}\n" for problem in done.problems)
        sys.stderr.write(f"harvester: {done.bad} items of the source were skipped\n")


def _mind_rules(asked: Invocation, source: Source, done: Ingested) -> None:
    """Facts that no rule covers stay pending: say so, or write the first ``harvest.toml``."""
    from crawler.rules import SHIPPED

    if source.name not in SHIPPED or not (done.stored or done.unchanged):
        return
    if any(rule.name == source.name for rule in asked.rules.rules):
        hint("next: harvester run --once")
    elif (path := asked.may_write_config) is not None and not asked.config:
        path.write_text(_FIRST_CONFIG, encoding="utf-8")
        hint(f"wrote {path} with the rules for this source; next: harvester run --once")
    else:
        hint(f'no rule covers these facts yet: add include = ["{source.name}"] to harvest.toml')
