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
# Which facts go to which extractor. Written by `harvester ingest`; see docs for rules of your own.
include = ["python-env", "git", "known-shapes"]
"""

Prune = Annotated[bool, typer.Option("--prune", help="Delete what the source stored once and no longer has.")]
Session = Annotated[str | None, typer.Option(help="Keep the facts private to this session; unset: shared.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def add(app: typer.Typer) -> None:
    sources = typer.Typer(help="Store what a source has: idempotent, resumable.", no_args_is_help=True)
    sources.command("python-env")(python_env)
    sources.command("git")(git)
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
    return _ingest(invocation(context), source, prune=prune, session=session, as_json=as_json)


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
    return _ingest(invocation(context), source, prune=prune, session=session, as_json=as_json)


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
    return _ingest(invocation(context), source, prune=prune, session=session, as_json=as_json)


def _ingest(asked: Invocation, source: Source, *, prune: bool, session: str | None, as_json: bool) -> int:
    from crawler.ingest import Ingest
    from crawler.progress import item_progress
    from crawler.wiring import open_stores

    with open_stores(asked.settings, create=True) as stores, item_progress(source.name, source.size()) as advance:
        done = Ingest(stores.facts, source, session_id=session).run(prune=prune, on_item=advance)
    if as_json:
        emit_json({"source": source.name, **asdict(done)})
    else:
        _report(source.name, done)
    _mind_rules(asked, source, done)
    return 1 if done.bad else 0


def _report(name: str, done: Ingested) -> None:
    pruned = f", {done.pruned} deleted" if done.pruned else ""
    say(f"{name}: {done.stored} facts stored, {done.unchanged} unchanged{pruned}")
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
