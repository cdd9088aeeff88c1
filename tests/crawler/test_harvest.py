"""The step: what it takes, what it writes, and how failures wait."""

import re

import pytest

from crawler.extractors.contract import Deferred, Extraction, Failure
from crawler.extractors.triples import TriplesExtractor
from crawler.harvest import Harvester, Pace, Tally
from crawler.rules import Rule, RuleSet
from facts import DeleteFactInput, StoreFactInput
from facts.access import UNRESTRICTED
from facts.errors import Unavailable
from facts.queue import Backoff
from facts.uncrawled import EntriesQuery, queue_entries
from graph.queries import EdgeQuery
from tests.crawler.conftest import triple


@pytest.fixture
def edges(stores):
    def look():
        return {
            (edge.from_key, edge.predicate, edge.to_key): edge
            for edge in stores.graph.search_edges(EdgeQuery(limit=500), UNRESTRICTED).edges
        }

    return look


@pytest.fixture
def pending(stores):
    def look():
        with stores.facts.db.transaction() as connection:
            return {entry.scope_key: entry for entry in queue_entries(connection, stores.facts.tables, EntriesQuery())}

    return look


class Reading(TriplesExtractor):
    """Triples, but it trips over values that hold `trap`; records the batches that it is given."""

    def __init__(self):
        super().__init__({})
        self.batches = []

    def extract(self, facts):
        self.batches.append([fact.key for fact in facts])
        if any("trap" in str(fact.value) for fact in facts):
            raise ZeroDivisionError("fell into the trap")
        return super().extract(facts)


def over_everything(stores, extractor):
    rule = Rule(name="all", extractor=extractor, regex=re.compile(".*", re.DOTALL))
    return Harvester(stores.facts, stores.graph, RuleSet(rules=(rule,), unmatched="acknowledge"), owner="test")


def test_a_step_takes_known_shapes_into_the_graph_and_leaves_the_rest_pending(harvester, put, edges, pending):
    put({"a/1": triple("Ann", "knows", "Bob"), "a/2": "prose", "skills/x": triple("x", "y", "z")})
    tally = harvester().drain()
    assert (tally.claimed, tally.acked, tally.nodes, tally.edges) == (1, 1, 2, 1)
    (edge,) = edges().values()
    assert (edge.from_key, edge.to_key, edge.confidence, edge.evidence) == (
        "entity:ann",
        "entity:bob",
        0.8,
        ("shared:a/1",),
    )
    assert set(pending()) == {"shared:a/2", "shared:skills/x"}


def test_an_edited_fact_withdraws_what_it_no_longer_says(harvester, put, edges):
    put({"a": [triple("Ann", "knows", "Bob"), triple("Ann", "knows", "Cay")]})
    harvester().drain()
    put({"a": triple("Ann", "knows", "Cay")})
    tally = harvester().drain()
    assert tally.withdrawn > 0
    assert [edge.to_key for edge in edges().values()] == ["entity:cay"]


def test_a_deleted_fact_leaves_the_graph_even_if_no_rule_covers_its_key_any_more(
    harvester, put, stores, edges, pending
):
    put({"a": triple("Ann", "knows", "Bob"), "b": "prose"})
    harvester({"rules": [{"match": "a", "extractor": "triples"}]}).drain()
    assert edges()
    for key in ("a", "b"):
        stores.facts.delete(DeleteFactInput(key=key, shared=True))
    tally = harvester({"rules": [{"match": "elsewhere/*", "extractor": "triples"}]}).drain()
    assert (tally.tombstones, edges()) == (1, {})
    assert set(pending()) == {"shared:b"}, "it was never harvested, so it is the agents'"


def test_unmatched_facts_can_be_acknowledged_with_nothing_said(harvester, put, pending):
    put({"a": triple("Ann", "knows", "Bob"), "b": "prose"})
    tally = harvester({"unmatched": "acknowledge"}).drain()
    assert (tally.acked, tally.empty, pending()) == (2, 1, {})


