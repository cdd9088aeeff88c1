"""What one session keeps to itself comes out of nothing that somebody else can ask, by whatever way.

A way to read that is not asked here fails the build: tools are taken from the registry, GET routes from the application,
commands from the command line itself.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from crawler.cli import app as commands
from crawler.harvest import Harvester
from crawler.page.routes import PAGE_TOOLS
from crawler.protocol.source import Source
from crawler.registry import all_tools
from crawler.rules import read_rules
from crawler.serving.app import make_app
from crawler.serving.routes import READS
from crawler.settings import Settings
from crawler.wiring import Stores, connect_stores
from facts import DeleteFactInput, StoreFactInput
from facts.access import Role, Writer
from facts.queue import FailedClaim, claim, fail
from graph.model import Author, EdgeUpsert, NodeUpsert
from tests.sight.faces import FACES, Place, Question, Who

VALUE, KEY, SESSION = "canaryvalue", "canarykey", "canarysession"
# Topology is shared by default; guarded, these are kept as well.
NAME, PREDICATE, SPACE = "canaryname", "canarypred", "canaryspace"
KEPT = (VALUE, KEY, SESSION)
TOPOLOGY = (NAME, PREDICATE, SPACE)
LIVE, EDITED, PARKED, DELETED, NOTED = (
    f"session:{SESSION}:{KEY}/{name}" for name in ("live", "edit", "park", "gone", "note")
)
NODE = f"place:{NAME}"

OWNER = Who(session=SESSION)
OTHERS = {
    "a reader without a session": Who(),
    "a stranger": Who(session="stranger"),
    "a crawler with another grant": Who(role=Role.CRAWLER, granted=("elsewhere/",)),
}

# As greedily as it can be asked. Of a tool that is not for the caller, the refusal is looked through like an answer.
QUESTIONS: dict[str, list[dict[str, object]]] = {
    "read_facts": [
        {}, {"keyPattern": "*"}, {"keyPattern": f"*{KEY}*"}, {"scope": "descendants"}, {"scope": "session"}, {"scope": "all"},
        {"scopeKeys": [LIVE, EDITED, PARKED, DELETED, NOTED, f"shared:intake/{KEY}"]}, {"sessionId": SESSION},
        {"scopeKeys": [LIVE], "valueOffset": 0}, {"agentId": "keeper"}, {"tags": ["kept"]}, {"keyPattern": "intake/*"},
    ],
    "facts_tombstone_stats": [{}],
    "facts_read_uncrawled": [{"limit": 500}, {"keyPrefix": KEY}, {"namespace": KEY}],
    "graph_search_nodes": [
        {}, {"kind": "place"}, {"nameLike": NAME}, {"seeds": [LIVE, NOTED]}, {"seeds": [NODE, "place:harbour"], "depth": 5},
        {"namespace": SPACE}, {"namespace": KEY},
    ],
    "graph_search_edges": [{}, {"predicate": PREDICATE}, {"fromKey": "place:harbour"}, {"namespace": SPACE}],
    "graph_neighbourhood": [
        {"nodeKey": "place:harbour", "depth": 5}, {"nodeKey": NODE, "depth": 2}, {"nodeKey": LIVE},
    ],
    "graph_merge_suggestions": [{"minScore": 0.0, "limit": 500}],
    "graph_list_namespaces": [{"includeArchived": True, "includeDetails": True}],
    "graph_get_namespace": [{"namespace": "default"}, {"namespace": SPACE}],
    "graph_stats": [{}, {"namespace": SPACE}],
    "graph_query": [{"cypher": "MATCH (n) RETURN n"}],
}  # fmt: skip
PARAMETERS = {"name": "facts"}
# Commands on behalf of somebody; all others are for whoever holds the database itself.
ON_BEHALF = {"call", "mcp", "guide"}
OF_OPERATORS = {
    "demo", "migrate", "run", "serve", "show", "stats", "report", "export", "queue", "requeue", "purge", "wake", "doctor",
    "rebuild", "backup", "restore", "ingest", "import", "keys", "sessions",
}  # fmt: skip


def edge(source: str, predicate: str, target: str) -> dict[str, object]:
    ends = {"from": {"kind": "place", "name": source}, "to": {"kind": "place", "name": target}}
    return {**ends, "predicate": predicate, "confidence": 0.8}


def fill(stores: Stores) -> None:
    """A private fact in every state that a fact can be in, on a graph that others have a part in as well."""
    facts, graph = stores.facts, stores.needed_graph()
    mine = Writer(session_id=SESSION, agent_id="keeper")
    common = edge("Harbour", "serves", "Ship")
    secret = {"nodes": [], "edges": [common, edge("Harbour", PREDICATE, NAME)], "note": VALUE, "namespace": SPACE}
    facts.store(StoreFactInput(key="open", value={"nodes": [], "edges": [common]}, shared=True))
    for name in ("live", "edit", "gone"):
        facts.store(StoreFactInput(key=f"{KEY}/{name}", value=secret, tags=["kept"]), mine)
    facts.store(StoreFactInput(key=f"{KEY}/note", value=VALUE), mine)
    facts.store(StoreFactInput(key=f"intake/{KEY}", value=VALUE, shared=True), mine)
    author = Author(agent_id="keeper", session_id=SESSION)
    for name, aliases in ((f"{NAME} two", [NAME]), (f"{NAME} three", [])):
        graph.upsert_node(
            NodeUpsert(kind="place", name=name, aliases=aliases, namespace=SPACE, evidence=[NOTED]), author
        )
    graph.upsert_edge(
        EdgeUpsert(from_key=f"{NODE}-two", to_key=f"{NODE}-three", predicate=PREDICATE, evidence=[NOTED]), author
    )
    rules = read_rules(
        {"rules": [{"name": "all", "match": [f"{KEY}/*", "open"], "extractor": "triples"}]}, reserved_prefixes=[]
    )
    Harvester(facts, graph, rules, owner="sight").drain()
    facts.store(StoreFactInput(key=f"{KEY}/edit", value={"note": f"{VALUE} edited"}), mine)
    facts.store(StoreFactInput(key=f"{KEY}/note", value=f"{VALUE} edited"), mine)
    facts.delete(DeleteFactInput(key=f"{KEY}/gone"), mine)
    facts.store(StoreFactInput(key=f"{KEY}/park", value=VALUE), mine)
    taken = facts.db.run(lambda conn: claim(conn, facts.tables, owner="w", limit=50, lease=60))
    failed = [
        FailedClaim(fact_id=each.fact_id, etag=each.etag, attempts=1, error=f"{VALUE} is no triple", terminal=True)
        for each in taken if each.scope_key == PARKED
    ]  # fmt: skip
    facts.db.run(lambda conn: fail(conn, facts.tables, failed, owner="w"))


@pytest.fixture(scope="module")
def places(settle) -> dict[str, Place]:
    return {"shared": settle(fill), "visible": settle(fill, HARVESTER_GRAPH_TOPOLOGY="visible")}


@pytest.fixture(scope="module")
def application(server, template_url) -> Iterator[object]:
    """The routes as they are, with none of them asked."""
    url = server.create_database("sight_routes", template="harvester_template")
    with connect_stores(url, Settings(database_url=url)) as stores:
        edge_app, _ = make_app(Source(stores=stores, settings=Settings(database_url=url)))
        yield getattr(edge_app, "_app")  # noqa: B009 - the edge is a bare ASGI application to types
    server.drop_database("sight_routes")


def questions() -> list[Question]:
    return [(tool, dict(arguments)) for tool, each in QUESTIONS.items() for arguments in each]


def traces(said: str, asked: object, kept: tuple[str, ...]) -> list[str]:
    """What of the kept is in an answer; an answer may repeat the question's own words."""
    words = re.findall(r"'([^']*)'", str(asked))
    for word in sorted(words, key=len, reverse=True):
        said = said.replace(word, "")
    return [trace for trace in kept if trace in said]


