"""What the demo prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from crawler.demo.fold import Belief, Change, EdgeKey, Knowledge

MOST_ROWS = 10
MOST_NEIGHBOURS = 8
BAR = 16


def heading(console: Console, number: int, text: str) -> None:
    console.print()
    console.print(Text.assemble((f" {number} ", "bold reverse cyan"), ("  " + text, "bold")))


def line(console: Console, *parts: str | tuple[str, str]) -> None:
    console.print(Padding(Text.assemble(*parts), (0, 0, 0, 5), expand=False))


def below(console: Console, shown: Table | Tree) -> None:
    console.print(Padding(shown, (1, 0, 0, 5), expand=False))


def counts(console: Console, stats: Mapping[str, Any], spelled: Mapping[str, str]) -> None:
    line(
        console,
        (f"{stats['nodes']:,}", "bold"), " nodes, ",
        (f"{stats['edges']:,}", "bold"), " edges, ",
        (f"{stats['evidence']:,}", "bold"), " pieces of evidence; ",
        (f"{stats['queue']['pending']}", "bold"), " facts left to do",
    )  # fmt: skip
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("nodes by kind")
    table.add_column("", justify="right")
    table.add_column("   edges by predicate")
    table.add_column("", justify="right")
    kinds, predicates = (_largest(stats[name]) for name in ("byKind", "byPredicate"))
    for at in range(max(len(kinds), len(predicates))):
        kind, predicate = (rows[at] if at < len(rows) else ("", "") for rows in (kinds, predicates))
        table.add_row(
            Text(kind[0]), str(kind[1]), Text("   " + spelled.get(predicate[0], predicate[0])), str(predicate[1])
        )
    below(console, table)


def _largest(counted: Any) -> list[tuple[str, int]]:
    pairs = (
        counted.items() if isinstance(counted, dict) else ((next(iter(row.values())), row["count"]) for row in counted)
    )
    return sorted(((str(name), int(count)) for name, count in pairs), key=lambda pair: (-pair[1], pair[0]))[:MOST_ROWS]


def most_depended_on(console: Console, edges: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> None:
    users: dict[str, list[str]] = {}
    for edge in edges:
        if edge["predicateKey"] == "depend_on":
            users.setdefault(edge["toKey"], []).append(names[edge["fromKey"]])
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("package", style="bold", no_wrap=True, min_width=18)
    table.add_column("needed by", justify="right", no_wrap=True, min_width=9)
    table.add_column("", no_wrap=True, min_width=BAR)
    table.add_column("for instance", style="dim", overflow="ellipsis", no_wrap=True)
    ranked = sorted(users.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:MOST_ROWS]
    for key, by in ranked:
        bar = Text("█" * round(BAR * len(by) / len(ranked[0][1])), style="cyan")
        table.add_row(Text(names[key]), str(len(by)), bar, Text(", ".join(sorted(by)[:4])))
    below(console, table)


def neighbourhood(console: Console, found: Mapping[str, Any]) -> None:
    anchor = found["anchor"]
    names = {node["nodeKey"]: node["name"] for node in (*found["nodes"], anchor)}
    tree = Tree(Text.assemble((anchor["name"], "bold cyan"), (f"  {anchor['kind']}", "dim")), guide_style="dim")
    own = [edge for edge in found["edges"] if anchor["nodeKey"] in {edge["fromKey"], edge["toKey"]}]
    for predicate, number in Counter(edge["predicate"] for edge in own).most_common():
        branch = tree.add(Text.assemble((predicate, "italic"), (f"  {number}", "dim")))
        ties = [edge for edge in own if edge["predicate"] == predicate]
        for edge in ties[:MOST_NEIGHBOURS]:
            outward = edge["fromKey"] == anchor["nodeKey"]
            other = names[edge["toKey" if outward else "fromKey"]]
            branch.add(Text.assemble("→ " if outward else "← ", other, (f"  {edge['confidence']:.2f}", "dim")))
        if len(ties) > MOST_NEIGHBOURS:
            branch.add(Text(f"and {len(ties) - MOST_NEIGHBOURS} more", style="dim"))
    below(console, tree)


def why(
    console: Console, edge: Mapping[str, Any], facts: Iterable[Mapping[str, Any]], names: Mapping[str, str]
) -> None:
    line(
        console,
        (names[edge["fromKey"]], "bold"), f" {edge['predicate']} ", (names[edge["toKey"]], "bold"),
        "  believed at ", (f"{edge['confidence']:.3f}", "bold green"),
        f" from {edge['observations']} independent observations:",
    )  # fmt: skip
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, width in (("fact", 20), ("written by", 17), ("says", 20)):
        table.add_column(name, no_wrap=True, overflow="ellipsis", min_width=width)
    for fact in facts:
        table.add_row(Text(fact["key"], "cyan"), Text(fact.get("agentId") or ""), Text(_gist(fact["value"])))
    below(console, table)


def _gist(value: Any) -> str:
    if isinstance(value, dict) and "requires" in value:
        return f"{value['name']} {value['version']} requires " + ", ".join(
            each["name"] for each in value["requires"] if each["applies"]
        )
    if isinstance(value, dict) and value.get("edges"):
        edge = value["edges"][0]
        return f"{edge['from']['name']} {edge['predicate']} {edge['to']['name']} (confidence {edge['confidence']})"
    return str(value)


def change(console: Console, what: Change, before: Knowledge, after: Knowledge, names: Mapping[str, str]) -> None:
    """`names` spells node keys and predicate keys."""
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("edge", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("before", justify="right", no_wrap=True, min_width=6)
    table.add_column("after", justify="right", no_wrap=True, min_width=5)
    table.add_column("evidence left", style="dim", no_wrap=True, overflow="ellipsis", ratio=2)
    for key in sorted(what.changed):
        left = after.edges[key]
        table.add_row(
            _edge(key, names, "yellow"),
            _strength(before.edges[key]),
            _strength(left),
            Text(", ".join(sorted(left.evidence))),
        )
    for key in sorted(what.gone):
        table.add_row(_edge(key, names, "red"), _strength(before.edges[key]), Text("gone", "red"), "")
    below(console, table)


def _edge(key: EdgeKey, names: Mapping[str, str], style: str) -> Text:
    return Text(" ".join(names.get(part, part) for part in key), style=style)


def _strength(belief: Belief) -> str:
    return f"{belief.confidence:.3f}"


def verdict(console: Console, what: Change) -> None:
    console.print()
    line(
        console, ("✓", "bold green"), " ", (f"{len(what.gone)}", "bold"), " edges gone, ",
        (f"{len(what.changed)}", "bold"), " weaker because other evidence stays, ",
        (f"{what.untouched:,}", "bold"), " untouched",
    )  # fmt: skip


def ending(console: Console, picture: Path, seconds: float) -> None:
    console.print()
    console.print(
        Text.assemble(("The promise holds", "bold green"), f", {seconds:.1f} s in all. A picture of the graph:")
    )
    console.print(Text("  " + picture.resolve().as_uri(), style="cyan underline"), soft_wrap=True)