def test_a_fact_that_stops_matching_under_acknowledge_withdraws_its_edges(harvester, put, edges):
    config = {"unmatched": "acknowledge"}
    put({"a": triple("Ann", "knows", "Bob")})
    harvester(config).drain()
    put({"a": "prose now"})
    harvester(config).drain()
    assert edges() == {}


def test_rules_give_namespace_and_confidence(harvester, put, edges):
    put({"corpus/acme/x": triple("Ann", "knows", "Bob")})
    rule = {"match": "corpus/*", "extractor": "triples", "namespace": 2, "confidence": 0.25}
    harvester({"rules": [rule]}).drain()
    (edge,) = edges().values()
    assert (edge.namespace, edge.confidence) == ("corpus/acme", 0.25)


def test_an_unknown_shape_routed_by_a_rule_fails_and_is_counted_by_name(harvester, put, pending):
    put({"a": {"odd": 1}, "b": {"odd": 2}, "c": triple("Ann", "knows", "Bob"), "d": 7})
    tally = harvester({"rules": [{"match": "*", "extractor": "triples"}]}).drain()
    assert (tally.acked, tally.failed) == (1, 3)
    assert tally.failures == {"unknown shape: object with odd": 2, "unknown shape: number": 1}
    waiting = pending()
    assert set(waiting) == {"shared:a", "shared:b", "shared:d"}
    assert waiting["shared:a"].attempts == 1
    assert waiting["shared:a"].retry_at is not None
    assert "none of the known shapes" in waiting["shared:a"].last_error


def test_a_fact_that_keeps_failing_is_parked_and_a_new_version_opens_it_again(harvester, put, pending, edges):
    config = {"rules": [{"match": "*", "extractor": "triples"}]}
    put({"a": "prose", "b": triple("Ann", "knows", "Bob")})
    quick = harvester(config, backoff=Backoff(first_s=0, most_s=0, max_attempts=3))
    tally = quick.drain()
    assert (tally.failed, tally.acked) == (3, 1)
    assert pending()["shared:a"].parked
    put({"a": triple("Cay", "knows", "Dan")})
    assert quick.drain().acked == 1
    assert len(edges()) == 2


def test_one_fact_that_makes_an_extractor_raise_costs_the_others_nothing(stores, put, pending, edges):
    put({f"k{n}": triple(f"a{n}", "to", f"b{n}") for n in range(10)} | {"k4": triple("trap", "to", "b")})
    extractor = Reading()
    tally = over_everything(stores, extractor).step()
    assert (tally.acked, tally.failed, len(edges())) == (9, 1, 9)
    assert tally.failures == {"extractor: ZeroDivisionError": 1}
    assert "fell into the trap" in pending()["shared:k4"].last_error
    assert len(extractor.batches) <= 9, "by halves, not one by one"


def test_what_the_graph_rejects_fails_its_fact_only(harvester, put, pending):
    bad = {"nodes": [{"kind": "x", "name": "n" * 600}, {"kind": "!!!", "name": "y"}], "edges": []}
    put({"bad": bad, "self": triple("Ann", "is", "ann"), "good": triple("Ann", "knows", "Bob")})
    tally = harvester().step()
    assert (tally.acked, tally.failed) == (1, 2)
    assert tally.failures == {"rejected by the graph": 2}
    error = pending()["shared:bad"].last_error
    assert "nodes[0]" in error
    assert "nodes[1]" in error


def test_an_extractor_that_answers_for_too_few_facts_fails_them(stores, put):
    class Short(TriplesExtractor):
        def extract(self, _facts):
            return []

    put({"a": triple("Ann", "knows", "Bob")})
    tally = over_everything(stores, Short({})).step()
    assert (tally.acked, tally.failed) == (0, 1)


