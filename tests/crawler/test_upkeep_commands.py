"""The commands that look after the graph, in processes of their own."""

import json
import re

import psycopg
import pytest

from tests.crawler.conftest import triple

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def filled(put, harvester, database_url):
    put({f"k/{n}": triple(f"a{n}", "leads to", f"hub {n % 3}", confidence=0.5) for n in range(12)})
    put({"hostile": triple(HOSTILE, "leads to", "hub 0")})
    harvester().drain()
    return database_url


def execute(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def drop_graph(url):
    execute(url, "SET search_path TO pg_catalog, ag_catalog", "SELECT ag_catalog.drop_graph('knowledge', true)")


def test_doctor_says_what_is_wrong_with_exit_code_1_and_mends_it(run, filled):
    assert run("doctor").stdout == "everything is as it should be\n"
    execute(filled, """DELETE FROM knowledge."GraphNode" WHERE properties::text LIKE '%hub-1%'""")
    said = run("doctor", code=1).stdout
    assert "fault wrong_vertices" in said
    assert "entity:hub-1" in said
    assert "harvester doctor --fix" in said
    found = json.loads(run("doctor", "--json", code=1).stdout)["findings"]
    assert [(each["check"], each["level"], each["count"]) for each in found] == [("wrong_vertices", "fault", 1)]
    assert json.loads(run("doctor", "--fix", "--json").stdout) == {"mended": ["wrong_vertices"], "findings": []}


def test_a_lost_graph_is_rebuilt_and_the_other_commands_say_how(run, filled):
    before = json.loads(run("stats", "--json").stdout)
    drop_graph(filled)
    assert "harvester rebuild" in run("stats", code=1).stderr
    assert "graph_missing" in run("doctor", code=1).stdout
    done = json.loads(run("rebuild", "--json").stdout)
    assert (done["facts"], done["nodes"], done["requeued"]) == (13, before["nodes"], 0)
    assert json.loads(run("stats", "--json").stdout) == before
    assert "everything" in run("doctor").stdout


def test_rebuild_by_requeue_puts_the_facts_back(run, filled):
    assert "13 facts are back on the queue" in run("rebuild", "--requeue").stdout
    assert json.loads(run("run", "--once", "--json").stdout)["acked"] == 13


def test_backup_and_restore_set_up_an_empty_database(run, filled, empty_database_url, tmp_path):
    assert "13 facts, 16 nodes, 13 edges saved to all.zip" in run("backup", "all.zip").stdout
    assert "there already" in run("backup", "all.zip", code=1).stderr
    assert "not empty" in run("restore", "all.zip", code=1).stderr
    there = {"HARVESTER_DATABASE_URL": empty_database_url}
    (tmp_path / "other.zip").write_text("no zip")
    assert "no backup" in run("restore", "other.zip", code=1, **there).stderr
    done = json.loads(run("restore", "all.zip", "--json", **there).stdout)
    assert done["rows"]["facts.facts"] == 13
    here = json.loads(run("stats", "--json").stdout)
    assert json.loads(run("stats", "--json", **there).stdout) == here
    assert "everything" in run("doctor", **there).stdout


def test_a_report_is_text_json_and_a_page_that_runs_nothing(run, filled, tmp_path):
    assert "articulation points" in run("report").stdout
    found = json.loads(run("report", "--json", "--top", "2", "--html", "graph.html").stdout)
    assert (found["analysis"]["components"], len(found["analysis"]["central"]), found["nodes"]) == (3, 2, 16)
    page = (tmp_path / "graph.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<circle") == 16
    assert re.search(r"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-[^']+'\"", page)
    assert "http" not in page.replace("http-equiv", "")


def test_a_report_of_an_empty_graph_is_one(run):
    assert "nodes" in run("report", "--html", "graph.html").stdout
