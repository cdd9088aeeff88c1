"""The report as one HTML page that needs nothing else and runs nothing: tables, bars and a picture of the graph, all text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from crawler.picture.charts import bars, columns, network
from crawler.picture.page import Picture, hashed, text_of
from graph.analytics import Analysis, Ranked


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What the page shows. `figures`: the graph's statistics; `groups`: who is drawn beside whom."""

    title: str
    subtitle: str
    figures: Mapping[str, Any]
    analysis: Analysis
    picture: Picture
    groups: Sequence[Sequence[str]] = ()


def render_report(report: Report) -> str:
    """The page as text."""
    style = text_of("report.css")
    body = "\n".join(_sections(report))
    return Template(text_of("report.html")).substitute(
        policy=html.escape(f"default-src 'none'; style-src {hashed(style)}", quote=True).replace("&#x27;", "'"),
        title=html.escape(report.title),
        subtitle=html.escape(report.subtitle),
        style=style,
        body=body,
    )


def _sections(report: Report) -> Iterable[str]:
    figures, found = report.figures, report.analysis
    yield _section("overview", _table((), overview(figures, found)))
    drawn = network("the graph", report.picture, report.groups)
    left = report.picture.left_out
    note = f"<p>{left:,} nodes with fewer edges are left out</p>" if left else ""
    yield _section("the graph", drawn + note, wide=True)
    for title, name in (("kinds", "byKind"), ("predicates", "byPredicate"), ("namespaces", "byNamespace")):
        if figures.get(name):
            yield _section(title, bars(title, figures[name]))
    yield _section("how many nodes have how many ties", columns("degrees", found.degrees))
    yield _section("most central (PageRank)", _ranked(found.central))
    if found.communities:
        yield _section("communities", _table(("size", "around"), community_rows(found)))
    if found.articulation:
        yield _section("what holds the graph together", _ranked(found.articulation))


def overview(figures: Mapping[str, Any], found: Analysis) -> list[tuple[str, str]]:
    """The figures that stand on top, of the page and of the text alike."""
    queue = figures["queue"]
    rows = [
        ("nodes", f"{found.nodes:,}"),
        ("edges", f"{found.edges:,}"),
        ("evidence", f"{figures['evidence']:,}"),
        ("facts pending", f"{queue['pending']:,} ({queue['parked']:,} parked)"),
        (
            "components",
            f"{found.components:,}; the largest: {', '.join(f'{size:,}' for size in found.component_sizes)}",
        ),
        ("nodes without ties", f"{found.isolated:,}"),
        ("ties a node", f"{found.mean_degree:.2f} on average"),
        ("articulation points", f"{found.articulation_points:,}"),
    ]
    if found.modularity is not None:
        rows.append(("modularity", f"{found.modularity:.3f}"))
    return rows


def community_rows(found: Analysis) -> list[tuple[str, str]]:
    """Each community by its size and its weightiest nodes."""
    return [(f"{each.size:,}", ", ".join(chief.name for chief in each.chief)) for each in found.communities]


def _ranked(nodes: Sequence[Ranked]) -> str:
    rows = [(node.name, node.kind, f"{node.degree:,}", f"{node.rank:.5f}") for node in nodes]
    return _table(("name", "kind", "ties", "rank"), rows)


def _section(title: str, inner: str, *, wide: bool = False) -> str:
    return f"<section{' class=wide' if wide else ''}><h2>{html.escape(title)}</h2>{inner}</section>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th{_number(name)}>{html.escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def _number(name: str) -> str:
    return ' class="number"' if name in {"ties", "rank"} else ""
