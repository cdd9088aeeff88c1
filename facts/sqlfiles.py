"""Named queries in `.sql` files: one block a query, `-- name: x`, then a purpose line, then the statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from psycopg import sql

from facts.errors import InvalidArgument

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_BLOCK = re.compile(r"^-- name: (?P<name>\w+)[ \t]*\n-- (?P<purpose>\S.*)\n", re.MULTILINE)
_PART = re.compile(r"\{> (\w+)\}")
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class Queries:
    """The rendered queries of one file, each an attribute: `queries.lock_pending`."""

    def __init__(self, source: str, rendered: dict[str, sql.Composed]) -> None:
        self._source = source
        self._rendered = rendered

    def __getattr__(self, name: str) -> sql.Composed:
        try:
            return self._rendered[name]
        except KeyError:
            raise AttributeError(f"{self._source} has no query named {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._rendered)

    def __repr__(self) -> str:
        return f"Queries({self._source}: {', '.join(self._rendered)})"


def checked_identifier(name: str, *, argument: str) -> str:
    """`name` when it may be a schema or graph name; names are pasted into SQL, so the alphabet is small."""
    if not _IDENTIFIER.fullmatch(name):
        raise InvalidArgument(
            f"{name!r} cannot be a schema or graph name: up to 63 of a-z, 0-9 and _, not starting with a digit",
            argument=argument,
        )
    return name


@cache
def visible_fragments() -> dict[str, sql.Composable]:
    """The one visibility predicate, over a facts row `f` and over any `e` with a scope key and its fact's owner."""
    text = resources.files("facts").joinpath("sql", "visible.sqlpart").read_text(encoding="utf-8")
    columns = {
        "visible": ("f.shared", "f.session_id", "f.key", "f.owner_session_id"),
        "visible_scope_key": (
            "(e.scope_key ^@ 'shared:')",
            "split_part(e.scope_key, ':', 2)",
            # What follows `shared:` or `session:<id>:`; a regular expression costs ten times as much a row.
            """substr(e.scope_key,
                CASE WHEN e.scope_key ^@ 'shared:' THEN 8 ELSE strpos(substr(e.scope_key, 9), ':') + 9 END)""",
            "e.owner_session_id",
        ),
    }
    names = ("shared", "session", "key", "owner")
    return {
        placeholder: sql.SQL(text).format(
            **{name: sql.SQL(column) for name, column in zip(names, expressions, strict=True)}
        )
        for placeholder, expressions in columns.items()
    }


def substitutions(identifiers: dict[str, str]) -> dict[str, sql.Composable]:
    """`{facts}` is the quoted identifier, `{facts_name}` the same name as a text literal, `{visible}` the predicate."""
    names = dict(visible_fragments())
    for placeholder, name in identifiers.items():
        checked_identifier(name, argument=placeholder)
        names[placeholder] = sql.Identifier(name)
        names[f"{placeholder}_name"] = sql.Literal(name)
    return names


def render(text: str, identifiers: dict[str, str]) -> sql.Composed:
    """SQL text with its identifiers filled in, flattened once so that running it costs no composition."""
    # The text comes from a file that ships in the package, never from a caller; hence the ignore.
    composed = sql.SQL(text).format(**substitutions(identifiers))
    return sql.Composed([sql.SQL(composed.as_string(None))])


@cache
def load_queries(package: str, stem: str, **identifiers: str) -> Queries:
    """The queries of `<package>/<stem>.sql`; `stem` may name a folder: `sql/facts`."""
    source = f"{package}/{stem}.sql"
    blocks = _blocks(_with_parts(package, _text(package, stem)), source)
    return Queries(source, {name: render(text, identifiers) for name, text in blocks.items()})


def all_queries(package: str, **identifiers: str) -> Iterator[tuple[str, str, sql.Composed]]:
    """Every named query of a package as (stem, name, statement)."""
    for stem in _stems(resources.files(package), ""):
        queries = load_queries(package, stem, **identifiers)
        for name in queries:
            yield stem, name, getattr(queries, name)


def _stems(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir() and entry.name != "migrations":
            yield from _stems(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".sql"):
            yield prefix + entry.name.removesuffix(".sql")


def _text(package: str, stem: str) -> str:
    return resources.files(package).joinpath(*f"{stem}.sql".split("/")).read_text(encoding="utf-8")


def _with_parts(package: str, text: str) -> str:
    """`{> name}` is the text of `<package>/sql/name.sqlpart`: a condition that several queries share."""
    folder = resources.files(package).joinpath("sql")
    return _PART.sub(lambda found: folder.joinpath(f"{found[1]}.sqlpart").read_text(encoding="utf-8").strip(), text)


def _blocks(text: str, source: str) -> dict[str, str]:
    starts = list(_BLOCK.finditer(text))
    if len(starts) != text.count("-- name:"):
        raise ValueError(f"{source}: every `-- name: x` needs a `-- purpose` line right below it")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    blocks: dict[str, str] = {}
    for match, end in zip(starts, ends, strict=True):
        if match["name"] in blocks:
            raise ValueError(f"{source}: two queries are named {match['name']}")
        blocks[match["name"]] = text[match.end() : end].strip().removesuffix(";")
    return blocks
