import pytest

from crawler.errors import BadSetting, SourceFailed
from crawler.ingest import Ingest
from crawler.sources import csv_rows
from crawler.sources.contract import SourceFact, Unreadable
from crawler.sources.csv_rows import CsvRows


@pytest.fixture
def table(tmp_path):
    def write(data, **more):
        path = tmp_path / "boats.csv"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return CsvRows(path, **more)

    return write


def read(source):
    items = list(source.items(lambda _: set()))
    good = {item.key: item.value for item in items if isinstance(item, SourceFact)}
    bad = [(item.where.rpartition(":")[2], item.reason) for item in items if isinstance(item, Unreadable)]
    return good, bad


def test_a_row_is_a_fact_of_texts_under_its_key_columns(table):
    good, bad = read(table("name,port,length\nKelp,Brest,007\n", key=["port", "name"]))
    assert bad == []
    assert good == {
        "csv/boats/Brest/Kelp": {
            "table": "boats",
            "id": "Brest/Kelp",
            "row": {"name": "Kelp", "port": "Brest", "length": "007"},
            "cells": [{"column": "length", "kind": "length", "value": "007"}],
        }
    }


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_the_header_has(table, mark):
    good, _ = read(table(f"\ufeffname{mark}port\nKelp{mark}Brest\n"))
    assert good["csv/boats/Kelp"]["row"] == {"name": "Kelp", "port": "Brest"}


def test_another_delimiter_and_encoding_can_be_given(table):
    good, _ = read(table("name:port\nÉole:Brest\n".encode("utf-16"), delimiter=":", encoding="utf-16"))
    assert good["csv/boats/Éole"]["row"]["port"] == "Brest"


def test_quoted_cells_hold_line_ends_and_long_ones_make_no_cell(table):
    long = "word " * 40
    good, _ = read(table(f'name,note\nKelp,"one\ntwo"\nDulse,"{long}"\n'))
    assert good["csv/boats/Kelp"]["row"]["note"] == "one\ntwo"
    assert good["csv/boats/Dulse"]["cells"] == []
    assert good["csv/boats/Dulse"]["row"]["note"] == long


def test_bad_rows_are_named_by_line_and_the_rest_goes_on(table):
    good, bad = read(table(b'name,port\nA,B\nC\nD,\xff\n,E\nA,F\n"G"x,H\nI,J\0\n\nK,L\n'))
    assert list(good) == ["csv/boats/A", "csv/boats/K"]
    assert [line for line, _ in bad] == ["3", "4", "5", "6", "7", "8"]
    assert "1 cells where the header has 2" in bad[0][1]


def test_a_giant_line_is_passed_over_without_being_held(table, monkeypatch):
    monkeypatch.setattr(csv_rows, "LONGEST_LINE", 50)
    good, bad = read(table(f"name,port\nA,{'x' * 1_000}\nB,C\n"))
    assert (list(good), bad) == (["csv/boats/B"], [("2", "the line is too long")])


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [
        ("", {}, "empty"),
        ("a,a\n", {}, "there twice"),
        ("a,b\n", {"key": ["c"]}, "no column 'c'; it has a, b"),
        ("a,b\n", {"delimiter": ",,"}, "one character"),
        ("a,b\n", {"encoding": "martian"}, "no encoding"),
    ],
)
def test_a_table_that_cannot_be_read_so_is_refused(table, data, more, said):
    with pytest.raises((SourceFailed, BadSetting), match=said):
        read(table(data, **more))


def test_a_prune_with_bad_rows_deletes_nothing(table, stores):
    def ingest(text):
        return Ingest(stores.facts, table(text)).run(prune=True)

    assert ingest("name\nA\nB\n").stored == 2
    torn = ingest("name\nA\nB,x\n")
    assert (torn.pruned, torn.bad, torn.prune_withheld) == (0, 1, True)
    assert ingest("name\nA\n").pruned == 1


def test_a_row_becomes_a_node_with_an_edge_to_what_each_cell_names(table, stores, harvester, call):
    Ingest(stores.facts, table("name,port\nKelp,Brest\n")).run()
    harvester({"include": ["csv"]}).drain()
    found = call("graph_neighbourhood", nodeKey="boats:kelp")["edges"]
    assert [(edge["predicate"], edge["toKey"], edge["confidence"]) for edge in found] == [("port", "port:brest", 0.95)]
