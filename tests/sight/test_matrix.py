"""Each kind of caller sees exactly what it may, whichever way it comes in."""

import pytest

from crawler.harvest import Harvester
from crawler.registry import Need, all_tools, tools_for
from crawler.rules import read_rules
from crawler.wiring import Stores
from facts import StoreFactInput
from facts.access import Role, Writer
from facts.receipts import requeue
from tests.sight.faces import FACES, WITH_KEYS, Who

OPEN = {"shared:open", "shared:granted/one"}
FAMILY = {"session:owner:private", "session:owner:granted/two", "session:sister:own", "shared:intake/seen"}
ALONE = {"session:alone:own"}
HOUSE = {"shared:config/facts-manager/rule"}
EVERYTHING = OPEN | FAMILY | ALONE | HOUSE
CRAWLED = EVERYTHING - HOUSE - {"shared:intake/seen"}
GRANTED = {"shared:granted/one", "session:owner:granted/two"}

WHO = {
    "a reader without a session": Who(),
    "a member of the tree": Who(session="sister"),
    "a stranger": Who(session="alone"),
    "a crawler": Who(role=Role.CRAWLER),
    "a crawler with a grant": Who(role=Role.CRAWLER, granted=("granted/",)),
    "the facts manager": Who(role=Role.FACTS_MANAGER),
    "the agent tuner": Who(role=Role.AGENT_TUNER),
}
SEES = dict(zip(WHO, (OPEN, OPEN | FAMILY, OPEN | ALONE, CRAWLED, OPEN | GRANTED, EVERYTHING, EVERYTHING), strict=True))
QUEUE = dict(zip(WHO, (None, None, None, CRAWLED, GRANTED, EVERYTHING, None), strict=True))

REFUSED = {"not_permitted", "not_found"}  # A tool that the page does not have is not found there.
BY_OWNER = {"shared:open", "session:owner:private", "session:owner:granted/two", "shared:intake/seen"}
CASES = [(face, who) for face in FACES for who in WHO if not WHO[who].granted or face in WITH_KEYS]

GUARDED = [case for case in CASES if case[0] in {"page", "HTTP API"} or case == ("command", "a stranger")]


def edge(source: str, predicate: str, target: str) -> dict[str, object]:
    ends = {"from": {"kind": "place", "name": source}, "to": {"kind": "place", "name": target}}
    return {**ends, "predicate": predicate, "confidence": 0.8}


def fill(stores: Stores) -> None:
    sessions, store = stores.facts.sessions, stores.facts.store
    sessions.register("mother")
    sessions.register("owner", parent_session_id="mother")
    sessions.register("sister", parent_session_id="mother")
    sessions.register("alone")
    for key, session, shared in (
        ("open", "owner", True), ("private", "owner", False), ("own", "sister", False), ("own", "alone", False),
        ("intake/seen", "owner", True), ("granted/one", "alone", True), ("granted/two", "owner", False),
        ("config/facts-manager/rule", None, True),
    ):  # fmt: skip
        # A node of its own, so that what is seen of the graph says who may see which fact behind it.
        stated = [edge("Harbour", "serves", "Ship"), edge(f"Only {session} {key}", "lies in", "Harbour")]
        store(StoreFactInput(key=key, value={"nodes": [], "edges": stated}, shared=shared), Writer(session_id=session))
    rules = read_rules({"rules": [{"name": "all", "match": "*", "extractor": "triples"}]}, reserved_prefixes=[])
    Harvester(stores.facts, stores.needed_graph(), rules, owner="sight").drain()
    stores.facts.db.run(lambda conn: requeue(conn, stores.facts.tables, sorted(EVERYTHING)))


@pytest.fixture(scope="module")
def place(settle):
    return settle(fill)


@pytest.fixture(scope="module")
def guarded(settle):
    """The same under `graph_topology = "visible"`."""
    return settle(fill, HARVESTER_GRAPH_TOPOLOGY="visible")


def keys(answer: dict, field: str = "facts") -> set[str]:
    assert "code" not in answer, answer
    return {each["scopeKey"] for each in answer[field]}


@pytest.mark.parametrize(("face", "who"), CASES)
def test_each_is_offered_its_tools_and_sees_exactly_what_it_may(place, face: str, who: str) -> None:
    caller = WHO[who]
    scope = "accessible" if caller.role is Role.AGENT else "all"
    heard = FACES[face](place, caller, [
        ("read_facts", {"scope": scope}),
        ("read_facts", {"scopeKeys": sorted(EVERYTHING), "scope": scope}),
        ("read_facts", {"scope": "all"}),
        ("read_facts", {"scope": scope, "sessionId": "owner"}),
        ("graph_search_edges", {"predicate": "serves"}),
        ("graph_search_nodes", {"nameLike": "Harbour"}),
        ("facts_read_uncrawled", {"limit": 50}),
        ("graph_stats", {}),
        ("delete_fact", {"key": "never stored", "shared": True}),
    ])  # fmt: skip
    read, by_key, every, by_writer, edges, nodes, queue, numbers, deleted = heard.answers
    assert keys(read) == keys(by_key) == SEES[who]
    assert (every.get("code") == "not_permitted") == (caller.role is Role.AGENT)
    assert keys(by_writer) == {key for key in SEES[who] if key in BY_OWNER}
    assert [set(edge["evidence"]) for edge in edges["edges"]] == [SEES[who]]
    assert set(nodes["nodes"][0]["evidence"]) == SEES[who]
    if QUEUE[who] is None or face == "page":
        assert queue["code"] in REFUSED
    else:
        assert keys(queue) == QUEUE[who]
    assert ("nodes" in numbers) == (caller.role in {Role.FACTS_MANAGER, Role.AGENT_TUNER})
    if caller.role is Role.AGENT_TUNER or face == "page":
        assert deleted["code"] in REFUSED
    else:
        assert deleted["deleted"] is False
    due = {each.name for each in tools_for(caller.role, frozenset({Need.GRAPH}))}
    if face == "page":
        assert heard.offered
        assert heard.offered <= {name for name in due if not all_tools()[name].mutates}
    else:
        assert heard.offered == due


@pytest.mark.parametrize(("face", "who"), GUARDED)
def test_where_topology_is_guarded_each_sees_the_nodes_of_its_facts_and_their_numbers(
    guarded, face: str, who: str
) -> None:
    [nodes, edges] = FACES[face](
        guarded, WHO[who], [("graph_search_nodes", {"limit": 50}), ("graph_search_edges", {"predicate": "serves"})]
    ).answers
    seen = {each["name"]: each["degree"] for each in nodes["nodes"]}
    own = {name for name in seen if name.startswith("Only ")}
    # One node a fact in sight, the edge to each of them, and the one edge that all facts state.
    assert len(own) == len(SEES[who])
    assert seen["Harbour"] == len(own) + 1
    assert [edge["observations"] for edge in edges["edges"]] == [len(SEES[who])]
    assert edges["edges"][0]["confidence"] == pytest.approx(1 - 0.2 ** len(SEES[who]))
