"""A graph as one HTML page that needs nothing else: no server, no other file, no network.

Stored text is data to the page: it travels as JSON and is shown through `textContent`. The page's own policy lets its
two inline blocks run, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from importlib import resources
from string import Template

MOST_NODES = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class PicturedNode:
    """A disc: colour by kind, size by degree."""

    key: str
    kind: str
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PicturedEdge:
    """A line between two node keys, as thick as it is believed; `evidence` are scope keys."""

    source: str
    target: str
    predicate: str
    confidence: float
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """What is drawn; `left_out` nodes did not fit."""

    nodes: tuple[PicturedNode, ...]
    edges: tuple[PicturedEdge, ...]
    left_out: int = 0

    def busiest(self, most: int = MOST_NODES) -> Picture:
        """The nodes with the most edges, in number at most `most`, and the edges between them."""
        degree = Counter(end for edge in self.edges for end in (edge.source, edge.target))
        kept = sorted(self.nodes, key=lambda node: (-degree[node.key], node.key))[:most]
        keys = {node.key for node in kept}
        edges = tuple(edge for edge in self.edges if edge.source in keys and edge.target in keys)
        return replace(self, nodes=tuple(kept), edges=edges, left_out=len(self.nodes) - len(kept))


def render_page(picture: Picture, *, title: str, look: str | None = None) -> str:
    """The page as text. With `#look` in its address it opens on the node `look`."""
    style, script = text_of("page.css"), text_of("layout.js") + text_of("page.js")
    policy = f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}"
    return Template(text_of("page.html")).substitute(
        policy=html.escape(policy, quote=True).replace("&#x27;", "'"),
        title=html.escape(title),
        subtitle=html.escape(_subtitle(picture)),
        style=style,
        data=_inert(_as_json(picture) | {"look": look}),
        script=script,
    )


def _subtitle(picture: Picture) -> str:
    said = f"{len(picture.nodes)} nodes, {len(picture.edges)} edges"
    return f"{said}; {picture.left_out} nodes with fewer edges are left out" if picture.left_out else said


def _as_json(picture: Picture) -> dict[str, object]:
    return {"nodes": [asdict(node) for node in picture.nodes], "edges": [_edge_json(edge) for edge in picture.edges]}


def _edge_json(edge: PicturedEdge) -> dict[str, object]:
    return {
        "from": edge.source,
        "to": edge.target,
        "predicate": edge.predicate,
        "confidence": edge.confidence,
        "evidence": edge.evidence,
    }


def _inert(value: object) -> str:
    """JSON that cannot end the script element that holds it, nor open a comment in it."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def hashed(text: str) -> str:
    """A block of the page as its policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def text_of(name: str) -> str:
    """A file of this package."""
    return resources.files("crawler.picture").joinpath(name).read_text(encoding="utf-8")
