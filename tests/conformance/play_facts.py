"""Operations on facts, sessions and tombstones."""

from datetime import UTC, datetime, timedelta
from typing import Any

from facts import DeleteFactInput, FactRecord, ReadFactsQuery, StoreFactInput
from facts.access import UNRESTRICTED
from facts.inputs import ABSENT
from facts.tombstones import ForcedPurge
from tests.conformance.case import Caller, Operation
from tests.conformance.stage import Answer, Stage, operation


def fact_json(fact: FactRecord) -> Answer:
    """A fact as the cases show it."""
    return {
        "scope_key": fact.scope_key,
        "key": fact.key,
        "value": fact.value,
        "agent_id": fact.agent_id,
        "session_id": fact.session_id,
        "shared": fact.shared,
        "tags": list(fact.tags),
        "etag": fact.etag,
        "deleted": fact.deleted,
    }


def listed(facts: list[FactRecord]) -> Answer:
    """Facts, their keys, and how many there are."""
    return {
        "count": len(facts),
        "scope_keys": [fact.scope_key for fact in facts],
        "facts": [fact_json(fact) for fact in facts],
    }


def fact_input(given: dict[str, Any]) -> StoreFactInput:
    """A fact to store; without a value and without a repeated text it has none at all."""
    value = given.get("value", ABSENT)
    if "value_repeat" in given:
        value = given["value_repeat"]["text"] * given["value_repeat"]["times"]
    return StoreFactInput(key=given["key"], value=value, tags=given.get("tags", ()), shared=given.get("shared", False))


@operation("store_fact")
def store_fact(stage: Stage, asked: Operation) -> Answer:
    writer = stage.writer(asked.caller)
    if "facts" in asked.args:
        stored = stage.facts.store([fact_input(each) for each in asked.args["facts"]], writer)
    else:
        stored = [stage.facts.store(fact_input(dict(asked.args)), writer)]
    return {"stored": len(stored), "facts": [{"key": fact.key, "shared": fact.shared} for fact in stored]}


@operation("store_many")
def store_many(stage: Stage, asked: Operation) -> Answer:
    count, prefix = asked.args["count"], asked.args["key_prefix"]
    width = len(str(count - 1))
    facts = [
        StoreFactInput(key=f"{prefix}{index:0{width}d}", value=asked.args.get("value", index), shared=True)
        for index in range(count)
    ]
    return {"stored": len(stage.facts.store(facts, stage.writer(asked.caller)))}


@operation("read_facts")
def read_facts(stage: Stage, asked: Operation) -> Answer:
    page = stage.facts.read(ReadFactsQuery(**asked.args), stage.access(asked.caller))
    return listed(list(page.facts))


@operation("inspect_fact")
def inspect_fact(stage: Stage, asked: Operation) -> Answer:
    fact = stage.facts.inspect(asked.args["scope_key"])
    if fact is None:
        return {"exists": False}
    return {**fact_json(fact), "exists": True, "crawled": fact.crawled, "transient": fact.transient}


@operation("delete_fact")
def delete_fact(stage: Stage, asked: Operation) -> Answer:
    args = dict(asked.args)
    writer = stage.writer(asked.caller, unrestricted=args.pop("unrestricted", False))
    request = DeleteFactInput(**args)
    result = stage.facts.delete(request, writer)
    if not request.pattern:
        return {"deleted": result.deleted == 1}
    return {"deleted": result.deleted, "key_pattern": request.key, "scope": str(request.resolved_scope())}


@operation("delete_session_facts")
def delete_session_facts(stage: Stage, asked: Operation) -> Answer:
    return {"deleted": stage.facts.delete_session_facts(asked.args["session_id"])}


@operation("facts_stats")
def facts_stats(stage: Stage, asked: Operation) -> Answer:
    access = UNRESTRICTED if asked.caller == Caller() else stage.access(asked.caller)
    counts = stage.facts.statistics(asked.args["mode"], asked.args.get("session_ids", ()), access)
    return {"rows": [{"namespace": each.namespace, "fact_count": each.fact_count} for each in counts]}


@operation("tombstone_stats")
def tombstone_stats(stage: Stage, asked: Operation) -> Answer:
    found = stage.facts.tombstone_statistics(asked.args.get("ttl_seconds"))
    return {
        "pending_total": found.pending_total,
        "unreconciled": found.unreconciled,
        "ttl_blocked": found.ttl_blocked,
        "reconciled_unswept": found.reconciled_unswept,
        "has_oldest_age": found.oldest_age_s is not None,
    }


@operation("purge_tombstones")
def purge_tombstones(stage: Stage, asked: Operation) -> Answer:
    args = asked.args
    return {"purged": stage.facts.purge(args.get("ttl_seconds"), args.get("limit", 1_000)).purged}


@operation("force_purge")
def force_purge(stage: Stage, asked: Operation) -> Answer:
    args = dict(asked.args)
    age = args.pop("older_than_seconds", 0)
    cutoff = datetime.now(UTC) - timedelta(seconds=age)
    return {"purged": stage.facts.force_purge(ForcedPurge(cutoff=cutoff, confirm=True, **args)).purged}


@operation("define_sessions")
def define_sessions(stage: Stage, asked: Operation) -> Answer:
    deleted = asked.args.get("deleted", ())
    with stage.facts.db.transaction() as connection:
        for session, parent in asked.args["parents"].items():
            row = {"session": session, "parent": parent, "deleted": session in deleted}
            connection.execute(stage.queries.define_session, row)
    return {}


@operation("resolve_lineage")
def resolve_lineage(stage: Stage, asked: Operation) -> Answer:
    session = asked.args["session_id"]
    return {"session_ids": sorted(stage.facts.sessions.tree(session) - {session})}


@operation("can_read_scope_key")
def can_read_scope_key(stage: Stage, asked: Operation) -> Answer:
    key = asked.args["scope_key"]
    return {"allowed": key in stage.facts.readable([key], stage.access(asked.caller))}


def lacks_configuration(_stage: Stage, asked: Operation) -> str | None:
    """Our graph never comes without its namespace registry."""
    return None if asked.args.get("registry", True) else "a graph without a namespace registry"


@operation("configure", lacks=lacks_configuration)
def configure(stage: Stage, asked: Operation) -> Answer:
    stage.has_graph = asked.args.get("graph", False)
    return {}


@operation("advance_clock")
def advance_clock(stage: Stage, asked: Operation) -> Answer:
    with stage.facts.db.transaction() as connection:
        connection.execute(stage.queries.set_seconds, {"seconds": asked.args["seconds"]})
        connection.execute(stage.queries.age_everything)
    return {}
