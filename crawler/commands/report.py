"""`harvester report`: the graph as a whole, in numbers, words and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, hint, say, show_table

if TYPE_CHECKING:
    import networkx as nx

    from graph.analytics import Analysis

_DRAWN = 300


def add(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    context: typer.Context,
    namespace: Annotated[str | None, typer.Option(help="Only this namespace and what lies below it.")] = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="How many are listed of each.")] = 10,
    html: Annotated[Path | None, typer.Option(help="Write a page with pictures to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """How the graph hangs together: components, degrees, what is central, communities, what falls apart."""
    from crawler.rendering import to_json
    from crawler.tools.graph_reads import stats_json
    from crawler.wiring import open_stores
    from facts.access import UNRESTRICTED
    from graph.analytics import analyse

    asked = invocation(context)
    with open_stores(asked.settings) as stores:
        graph = stores.needed_graph()
        figures = stats_json(graph.stats(namespace, coverage=asked.rules.coverage()))
        drawn = graph.to_networkx(namespace=namespace, access=UNRESTRICTED)
    found = analyse(drawn, top=top)
    if html is not None:
        _write_page(html, figures, found, drawn, namespace)
        hint(f"written to {html}")
    if as_json:
        emit_json({**figures, "analysis": to_json(found)})
    else:
        _show(figures, found)


def _show(figures: Mapping[str, Any], found: Analysis) -> None:
    from crawler.picture.report import community_rows, overview

    show_table(None, ("the graph", ""), overview(figures, found))
    say()
    rows = [(node.name, node.kind, node.degree, node.rank) for node in found.central]
    show_table("most central", ("name", "kind", "ties", "rank"), rows)
    if found.communities:
        say()
        show_table("communities", ("size", "around"), community_rows(found))
    if found.articulation:
        say()
        rows = [(node.name, node.kind, node.degree, node.rank) for node in found.articulation]
        show_table("what holds the graph together", ("name", "kind", "ties", "rank"), rows)
    say()
    show_table("degrees", ("ties", "nodes"), list(found.degrees.items())[:20])


def _write_page(
    path: Path, figures: Mapping[str, Any], found: Analysis, graph: nx.MultiDiGraph[str], namespace: str | None
) -> None:
    from crawler.errors import BadSetting
    from crawler.picture.report import Report, render_report

    picture = _picture(graph).busiest(_DRAWN)
    page = render_report(
        Report(
            title="The knowledge graph" if namespace is None else f"The knowledge graph: {namespace}",
            subtitle=f"{found.nodes:,} nodes, {found.edges:,} edges",
            figures=figures,
            analysis=found,
            picture=picture,
            groups=_groups(picture),
        )
    )
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadSetting(f"cannot write {path}: {error.strerror}", argument="html") from error


def _picture(graph: nx.MultiDiGraph[str]) -> Any:
    from crawler.picture.page import Picture, PicturedEdge, PicturedNode

    return Picture(
        nodes=tuple(
            PicturedNode(key=key, kind=data.get("kind", key.partition(":")[0]), name=data.get("name", key))
            for key, data in graph.nodes(data=True)
        ),
        edges=tuple(
            PicturedEdge(source=source, target=target, predicate=data["predicate"], confidence=data["confidence"])
            for source, target, data in graph.edges(data=True)
        ),
    )


def _groups(picture: Any) -> list[list[str]]:
    """Who is drawn beside whom: the communities of what is drawn."""
    import networkx as nx

    from graph.analytics import communities

    ties: nx.Graph[str] = nx.Graph()
    ties.add_nodes_from(sorted(node.key for node in picture.nodes))
    ties.add_edges_from(sorted((edge.source, edge.target) for edge in picture.edges))
    return [sorted(group) for group in communities(ties)]
