"""The graph is always exactly the fold of ledger, assertions and merges."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from facts import open_fact_store
from graph.store import open_graph_store
from tests.fold.acts import Product
from tests.fold.interrupts import interruptible
from tests.fold.machine import Fold

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = int(os.environ.get("HARVESTER_FOLD_EXAMPLES", "90"))
STEPS = int(os.environ.get("HARVESTER_FOLD_STEPS", "40"))
SHRINK = os.environ.get("HARVESTER_FOLD_SHRINK") == "1"
LONG = bool(os.environ.keys() & {"HARVESTER_FOLD_EXAMPLES", "HARVESTER_FOLD_STEPS"})


@pytest.fixture
def product(database_url: str) -> Iterator[Product]:
    with open_fact_store(database_url) as facts, open_graph_store(facts=facts) as graph, interruptible():
        yield Product(facts=facts, graph=graph)


def test_the_graph_is_the_fold_of_what_was_said(product: Product) -> None:
    class OnThisDatabase(Fold):
        pass

    OnThisDatabase.product = product
    run_state_machine_as_test(
        OnThisDatabase,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=not LONG,
            phases=(Phase.generate, Phase.shrink) if SHRINK else (Phase.generate,),
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