def kept_in(topology: str) -> tuple[str, ...]:
    return KEPT if topology == "shared" else KEPT + TOPOLOGY


CASES = [
    (topology, face, who)
    for topology in ("shared", "visible")
    for face in FACES
    for who in OTHERS
    if not (OTHERS[who].granted and face in {"command", "MCP by stdio"})
    and (topology == "shared" or face in {"HTTP API", "page"} or who == "a stranger")
]


@pytest.mark.parametrize(("topology", "face", "who"), CASES)
def test_no_tool_says_a_word_of_it(places, topology: str, face: str, who: str) -> None:
    asked = questions()
    answers = FACES[face](places[topology], OTHERS[who], asked).answers
    found = {
        f"{tool} {arguments}": left
        for (tool, arguments), answer in zip(asked, answers, strict=True)
        if (left := traces(str(answer), arguments, kept_in(topology)))
    }
    assert found == {}


@pytest.mark.parametrize("face", FACES)
def test_its_owner_finds_all_of_it_so_the_search_can_fail(places, face: str) -> None:
    answers = FACES[face](places["visible"], OWNER, questions()).answers
    said = [
        trace for (_, arguments), answer in zip(questions(), answers, strict=True)
        for trace in traces(str(answer), arguments, KEPT + TOPOLOGY)
    ]  # fmt: skip
    assert set(said) == {*KEPT, *TOPOLOGY}


