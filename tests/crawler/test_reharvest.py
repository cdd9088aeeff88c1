"""A new extractor version or changed rules put exactly the affected facts back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crawler.harvest import Harvester
from crawler.reharvest import requeue_changed, requeue_older, version_order
from crawler.rules import read_rules
from crawler.wiring import Stores
from facts import StoreFactInput
from facts.reserved import RESERVED_PREFIXES

RESERVED = [each.prefix for each in RESERVED_PREFIXES]
TRIPLE = {"subject": "Harbour", "predicate": "near", "object": "Tide"}


def rules(*table: dict[str, Any]) -> dict[str, Any]:
    return {"rules": list(table)}


CORPUS = {"match": "corpus/*", "extractor": "triples", "namespace": 2}
NOTES = {"match": "notes/*", "extractor": "triples"}


@pytest.fixture
def drained(stores: Stores, harvester: Callable[..., Harvester]) -> Stores:
    keys = ("corpus/a/1", "corpus/b/1", "notes/1")
    stores.facts.store([StoreFactInput(key=key, value=TRIPLE, shared=True) for key in keys])
    harvester(rules(CORPUS, NOTES)).drain()
    assert pending(stores) == []
    return stores


def pending(stores: Stores) -> list[str]:
    return [each.fact.key for each in stores.facts.read_uncrawled().facts]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ((CORPUS, NOTES), []),
        ((NOTES, CORPUS), []),
        (({**CORPUS, "namespace": 1}, NOTES), ["corpus/a/1", "corpus/b/1"]),
        ((CORPUS, {**NOTES, "confidence": 0.5}), ["notes/1"]),
        ((CORPUS, {**NOTES, "options": {"kind": "place"}}), ["notes/1"]),
        (({"match": "corpus/a/*", "extractor": "triples"}, CORPUS, NOTES), ["corpus/a/1"]),
        ((CORPUS,), []),
    ],
)
def test_changed_rules_put_back_what_they_read_in_another_way(drained: Stores, table, expected: list[str]) -> None:
    today = read_rules(rules(*table), reserved_prefixes=RESERVED)
    assert requeue_changed(drained.needed_graph(), today) == len(expected)
    assert pending(drained) == expected


@pytest.mark.parametrize(("older_than", "count"), [(None, 3), ("2", 3), ("1", 0), ("1.0.1", 3)])
def test_a_new_version_puts_back_what_the_old_one_said(drained: Stores, older_than: str | None, count: int) -> None:
    assert requeue_older(drained.needed_graph(), extractor="triples", older_than=older_than) == count
    assert requeue_older(drained.needed_graph(), extractor="mapping") == 0


def test_numbers_of_versions_compare_as_numbers() -> None:
    assert version_order("1.10") > version_order("1.9") > version_order("1.9-rc1") > version_order("1.8.7")
    assert version_order("2") < version_order("2.0.1")
