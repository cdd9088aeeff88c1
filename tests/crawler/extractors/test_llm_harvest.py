"""A model behind a rule: budgets in a real harvest, counts, and the page that shows it."""

import re

import pytest
from prometheus_client import generate_latest

from checks.tree import ROOT
from crawler.harvest import Harvester
from crawler.metrics import REGISTRY
from crawler.rules import Rule, RuleSet
from facts.access import UNRESTRICTED
from facts.queue import Backoff
from facts.uncrawled import EntriesQuery, queue_entries
from graph.queries import EdgeQuery
from tests.crawler.extractors.asking import GRAPH, facts, prompt
from tests.crawler.extractors.model_server import EMPTY, raw, saying
from tests.crawler.sources.test_pages import run_page

SERVER_ERROR = raw(b"oops", 500)


def test_calls_tokens_and_refused_answers_are_counted(model, extractor):
    def count(line):
        found = re.search(rf"^{re.escape(line)} (\S+)$", generate_latest(REGISTRY).decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    lines = (
        'harvester_model_calls_total{outcome="ok"}',
        'harvester_model_calls_total{outcome="server error"}',
        'harvester_model_answers_refused_total{reason="unknown shape"}',
        "harvester_model_tokens_total",
    )
    before = [count(line) for line in lines]
    model.script = [SERVER_ERROR, saying({"odd": 1}), saying(GRAPH)]
    extractor(concurrency=1).extract(facts("a", "b"))
    assert [count(line) - was for line, was in zip(lines, before, strict=True)] == [2, 1, 1, 200]


@pytest.fixture
def harvest(stores, extractor):
    def make(**options):
        rule = Rule(
            name="prose", extractor=extractor(**options), regex=re.compile("notes/.*"), like_patterns=("notes/%",)
        )
        return Harvester(stores.facts, stores.graph, RuleSet(rules=(rule,)), owner="test")

    return make


@pytest.fixture
def pending(stores):
    def look():
        with stores.facts.db.transaction() as connection:
            return queue_entries(connection, stores.facts.tables, EntriesQuery())

    return look


@pytest.mark.parametrize("budget", [{"max_calls": 2}, {"max_tokens_total": 150}])
def test_a_spent_budget_leaves_facts_pending_without_an_attempt(model, harvest, put, pending, budget, capsys):
    put({f"notes/{n}": f"note {n}" for n in range(6)})
    one = harvest(concurrency=1, **budget)
    total = one.drain()
    assert (total.acked, total.failed, total.deferred, len(model.seen)) == (2, 0, 4, 2)
    left = pending()
    assert [(entry.attempts or 0, entry.parked, entry.last_error) for entry in left] == [(0, False, None)] * 4
    assert one.step().claimed == 0, "the rule rests: nothing is claimed just to be put off"
    assert capsys.readouterr().out.count("rule_rests") == 1
    assert harvest().drain().acked == 4, "another process has a budget of its own"


def test_what_a_model_says_of_facts_is_in_the_graph_and_what_it_cannot_say_fails_by_name(
    model, stores, harvester, put, pending
):
    put({"notes/1": "Ada lives in Turin.", "notes/2": "?", "notes/3": "nothing"})
    model.script = [saying(GRAPH), saying("I do not know."), saying(EMPTY)]
    options = {"base_url": model.base_url, "model": "m", "structured": True, "concurrency": 1}
    rule = {"match": "notes/*", "extractor": "llm", "confidence": 0.6, "namespace": "notes", "options": options}
    tally = harvester({"rules": [rule]}, backoff=Backoff(first_s=60)).drain()
    assert (tally.acked, tally.empty, tally.failures) == (2, 1, {"llm: prose": 1})
    (edge,) = stores.graph.search_edges(EdgeQuery(limit=10), UNRESTRICTED).edges
    assert (edge.from_key, edge.to_key, edge.confidence, edge.namespace) == ("person:ada", "city:turin", 0.6, "notes")
    (left,) = pending()
    assert (left.scope_key, left.attempts) == ("shared:notes/2", 1)


def test_the_page_does_what_it_shows(model, environment, tmp_path):
    model.script = [saying(GRAPH)]
    page = (ROOT / "docs" / "extractors" / "llm.md").read_text()
    assert page.count("http://localhost:11434/v1") == 1
    shown = page.replace("http://localhost:11434/v1", model.base_url)
    run_page(shown, environment=environment | {"NO_PROXY": "127.0.0.1"}, folder=tmp_path)
    (asked,) = model.seen
    assert prompt(asked)[1].split("\n")[1:-1] == ["Ada lives in Turin."], "the document's own fact has no text"


def test_an_answer_that_no_graph_can_hold_costs_only_its_own_fact(model, harvest, put, pending):
    put({"notes/1": "one", "notes/2": "two", "notes/3": "three"})
    names = ["\ud800", "nul \x00", "Ada"]
    model.script = [saying({"nodes": [{"kind": "person", "name": name}], "edges": []}) for name in names]
    tally = harvest(concurrency=1).step()
    assert (tally.acked, tally.failed, len(model.seen)) == (1, 2, 3)
    assert {(entry.scope_key, entry.attempts) for entry in pending()} == {("shared:notes/1", 1), ("shared:notes/2", 1)}


def test_a_missing_key_is_refused_where_facts_are_drained_and_nowhere_else(run, put, tmp_path):
    put({"notes/1": "one"})
    rule = '[[rules]]\nmatch = "notes/*"\nextractor = "llm"\n'
    options = 'options = { base_url = "http://127.0.0.1:9/v1", model = "m", structured = true, api_key_env = "NO_SUCH_KEY" }\n'
    (tmp_path / "harvest.toml").write_text(rule + options)
    run("queue")
    assert "NO_SUCH_KEY is not set" in run("run", "--once", code=1).stderr
    assert "NO_SUCH_KEY is not set" in run("serve", "--harvest", "1", "--port", "0", code=1).stderr
