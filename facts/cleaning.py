"""Values as PostgreSQL can hold them: cleaned once, at the edge, on the decoded structure, never on JSON text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from facts.limits import NESTING, byte_length

# In JSON text, an escaped NUL or any escaped surrogate, half of an emoji or alone; a literal backslash looks alike,
# which costs a second look and nothing else.
_SUSPECT = re.compile(r"\\u0000|[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UnstorableValueError(ValueError):
    """A value that is no JSON, or that no cleaning can save."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanValue:
    """A value that can be stored, its JSON text, and whether something was taken out."""

    value: Any
    text: str
    cleaned: bool

    @property
    def size(self) -> int:
        """Bytes of the JSON text."""
        return byte_length(self.text)


def clean_value(value: Any) -> CleanValue:
    """`value` without NUL and lone surrogates, in keys and texts at any depth; anything that is no JSON is an error."""
    text = _encoded(value)
    if _SUSPECT.search(text) is None:
        _check_nesting(text)
        return CleanValue(value=value, text=text, cleaned=False)
    stripped = _stripped(value, 0)
    cleaned_text = _encoded(stripped)
    return CleanValue(value=stripped, text=cleaned_text, cleaned=cleaned_text != text)


def _encoded(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise UnstorableValueError(f"is nested deeper than {NESTING} levels") from None
    except TypeError as error:
        raise UnstorableValueError(f"is no JSON value ({error})") from None
    except ValueError as error:
        if "ircular" in str(error):
            raise UnstorableValueError("contains itself") from None
        raise UnstorableValueError("holds a number that is not finite or too long for JSON") from None


def _check_nesting(text: str) -> None:
    # Only a text with that many brackets can be that deep; most have fewer.
    if text.count("[") + text.count("{") <= NESTING:
        return
    _stripped(json.loads(text), 0)


def _stripped(value: Any, depth: int) -> Any:
    if depth > NESTING:
        raise UnstorableValueError(f"is nested deeper than {NESTING} levels")
    if isinstance(value, str):
        return _UNSTORABLE.sub("", value)
    if isinstance(value, dict):
        return _stripped_object(value, depth)
    if isinstance(value, list | tuple):
        return [_stripped(item, depth + 1) for item in value]
    return value


def _stripped_object(value: dict[Any, Any], depth: int) -> dict[Any, Any]:
    stripped: dict[Any, Any] = {}
    for name, item in value.items():
        clean_name = _UNSTORABLE.sub("", name) if isinstance(name, str) else name
        if clean_name in stripped:
            raise UnstorableValueError(f"has two members that are both named {clean_name!r} once cleaned")
        stripped[clean_name] = _stripped(item, depth + 1)
    return stripped
