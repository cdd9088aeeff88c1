"""A behaviour case: what is given, what is done, what must follow."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNNAMED = "scribe"
"""Who writes to the graph when a case does not say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who runs an operation. `known` is false when the case says that there is no identity at all."""

    session_id: str | None = None
    agent_id: str | None = None
    granted: tuple[str, ...] = ()
    unrestricted: bool = False
    role: str | None = None
    forged_crawler: bool = False
    known: bool = True

    @classmethod
    def of(cls, operation: Mapping[str, Any]) -> "Caller":
        if "caller" in operation and operation["caller"] is None:
            return cls(known=False)
        given = dict(operation.get("caller", {}))
        return cls(**{**given, "granted": tuple(given.get("granted", ()))})

    @property
    def writer(self) -> str | None:
        """The author of a graph write."""
        return (self.agent_id or UNNAMED) if self.known else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One call."""

    op: str
    args: Mapping[str, Any]
    caller: Caller

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Operation":
        return cls(op=line["op"], args=line.get("args", {}), caller=Caller.of(line))


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """What a call must answer: an error of a kind, or a result with these parts."""

    error: str | None = None
    ok: Mapping[str, Any] | None = None
    unordered: tuple[str, ...] = ()
    contains: Mapping[str, list[Any]] | None = None
    excludes: Mapping[str, list[Any]] | None = None

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Expectation":
        return cls(
            error=line.get("error"),
            ok=line.get("ok"),
            unordered=tuple(line.get("unordered", ())),
            contains=line.get("contains"),
            excludes=line.get("excludes"),
        )


Step = tuple[Operation, Expectation]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One line of a file of cases."""

    id: str
    area: str
    given: tuple[Operation, ...]
    when: Step
    after: tuple[Step, ...]

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Case":
        then = line["then"]
        return cls(
            id=line["id"],
            area=line["area"],
            given=tuple(Operation.of(each) for each in line.get("given", ())),
            when=(Operation.of(line["when"]), Expectation.of(then)),
            after=tuple((Operation.of(each), Expectation.of(each)) for each in then.get("after", ())),
        )

    @property
    def steps(self) -> Iterator[Step]:
        """Everything that is done, in order; what is given must simply succeed."""
        yield from ((operation, Expectation()) for operation in self.given)
        yield self.when
        yield from self.after


def read_cases(path: Path) -> list[Case]:
    """The cases of a file, one JSON object a line."""
    return [Case.of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
