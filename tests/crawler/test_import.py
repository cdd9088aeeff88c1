"""An exported graph comes in again: the same graph, on facts of its own."""

import json

import pytest

from crawler.sources.contract import Unreadable
from crawler.sources.graph_export import GraphExport
from tests.crawler.conftest import triple

KEPT = (
    "nodeKey",
    "kind",
    "name",
    "namespaces",
    "aliases",
    "fromKey",
    "toKey",
    "predicate",
    "predicateKey",
    "confidence",
)


def shown(run, *more, **environment):
    lines = run("export", "-", *more, **environment).stdout.splitlines()
    return [{name: value for name, value in json.loads(line).items() if name in KEPT} for line in lines]


def test_an_import_gives_the_graph_that_was_exported(run, put, harvester, empty_database_url):
    put({f"k/{n}": triple(f"a{n}", "leads to", f"hub {n % 3}", confidence=0.5) for n in range(12)})
    put(
        {
            "c": triple("C++", "Is Owned By", "Ærø \"x\" \\ 'y'"),
            "again": triple("a1", "leads to", "hub 1", confidence=0.5),
        }
    )
    put({"exact": {"nodes": [{"kind": "Lang", "name": "C", "identity": "exact", "namespace": "corpus/a", "aliases": ["see"]},
                             {"kind": "Lang", "name": "C", "identity": "exact", "namespace": "zeta"}], "edges": []}})  # fmt: skip
    harvester().drain()
    run("export", "all.jsonl")
    there = {"HARVESTER_DATABASE_URL": empty_database_url}
    run("migrate", **there)
    assert "facts stored, 0 unchanged" in run("import", "all.jsonl", **there).stdout
    assert json.loads(run("run", "--once", "--json", **there).stdout)["failed"] == 0
    assert shown(run, **there) == shown(run)
    assert ": 0 facts stored" in run("import", "all.jsonl", **there).stdout


def test_a_pruned_import_lets_go_of_what_a_later_export_no_longer_has(
    run, put, harvester, empty_database_url, tmp_path
):
    put({"k": triple("a", "leads to", "b"), "l": triple("c", "leads to", "d")})
    harvester().drain()
    run("export", "all.jsonl")
    there = {"HARVESTER_DATABASE_URL": empty_database_url}
    run("migrate", **there)
    run("import", "all.jsonl", **there)
    lines = (tmp_path / "all.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "all.jsonl").write_text("".join(line for line in lines if "entity:c" not in line))
    assert "2 deleted" in run("import", "all.jsonl", "--prune", **there).stdout
    run("run", "--once", **there)
    assert [each.get("nodeKey") for each in shown(run, **there)] == ["entity:a", "entity:b", "entity:d", None]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nothing", "not JSON"),
        ("[]", "neither a node nor an edge"),
        ('{"type": "edge", "fromKey": "a:b", "toKey": "a:c", "predicate": "p", "confidence": 2}', "confidence"),
        ('{"type": "edge", "fromKey": "a", "toKey": "a:c", "predicate": "p", "confidence": 1}', "key"),
        ('{"type": "node", "nodeKey": "a:b", "kind": "a", "name": " "}', "name"),
        ('{"type": "node", "nodeKey": "a:b", "kind": "a", "name": "b", "namespaces": [1]}', "namespaces"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_goes_on(tmp_path, line, says):
    path = tmp_path / "x.jsonl"
    path.write_text(f'{line}\n{{"type": "node", "nodeKey": "a:b", "kind": "A", "name": "B"}}\n')
    bad, good = GraphExport(path).items(lambda _: set())
    assert isinstance(bad, Unreadable)
    assert says in bad.reason
    assert good.key == "import/x/node/a:b"
