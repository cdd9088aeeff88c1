"""Medians, ratios and tables of several interleaved rounds."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.steps import Run

BASELINES = ("raw on conflict", "bare SKIP LOCKED")
USUAL = "look-up-then-write Cypher"


def summary(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One entry a size and system: the median rate, its range, and its ratio to the raw batches of the same round."""
    entries: list[dict[str, Any]] = []
    for size in sorted({run.size for run in runs}):
        for system in dict.fromkeys(run.system for run in runs if run.size == size):
            found, baseline = rates(runs, size, system), rates(runs, size, baseline_of(system))
            entry = {"size": size, "system": system, "rounds": len(found), "facts_per_second": median(found)}
            entry |= {"lowest": min(found), "highest": max(found)}
            if len(found) == len(baseline):
                entry["ratio_to_raw"] = median(ours / raw for ours, raw in zip(found, baseline, strict=True))
            elif baseline:
                entry["ratio_to_raw"] = median(found) / median(baseline)
            if (usual := rates(runs, size, USUAL)) and baseline_of(system) != BASELINES[1]:
                entry["ratio_to_cypher"] = median(found) / median(usual)
            entries.append(entry)
    return entries


def baseline_of(system: str) -> str:
    """What a system is compared with: loads with the raw load, queues with the bare queue."""
    return BASELINES["acknowledge" in system or system.startswith(BASELINES[1])]


def rates(runs: Sequence[Run], size: int, system: str) -> list[float]:
    """Facts a second, round by round."""
    return [run.rate for run in runs if run.size == size and run.system == system]


def as_json(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything measured."""
    return {"summary": summary(runs), "runs": [asdict(run) | {"facts_per_second": run.rate} for run in runs]}


def print_report(runs: Sequence[Run], console: Console) -> None:
    """The table of rates, then where the time went."""
    table = Table(title="facts a second, medians")
    for heading in ("facts", "system", "rounds", "facts/s", "range", "to raw", "to Cypher"):
        table.add_column(heading, justify="left" if heading == "system" else "right")
    for entry in summary(runs):
        ratio = entry.get("ratio_to_raw")
        table.add_row(
            f"{entry['size']:,}",
            entry["system"],
            str(entry["rounds"]),
            f"{entry['facts_per_second']:,.0f}",
            f"{entry['lowest']:,.0f} - {entry['highest']:,.0f}",
            "" if ratio is None else f"{ratio:.2f}" if ratio > 0.1 else f"1/{1 / ratio:,.0f}",
            f"{usual:,.0f}x" if (usual := entry.get("ratio_to_cypher")) else "",
        )
    console.print(table)
    for run in last_of_each(runs):
        if run.shares:
            console.print(shares_table(run))


def last_of_each(runs: Sequence[Run]) -> list[Run]:
    """The last run of each system at each size."""
    return list({(run.size, run.system): run for run in runs}.values())


def shares_table(run: Run) -> Table:
    """The steps of one run that take at least one percent."""
    table = Table(title=f"{run.system}, {run.size:,} facts: share of each step")
    table.add_column("step")
    table.add_column("share", justify="right")
    for step, share in run.shares.items():
        if share >= 0.01:
            table.add_row(step, f"{share:.1%}")
    return table
