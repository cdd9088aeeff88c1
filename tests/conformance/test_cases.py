"""Every behaviour case, one test each, its id the case's; `--cases FILE` plays another file of the same format."""

from __future__ import annotations

from pathlib import Path

import pytest

from facts.errors import HarvesterError
from tests.conformance import play_facts, play_graph, play_queue, play_tools  # noqa: F401 - they register operations
from tests.conformance.case import Case, Expectation, Operation, read_cases
from tests.conformance.matching import differences
from tests.conformance.stage import Answer, Stage, kind_of, lacking

GIVEN = "behaviour.jsonl"
OURS = Path(__file__).with_name("ours.jsonl")
"""Cases of our own, played beside the given ones."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("case", [pytest.param(case, id=case.id) for case in chosen_cases(metafunc.config)])


def chosen_cases(config: pytest.Config) -> list[Case]:
    chosen = config.getoption("--cases")
    files = [chosen, OURS] if chosen.name == GIVEN else [chosen]
    return [case for file in files for case in read_cases(file)]


def test_behaviour(stage: Stage, case: Case) -> None:
    reason = lacking(stage, case)
    if reason is not None:
        pytest.skip(f"not yet runnable: {reason}")
    for operation, expected in case.steps:
        play(stage, operation, expected)


def play(stage: Stage, operation: Operation, expected: Expectation) -> None:
    said = f"{operation.op} {dict(operation.args)}"
    error, answer = outcome(stage, operation)
    assert error == expected.error, f"{said}: {error or 'no error'}, {answer}"
    found = differences(expected, answer)
    assert not found, f"{said}: " + "; ".join(found)


def outcome(stage: Stage, operation: Operation) -> tuple[str | None, Answer]:
    """The kind of error, or none, and the answer or the error's message."""
    try:
        return None, stage.run(operation)
    except HarvesterError as error:
        return kind_of(error), {"message": error.message}
