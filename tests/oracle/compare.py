"""How two graphs differ, in words a person can act on."""

from collections.abc import Iterator
from math import isclose

from tests.oracle.fold import Graph

NODE_FIELDS = ("name", "kind", "aliases", "namespaces", "namespace", "evidence")
EDGE_FIELDS = ("predicate", "confidence", "observations", "evidence", "asserted_by", "namespaces", "namespace")
TOLERANCE = 1e-9


def compare(expected: Graph, actual: Graph) -> list[str]:
    """Every difference, one line each; empty when the graphs are the same."""
    return [*_nodes(expected, actual), *_edges(expected, actual)]


def assert_same(expected: Graph, actual: Graph) -> None:
    """Raise with all differences (the first 40 of them)."""
    differences = compare(expected, actual)
    if differences:
        raise AssertionError("\n".join([f"{len(differences)} differences", *differences[:40]]))


def _nodes(expected: Graph, actual: Graph) -> Iterator[str]:
    for key in sorted(set(expected.nodes) - set(actual.nodes)):
        yield f"node {key}: missing"
    for key in sorted(set(actual.nodes) - set(expected.nodes)):
        yield f"node {key}: unexpected"
    for key in sorted(set(expected.nodes) & set(actual.nodes)):
        yield from _fields(f"node {key}", NODE_FIELDS, expected.nodes[key], actual.nodes[key])


def _edges(expected: Graph, actual: Graph) -> Iterator[str]:
    want = {(source, target, key): data for source, target, key, data in expected.edges(keys=True, data=True)}
    have = {(source, target, key): data for source, target, key, data in actual.edges(keys=True, data=True)}
    for triple in sorted(set(want) - set(have)):
        yield f"edge {triple}: missing"
    for triple in sorted(set(have) - set(want)):
        yield f"edge {triple}: unexpected"
    for triple in sorted(set(want) & set(have)):
        yield from _fields(f"edge {triple}", EDGE_FIELDS, want[triple], have[triple])


def _fields(what: str, names: tuple[str, ...], expected: dict[str, object], actual: dict[str, object]) -> Iterator[str]:
    for name in names:
        if name in actual and not _same(expected[name], actual[name]):
            yield f"{what}: {name} is {_text(actual[name])}, the fold says {_text(expected[name])}"


def _same(expected: object, actual: object) -> bool:
    if isinstance(expected, float):
        return isinstance(actual, int | float) and isclose(expected, actual, rel_tol=0, abs_tol=TOLERANCE)
    return expected == actual


def _text(value: object) -> str:
    return str(sorted(value, key=str)) if isinstance(value, frozenset) else repr(value)
