"""Pictures as SVG text, drawn here: bars, and a graph laid out by its communities. Whatever was stored is escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from crawler.picture.page import Picture

_BAR_WIDTH, _ROW, _LABEL = 260, 24, 190
_COLUMN_HEIGHT, _COLUMNS = 150, 40
_GOLDEN = math.pi * (3 - math.sqrt(5))
_COLOURS = 8
_DISTANCE = 17.0
_NAMED = 24


def bars(title: str, counts: Mapping[str, int], *, most: int = 12) -> str:
    """Horizontal bars, the longest first; what does not fit is added up in one more."""
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = shown[:most]
    if len(shown) > most:
        rows.append((f"{len(shown) - most} others", sum(count for _, count in shown[most:])))
    longest = max((count for _, count in rows), default=1) or 1
    parts = []
    for at, (name, count) in enumerate(rows):
        y = at * _ROW
        width = max(1.5, _BAR_WIDTH * count / longest)
        parts.append(
            f'<text class="name" x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{_text(_short(name))}</text>'
            f'<rect class="k{at % _COLOURS}" x="{_LABEL}" y="{y + 3}" width="{width:.1f}" height="16" rx="3"></rect>'
            f'<text class="count" x="{_LABEL + width + 6:.1f}" y="{y + 15}">{count:,}</text>'
        )
    return _svg(title, _LABEL + _BAR_WIDTH + 70, max(1, len(rows)) * _ROW, "".join(parts))


def columns(title: str, counts: Mapping[int, int]) -> str:
    """How many have how many: columns in order of the number, their height by logarithm; the rest in one last column."""
    rows = [(str(number), count) for number, count in sorted(counts.items())]
    if len(rows) > _COLUMNS:
        rest = rows[_COLUMNS - 1 :]
        rows = [*rows[: _COLUMNS - 1], (f"{rest[0][0]}+", sum(count for _, count in rest))]
    tallest = math.log1p(max((count for _, count in rows), default=1))
    step = max(14.0, 480 / max(1, len(rows)))
    parts = []
    for at, (name, count) in enumerate(rows):
        height = max(2.0, _COLUMN_HEIGHT * math.log1p(count) / tallest)
        x, y = at * step, 18 + _COLUMN_HEIGHT - height
        parts.append(
            f'<rect class="k0" x="{x + 1:.1f}" y="{y:.1f}" width="{step - 2:.1f}" height="{height:.1f}" rx="2">'
            f"<title>{_text(name)}: {count:,}</title></rect>"
            f'<text class="tick" x="{x + step / 2:.1f}" y="{_COLUMN_HEIGHT + 32}" text-anchor="middle">{_text(name)}</text>'
        )
    return _svg(title, max(1, len(rows)) * step, _COLUMN_HEIGHT + 40, "".join(parts))


def network(title: str, picture: Picture, groups: Sequence[Sequence[str]]) -> str:
    """A graph: each community a flower of discs, the flowers around the largest; colour by kind, size by degree."""
    places = layout([node.key for node in picture.nodes], groups)
    if not places:
        return _svg(title, 100, 40, '<text class="name" x="4" y="24">nothing to draw</text>')
    degree: dict[str, int] = dict.fromkeys(places, 0)
    lines = []
    for edge in picture.edges:
        (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
        degree[edge.source] += 1
        degree[edge.target] += 1
        lines.append(
            f'<line class="edge" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
            f' stroke-width="{0.4 + 1.6 * edge.confidence:.2f}"></line>'
        )
    kinds = {kind: at % _COLOURS for at, kind in enumerate(sorted({node.kind for node in picture.nodes}))}
    discs = [
        f'<circle class="k{kinds[node.kind]}" cx="{places[node.key][0]:.1f}" cy="{places[node.key][1]:.1f}"'
        f' r="{_radius(degree[node.key]):.1f}"><title>{_text(node.name)} ({_text(node.kind)})</title></circle>'
        for node in picture.nodes
    ]
    busiest = sorted(picture.nodes, key=lambda node: (-degree[node.key], node.key))[:_NAMED]
    names = [
        f'<text class="label" x="{places[node.key][0]:.1f}" y="{places[node.key][1] - 8:.1f}"'
        f' text-anchor="middle">{_text(_short(node.name))}</text>'
        for node in busiest
    ]
    return _framed(title, places, "".join([*lines, *discs, *names]))


def layout(keys: Sequence[str], groups: Sequence[Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Where each node goes: groups on a spiral by their size, members on a spiral around the centre of their group."""
    wanted = set(keys)
    parts = [[key for key in group if key in wanted] for group in groups]
    grouped = {key for part in parts for key in part}
    parts += [[key for key in keys if key not in grouped]]
    parts = sorted((part for part in parts if part), key=lambda part: (-len(part), part[0]))
    places: dict[str, tuple[float, float]] = {}
    reach = 0.0
    for at, part in enumerate(parts):
        size = _DISTANCE * math.sqrt(len(part))
        centre = _on_spiral(at, reach + size if at else 0.0)
        reach = max(reach, size if not at else reach + size * size / (reach + size))
        for place, key in enumerate(part):
            dx, dy = _on_spiral(place, _DISTANCE * math.sqrt(place))
            places[key] = (centre[0] + dx, centre[1] + dy)
    return places


def _on_spiral(at: int, distance: float) -> tuple[float, float]:
    return distance * math.cos(at * _GOLDEN), distance * math.sin(at * _GOLDEN)


def _radius(degree: int) -> float:
    return 3.0 + 1.3 * math.sqrt(degree)


def _framed(title: str, places: Mapping[str, tuple[float, float]], inner: str) -> str:
    margin = 40.0
    left, top = min(x for x, _ in places.values()) - margin, min(y for _, y in places.values()) - margin
    width, height = (
        max(x for x, _ in places.values()) + margin - left,
        max(y for _, y in places.values()) + margin - top,
    )
    return (
        f'<svg class="network" viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}" role="img"'
        f' aria-label="{_text(title)}">{inner}</svg>'
    )


def _svg(title: str, width: float, height: float, inner: str) -> str:
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{_text(title)}">{inner}</svg>'


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _text(value: str) -> str:
    """Escaped, without the characters that HTML forbids."""
    return html.escape("".join(char if char.isprintable() else " " for char in value), quote=True)