def test_numbers_say_nothing_of_it_where_topology_is_guarded(places) -> None:
    asked: list[Question] = [
        ("graph_search_nodes", {}),
        ("graph_search_edges", {}),
        ("graph_neighbourhood", {"nodeKey": "place:harbour", "depth": 5}),
    ]
    nodes, edges, near = FACES["HTTP API"](places["visible"], OTHERS["a stranger"], asked).answers
    assert {each["name"]: each["degree"] for each in nodes["nodes"]} == {"Harbour": 1, "Ship": 1}
    assert [(each["observations"], each["confidence"]) for each in edges["edges"]] == [(1, 0.8)]
    assert [(each["observations"], each["confidence"]) for each in near["edges"]] == [(1, 0.8)]
    assert len(near["nodes"]) == 1
    _, edges, near = FACES["HTTP API"](places["visible"], OWNER, asked).answers
    assert max(each["observations"] for each in edges["edges"]) > 1
    assert len(near["nodes"]) > 1


def get_routes(application: object) -> dict[str, str]:
    """Path of every GET route, and its tool when it is a typed read."""
    return {path: READS.get(path, "") for path, methods in _all_routes(application) if "GET" in methods}


def _all_routes(holder: Any) -> Iterator[tuple[str, set[str]]]:
    for route in getattr(holder, "routes", ()):
        if getattr(route, "methods", None):
            yield route.path, route.methods
        else:
            yield from _all_routes(getattr(route, "original_router", route))


@pytest.mark.parametrize("topology", ("shared", "visible"))
def test_no_route_that_is_read_says_a_word_of_it(places, application, topology: str) -> None:
    routes = get_routes(application)
    assert {*READS, "/", "/metrics", "/page/session", "/v1/guides"} <= set(routes)
    place, kept = places[topology], kept_in(topology)
    found: dict[str, list[str]] = {}
    with place.client(OTHERS["a stranger"]) as client, place.signed_in(OTHERS["a stranger"]) as browser:
        for path, tool in routes.items():
            for asked in QUESTIONS.get(tool, [{}]) if tool else [{}]:
                target = re.sub(r"\{(\w+).*?\}", lambda part: PARAMETERS[part[1]], path)
                spelled = {name: "true" if value is True else value for name, value in asked.items()}
                for asker in (client, browser):
                    answer = asker.get(target, params=spelled)
                    assert answer.status_code < 500, (target, asked)
                    if left := traces(answer.text, asked, kept):
                        found[f"{target} {asked}"] = left
    assert found == {}


@pytest.mark.parametrize("who", OTHERS)
def test_no_guide_says_a_word_of_it(places, who: str) -> None:
    place = places["visible"]
    with place.client(OTHERS[who]) as client:
        names = [each["name"] for each in client.get("/v1/guides").json()["guides"]]
        said = [client.get(f"/v1/guides/{name}").text for name in names]
    assert names
    if not OTHERS[who].granted:
        said += [place.run("guide", *OTHERS[who].options)]
    assert [traces(text, "", KEPT + TOPOLOGY) for text in said if traces(text, "", KEPT + TOPOLOGY)] == []


def test_every_tool_that_reads_is_asked_here() -> None:
    assert set(QUESTIONS) == {name for name, tool in all_tools().items() if not tool.mutates}
    assert set(PAGE_TOOLS) <= set(QUESTIONS)
    assert set(READS.values()) <= set(QUESTIONS)


def test_every_command_is_asked_here_or_is_the_operators() -> None:
    group = typer.main.get_command(commands)
    found = {name: _options(command) for name, command in group.commands.items()}  # type: ignore[attr-defined]
    assert set(found) == ON_BEHALF | OF_OPERATORS
    assert {name for name, options in found.items() if {"role", "session"} <= options} == ON_BEHALF


def _options(command: object) -> set[str]:
    return {each.name for each in getattr(command, "params", ())}
