"""The benchmarks run, and measure what they say: small here, so that they do not rot between two `make bench`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.benchmarks.__main__ import large_times, measured
from tests.benchmarks.report import as_json
from tests.benchmarks.workload import generate, totals

if TYPE_CHECKING:
    from facts.embedded import EmbeddedServer


def test_every_system_leaves_the_fold_of_the_workload(server: EmbeddedServer) -> None:
    runs = list(measured(server, [200], 1, 200, slow=True))
    assert [run.system for run in runs] == [
        "raw on conflict",
        "harvester, 1 worker",
        "harvester, 2 workers",
        "look-up-then-write Cypher",
        "harvester, profiled",
        "bare SKIP LOCKED",
        "bare SKIP LOCKED, apart",
        "claim + acknowledge",
    ]
    summary = {entry["system"]: entry for entry in as_json(runs)["summary"]}
    assert summary["harvester, 1 worker"]["ratio_to_raw"] > 0
    assert summary["harvester, 1 worker"]["ratio_to_cypher"] > 0
    assert summary["claim + acknowledge"]["ratio_to_raw"] > 0
    assert summary["bare SKIP LOCKED, apart"]["ratio_to_raw"] > 0
    assert 0.5 < sum(runs[4].shares.values()) < 1.5


def test_claims_are_timed_in_a_store_at_rest(server: EmbeddedServer) -> None:
    times = large_times(server, 3_000, 3)
    assert {name: sorted(figures) for name, figures in times.items()} == {
        "claim of 100": ["p50_ms", "p95_ms"],
        "queue statistics": ["p50_ms", "p95_ms"],
    }


def test_the_workload_is_the_one_of_the_bars() -> None:
    facts = list(generate(2_000))
    assert facts == list(generate(2_000))
    found = totals(facts)
    assert 720 < found.nodes < 880
    assert 1_500 < found.edges < 1_700
    restated = found.observations - found.edges
    assert 0.15 < restated / found.observations < 0.25
    assert Counter(fact.source.key for fact in facts).most_common(1)[0][1] > 40
