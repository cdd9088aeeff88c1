"""What callers hand in, and the pure checks of a whole batch before any SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final

from facts.access import Role, Writer
from facts.cleaning import CleanValue, UnstorableValueError, clean_value
from facts.errors import Conflict, HarvesterError, InvalidArgument, NotPermitted, TooLarge
from facts.limits import (
    AGENT_ID_BYTES,
    BATCH_FACTS,
    KEY_BYTES,
    TAG_BYTES,
    TAGS,
    FactLimits,
    session_id_fault,
    text_fault,
)
from facts.reserved import ReservedRules
from facts.scope_keys import scope_key


class Absent(Enum):
    """A value that was not given; JSON null is a value like any other."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class ReadScope(StrEnum):
    ACCESSIBLE = "accessible"
    SHARED = "shared"
    SESSION = "session"
    DESCENDANTS = "descendants"
    ALL = "all"


class DeleteScope(StrEnum):
    SESSION = "session"
    SHARED = "shared"
    ALL = "all"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreFactInput:
    """One fact to store; without `shared` it belongs to the writer's session. Omitted tags are empty."""

    key: str
    value: Any = ABSENT
    tags: Sequence[str] = ()
    shared: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFactsQuery:
    """Filters, which only narrow what the reader may see. `value_offset` pages through one large value."""

    key_pattern: str | None = None
    scope_keys: Sequence[str] | None = None
    tags: Sequence[str] = ()
    session_id: str | None = None
    agent_id: str | None = None
    scope: ReadScope | str = ReadScope.ACCESSIBLE
    limit: int | None = None
    cursor: str | None = None
    value_offset: int | None = None
    value_length: int = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class DeleteFactInput:
    """One fact by its exact key, or with `pattern` all that match. `dry_run` counts and changes nothing."""

    key: str
    shared: bool = False
    pattern: bool = False
    scope: DeleteScope | str | None = None
    dry_run: bool = False

    def resolved_scope(self) -> DeleteScope:
        """The scope asked for; `shared` is the older way to say it."""
        if self.scope is None:
            return DeleteScope.SHARED if self.shared else DeleteScope.SESSION
        try:
            return DeleteScope(self.scope)
        except ValueError:
            raise InvalidArgument(
                f"scope must be one of {', '.join(DeleteScope)}, not {self.scope!r}", argument="scope"
            ) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that is wrong with one item."""

    index: int
    argument: str
    message: str
    too_large: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedFact:
    """A fact that may be stored."""

    scope_key: str
    key: str
    shared: bool
    tags: tuple[str, ...]
    value: CleanValue

    def as_json(self) -> str:
        """A row of the batch parameter; the value is JSON text already."""
        head = json.dumps(
            {"scope_key": self.scope_key, "key": self.key, "shared": self.shared, "tags": self.tags}, ensure_ascii=False
        )
        return f'{head[:-1]}, "value": {self.value.text}}}'


def check_batch(
    items: Sequence[StoreFactInput], writer: Writer, *, limits: FactLimits, rules: ReservedRules, single: bool = False
) -> list[CheckedFact]:
    """The batch as it will be stored, or one error that lists every bad index: input, then clashes, then rights."""
    if writer.role is Role.AGENT_TUNER:
        raise NotPermitted("an agent-tuner can change nothing")
    if not 1 <= len(items) <= BATCH_FACTS:
        raise InvalidArgument(f"a batch has 1 to {BATCH_FACTS} facts, not {len(items)}", argument="facts")
    _check_writer(writer)
    faults: list[Fault] = []
    checked: list[CheckedFact] = []
    for index, item in enumerate(items):
        value, found = _checked_value(index, item, writer, limits)
        faults.extend(found)
        if value is not None:
            owner = None if item.shared else writer.session_id
            checked.append(
                CheckedFact(
                    scope_key=scope_key(item.key, owner),
                    key=item.key,
                    shared=item.shared,
                    tags=tuple(item.tags),
                    value=value,
                )
            )
    if faults:
        only_size = all(fault.too_large for fault in faults)
        raise listed(TooLarge if only_size else InvalidArgument, faults, single=single)
    clashes = list(_clashes(checked))
    if clashes:
        raise listed(Conflict, clashes, single=single)
    refused = [
        Fault(index=index, argument="key", message=f"{fact.key!r} is below the reserved prefix {prefix!r}")
        for index, fact in enumerate(checked)
        if (prefix := rules.refusing(writer, fact.key)) is not None
    ]
    if refused:
        raise listed(NotPermitted, refused, single=single)
    return checked


def listed(kind: type[HarvesterError], faults: Sequence[Fault], *, single: bool) -> HarvesterError:
    """One error for all faults; `argument` is that of the first."""
    if single:
        return kind("; ".join(fault.message for fault in faults), argument=faults[0].argument)
    text = "; ".join(f"facts[{fault.index}].{fault.argument}: {fault.message}" for fault in faults)
    first = faults[0]
    return kind(f"nothing was stored: {text}", argument=f"facts[{first.index}].{first.argument}")


def _check_writer(writer: Writer) -> None:
    if writer.session_id is not None and (fault := session_id_fault(writer.session_id)):
        raise InvalidArgument(fault, argument="session_id")
    if writer.agent_id is not None and (fault := text_fault(writer.agent_id, AGENT_ID_BYTES, noun="an agent id")):
        raise InvalidArgument(fault, argument="agent_id")


def _checked_value(
    index: int, item: StoreFactInput, writer: Writer, limits: FactLimits
) -> tuple[CleanValue | None, list[Fault]]:
    """The item's value when nothing about the item is wrong, else what is."""
    faults = [
        Fault(index=index, argument=argument, message=message)
        for argument, message in (
            ("key", text_fault(item.key, KEY_BYTES, noun="a key")),
            ("tags", _tags_fault(item.tags)),
            ("shared", _flag_fault(item.shared)),
            ("session_id", _scope_fault(item, writer)),
        )
        if message is not None
    ]
    value, fault = _clean(index, item.value, limits)
    if fault is not None:
        faults.append(fault)
    return (None if faults else value), faults


def _scope_fault(item: StoreFactInput, writer: Writer) -> str | None:
    if item.shared or writer.session_id is not None:
        return None
    return "a fact that is not shared needs a session; store it as shared or say which session writes"


def _flag_fault(value: object) -> str | None:
    return None if isinstance(value, bool) else "shared must be true or false"


def _tags_fault(tags: object) -> str | None:
    if not isinstance(tags, list | tuple):
        return "tags must be a list of texts"
    if len(tags) > TAGS:
        return f"{len(tags)} tags, at most {TAGS} are taken"
    return next((fault for tag in tags if (fault := text_fault(tag, TAG_BYTES, noun="a tag")) is not None), None)


def _clean(index: int, value: Any, limits: FactLimits) -> tuple[CleanValue | None, Fault | None]:
    if value is ABSENT:
        return None, Fault(
            index=index, argument="value", message="there is no value; null is one, say so if you mean it"
        )
    try:
        clean = clean_value(value)
    except UnstorableValueError as error:
        return None, Fault(index=index, argument="value", message=f"the value {error}")
    if clean.size > limits.value_bytes:
        message = f"the value has {clean.size} bytes as JSON, at most {limits.value_bytes} are taken"
        return None, Fault(index=index, argument="value", message=message, too_large=True)
    return clean, None


def _clashes(facts: Sequence[CheckedFact]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for index, fact in enumerate(facts):
        earlier = first.setdefault(fact.scope_key, index)
        if earlier != index:
            yield Fault(
                index=index, argument="key", message=f"{fact.key!r} is in the batch already, at index {earlier}"
            )