def test_a_fact_edited_while_it_is_extracted_is_stale_and_comes_again(stores, put, edges):
    class Meddling(TriplesExtractor):
        meddled = False

        def extract(self, facts):
            if not self.meddled:
                self.meddled = True
                stores.facts.store(StoreFactInput(key="a", value=triple("Ann", "knows", "Cay"), shared=True))
            return super().extract(facts)

    put({"a": triple("Ann", "knows", "Bob")})
    harvest = over_everything(stores, Meddling({}))
    assert harvest.step().stale == 1
    assert harvest.step().acked == 1
    assert [edge.to_key for edge in edges().values()] == ["entity:cay"]


def test_a_database_that_is_away_is_nobodys_fault(stores, put, pending):
    class Away(TriplesExtractor):
        def extract(self, _facts):
            raise Unavailable("the model is down")

    put({"a": triple("Ann", "knows", "Bob")})
    harvest = over_everything(stores, Away({}))
    with pytest.raises(Unavailable):
        harvest.step()
    assert pending()["shared:a"].last_error is None
    assert harvest.release() == 1
    assert over_everything(stores, TriplesExtractor({})).step().acked == 1


def test_extractors_may_answer_failures_and_empty_extractions(stores, put, pending):
    class Odd(TriplesExtractor):
        def extract(self, facts):
            return [Failure(label="odd", message="why") if fact.key == "a" else Extraction() for fact in facts]

    put({"a": 1, "b": 2})
    tally = over_everything(stores, Odd({})).step()
    assert (tally.acked, tally.empty, tally.failed) == (1, 1, 1)
    assert pending()["shared:a"].last_error == "why"


class PuttingOff(TriplesExtractor):
    """Triples, but not before it is open."""

    def __init__(self, *, seconds):
        super().__init__({})
        self.seconds = seconds
        self.is_open = False
        self.asked = 0

    def extract(self, facts):
        self.asked += 1
        if self.is_open:
            return super().extract(facts)
        return [Deferred(seconds=self.seconds, reason="no budget")] * len(facts)


def beside_a_fast_rule(stores, extractor, clock, **pace):
    slow = Rule(name="slow", extractor=extractor, regex=re.compile("slow/.*"), like_patterns=("slow/%",))
    fast = Rule(name="fast", extractor=TriplesExtractor({}), regex=re.compile("fast/.*"), like_patterns=("fast/%",))
    rules = RuleSet(rules=(slow, fast))
    return Harvester(stores.facts, stores.graph, rules, owner="test", pace=Pace(clock=clock, **pace))


def test_facts_that_are_put_off_stay_pending_without_an_attempt_and_do_not_hold_up_other_rules(stores, put, pending):
    put({f"slow/{n}": triple(f"a{n}", "to", f"b{n}") for n in range(5)})
    put({"fast/1": triple("Ann", "knows", "Bob")})
    now, extractor = [0.0], PuttingOff(seconds=60)
    harvest = beside_a_fast_rule(stores, extractor, lambda: now[0], batch_size=2)
    first = harvest.step()
    assert (first.claimed, first.acked, first.failed) == (1, 1, 0)
    assert first.deferred == 4, "the batch, and the one claimed ahead of it"
    assert harvest.step() == Tally()
    asked, waiting = extractor.asked, pending()
    assert set(waiting) == {f"shared:slow/{n}" for n in range(5)}
    assert {(entry.attempts or 0, entry.last_error, entry.parked) for entry in waiting.values()} == {(0, None, False)}
    now[0], extractor.is_open = 60.0, True
    assert harvest.drain().acked == 5
    assert extractor.asked > asked


def test_a_rule_that_goes_on_putting_off_ends_a_drain(stores, put, pending):
    put({"slow/1": triple("Ann", "knows", "Bob")})
    for seconds, times in ((0, 4), (60, 1)):
        total = beside_a_fast_rule(stores, PuttingOff(seconds=seconds), lambda: 0.0).drain()
        assert (total.claimed, total.deferred) == (0, times)
    assert pending()["shared:slow/1"].attempts == 0
