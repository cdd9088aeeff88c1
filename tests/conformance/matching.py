"""Whether an answer is what a case expects: objects as subsets, arrays whole and in order, numbers within 1e-9."""

from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

from tests.conformance.case import Expectation

TOLERANCE = 1e-9


def differences(expected: Expectation, answer: Mapping[str, Any]) -> list[str]:
    """Every way in which an answer falls short, one line each."""
    found = list(_objects(expected.ok or {}, answer, "", expected.unordered))
    for field, items in (expected.contains or {}).items():
        found += [f"{field} lacks {item!r}" for item in items if not _holds(answer.get(field, ()), item)]
    for field, items in (expected.excludes or {}).items():
        found += [f"{field} holds {item!r}" for item in items if _holds(answer.get(field, ()), item)]
    return found


def _holds(items: Any, wanted: Any) -> bool:
    return any(not list(_values(wanted, item, "")) for item in items)


def _objects(
    expected: Mapping[str, Any], actual: Mapping[str, Any], path: str, unordered: tuple[str, ...] = ()
) -> Iterator[str]:
    for field, value in expected.items():
        where = f"{path}.{field}" if path else field
        if field not in actual:
            yield f"{where} is missing"
        elif field in unordered:
            yield from _multisets(value, actual[field], where)
        else:
            yield from _values(value, actual[field], where)


def _values(expected: Any, actual: Any, path: str) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        yield from _objects(expected, actual, path)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _lists(expected, actual, path)
    elif not _same(expected, actual):
        yield f"{path} is {actual!r}, not {expected!r}"


def _lists(expected: list[Any], actual: list[Any], path: str) -> Iterator[str]:
    if len(expected) != len(actual):
        yield f"{path} is {actual!r}, not {expected!r}"
        return
    for index, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
        yield from _values(wanted, found, f"{path}[{index}]")


def _multisets(expected: list[Any], actual: Any, path: str) -> Iterator[str]:
    left = list(actual)
    for wanted in expected:
        match = next((index for index, item in enumerate(left) if not list(_values(wanted, item, path))), None)
        if match is None:
            yield f"{path} lacks {wanted!r}: {actual!r}"
        else:
            del left[match]
    if left:
        yield f"{path} also holds {left!r}"


def _same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return isclose(expected, actual, rel_tol=0, abs_tol=TOLERANCE)
    return bool(expected == actual)
