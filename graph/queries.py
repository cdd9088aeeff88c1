"""What readers ask of the graph: frozen values, their checks and caps, and the cursors of their walks. No I/O."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from facts.errors import InvalidArgument
from facts.limits import byte_length, unstorable
from facts.patterns import escape_like
from graph.keys import NAME_BYTES, NAMESPACE_BYTES, kind_key, namespace_of, predicate_key

Direction = Literal["any", "out", "in"]
DIRECTIONS = ("any", "out", "in")

DEFAULT_LIMIT = 50
MOST_ROWS = 500
MOST_DEPTH = 5
DEFAULT_NODES = 200
MOST_NODES = 1_000
MOST_SEEDS = 256
EVIDENCE_SHOWN = 100
NEAR_EVIDENCE_SHOWN = 5
DEFAULT_SPACE = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeQuery:
    """Nodes by kind, by a literal part of a name or alias, by namespace (itself or below), or around seeds.

    A seed is a node key or a fact's scope key, and is tried as both. `min_confidence` limits the walk from the seeds.
    """

    kind: str | None = None
    name_like: str | None = None
    namespace: str | None = None
    seeds: Sequence[str] = ()
    depth: int = 1
    min_confidence: float | None = None
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeQuery:
    """Edges by predicate (any spelling of it), endpoint keys, namespace (of the edge or an endpoint), confidence."""

    predicate: str | None = None
    predicate_key: str | None = None
    from_key: str | None = None
    to_key: str | None = None
    namespace: str | None = None
    min_confidence: float | None = None
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NeighbourhoodQuery:
    """What lies around a node. The namespace filters what is listed, never the walk; min_confidence limits the walk.

    `evidence`: keys shown an item; a neighbourhood is an overview, a search shows up to 100.
    """

    node_key: str
    depth: int = 1
    namespace: str | None = None
    direction: Direction = "any"
    min_confidence: float | None = None
    max_nodes: int = DEFAULT_NODES
    evidence: int = NEAR_EVIDENCE_SHOWN


class Caps:
    """Counts checked against their caps; remembers which arguments were cut, since the reply says so."""

    def __init__(self) -> None:
        self._cut: list[str] = []

    @property
    def cut(self) -> tuple[str, ...]:
        """The arguments that were cut to their cap."""
        return tuple(self._cut)

    def count(self, value: Any, *, argument: str, most: int) -> int:
        """A whole number from 1 on, at most `most`."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArgument(f"{argument} must be a whole number", argument=argument)
        if value < 1:
            raise InvalidArgument(f"{argument} must be at least 1", argument=argument)
        if value > most:
            self._cut.append(argument)
        return min(value, most)


def checked_direction(value: Any) -> Direction:
    """One of the three directions."""
    if value not in DIRECTIONS:
        raise InvalidArgument(f"direction must be one of {', '.join(DIRECTIONS)}, not {value!r}", argument="direction")
    return value  # type: ignore[no-any-return]


def checked_confidence(value: Any, *, argument: str = "minConfidence") -> float:
    """The lowest confidence (or score) that counts; absent means all."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidArgument(f"{argument} must be a number from 0 to 1", argument=argument)
    return float(value)


def checked_text(value: Any, *, argument: str, most: int = NAME_BYTES) -> str:
    """A text that the database can hold."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{argument} must be a text", argument=argument)
    fault = unstorable(value)
    if fault is not None:
        raise InvalidArgument(f"{argument} {fault}", argument=argument)
    if byte_length(value) > most:
        raise InvalidArgument(f"{argument} has more than {most} bytes", argument=argument)
    return value


def checked_key(value: Any, *, argument: str) -> str:
    """A key to look for; one that no node could have is simply not found."""
    return checked_text(value, argument=argument, most=2 * NAME_BYTES)


def checked_seeds(seeds: Any) -> tuple[str, ...]:
    """Seeds without repeats."""
    if isinstance(seeds, str) or not isinstance(seeds, Sequence):
        raise InvalidArgument("seeds must be a list of texts", argument="seeds")
    if len(seeds) > MOST_SEEDS:
        raise InvalidArgument(f"{len(seeds)} seeds, at most {MOST_SEEDS} are taken", argument="seeds")
    return tuple(dict.fromkeys(checked_key(seed, argument="seeds") for seed in seeds))


def space_wanted(namespace: str | None) -> str | None:
    """The namespace filter as SQL takes it: None for no filter, '' for the default partition."""
    if namespace is None:
        return None
    checked_text(namespace, argument="namespace", most=NAMESPACE_BYTES)
    return namespace_of(namespace) or DEFAULT_SPACE


def space_hint(space: str | None) -> str | None:
    """A LIKE pattern that the text of a list of namespaces must match when the wanted one is in it: cheap, and never wrong.

    Texts of arrays and of JSON escape quotes, backslashes and control characters; a namespace with one of those has no hint.
    """
    if space is None:
        return None
    if any(char in '"\\' or not char.isprintable() for char in space):
        return "%"
    return f"%{escape_like(space)}%" if space else '%""%'


def kind_wanted(kind: str | None) -> str | None:
    """The kind part that keys of this kind have, however it is spelled."""
    return None if kind is None else kind_key(checked_text(kind, argument="kind"))


def name_wanted(name_like: str | None) -> str | None:
    """The part of a name to look for, in the case that folded names have; an empty one is no filter."""
    if name_like is None:
        return None
    return checked_text(name_like, argument="nameLike").lower() or None


def predicate_wanted(query: EdgeQuery) -> str | None:
    """The predicate key asked for, from either argument; both must agree when both are given."""
    given = [
        predicate_key(checked_text(text, argument=argument))
        for argument, text in (("predicate", query.predicate), ("predicateKey", query.predicate_key))
        if text is not None
    ]
    if len(set(given)) > 1:
        raise InvalidArgument(
            f"predicate means {given[0]!r}, predicateKey means {given[1]!r}; give one of them", argument="predicateKey"
        )
    return given[0] if given else None


def encode_position(walk: str, *position: int | str) -> str:
    """A cursor: where a walk stopped."""
    return base64.urlsafe_b64encode(json.dumps([walk, *position]).encode()).decode().rstrip("=")


def decode_position(cursor: Any, walk: str, *shape: type) -> tuple[Any, ...]:
    """The position in a cursor that `encode_position` made for the same kind of walk."""
    try:
        text = str(cursor)
        decoded = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        raise _foreign() from None
    if not isinstance(decoded, list) or [type(part) for part in decoded] != [str, *shape] or decoded[0] != walk:
        raise _foreign()
    if any(isinstance(part, str) and unstorable(part) for part in decoded):
        raise _foreign()
    return tuple(decoded[1:])


def _foreign() -> InvalidArgument:
    return InvalidArgument("this cursor is not from this walk; pass the cursor of the last answer", argument="cursor")
