"""What the page is shown: a small graph with a strong edge and weak ones, hostile names, a crowd, and a secret."""

from __future__ import annotations

from crawler.harvest import Harvester
from crawler.settings import Settings
from crawler.wiring import Stores, rules_of
from facts.access import Role, Writer
from facts.inputs import StoreFactInput

CANARY = "canary-7f3a"
CROWD = 170
HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    '"><svg onload="document.title=1">',
    "javascript:document.title='owned'",
    "&lt;b&gt;bold&lt;/b&gt;",
    "שלום עולם",
    "\u202egnp.exe\u202c",
    "👩‍👩‍👧‍👦 family 🏳️‍🌈",
    "x" * 500,
)
RULES = {
    "rules": [
        {"name": "team", "match": "team/*", "extractor": "triples", "namespace": 2},
        {"name": "known", "known_shapes": True, "extractor": "triples"},
    ]
}


def said(subject: str, predicate: str, target: str, confidence: float, **more: str) -> dict[str, object]:
    kinds = {"subject_type": "package", "object_type": "package"} | more
    return {"subject": subject, "predicate": predicate, "object": target, "confidence": confidence, **kinds}


SHARED = {
    "deps/typer": said("typer", "depends on", "rich", 0.95),
    "notes/typer": said("typer", "depends on", "rich", 0.6),
    "deps/typer-2": said("typer", "depends on", "click", 0.4),
    "deps/rich": said("rich", "depends on", "pygments", 0.9),
    "deps/pygments": said("pygments", "replaces", "pycolor", 0.9),
    "people/typer": said("typer", "written by", "Sebastián", 0.8, object_type="person"),
    "uses/app": said("app", "uses", "typer", 0.7, subject_type="project"),
    "long/scroll": said("Scroll", "tells of", "Troy", 0.8, subject_type="book") | {"text": "sing " * 100_000},
    "long/other": said("Scroll", "is held in", "Alexandria", 0.8, subject_type="book", object_type="place"),
    "team/atlas/plan": said("typer", "is chosen by", "Atlas", 0.9, object_type="team"),
}


def fill(stores: Stores) -> None:
    store = stores.facts.store
    anyone = Writer(session_id="s1", agent_id="scribe", role=Role.AGENT)
    other = Writer(session_id="s2", agent_id="keeper", role=Role.AGENT)
    store([StoreFactInput(key=key, value=value, shared=True) for key, value in SHARED.items()], anyone)
    secret = said("typer", "depends on", "rich", 0.5) | {"note": CANARY}
    store([StoreFactInput(key=f"secret/{CANARY}", value=secret, shared=False)], other)
    hostile = [said("Hostile", "<i>says</i>", name, 0.8, object_type="<b>kind</b>") for name in HOSTILE]
    store([StoreFactInput(key=f"hostile/<u>{n}", value=value, shared=True) for n, value in enumerate(hostile)], anyone)
    crowd = [said("crowd", "holds", f"member {n:03}", 0.8) for n in range(CROWD)]
    store([StoreFactInput(key=f"crowd/{n}", value=value, shared=True) for n, value in enumerate(crowd)], anyone)
    rules = rules_of(RULES, Settings())
    Harvester(stores.facts, stores.needed_graph(), rules, owner="page-tests").drain()
    store([StoreFactInput(key="waiting/note", value={"text": "not read yet"}, shared=True)], anyone)
