"""Arrays as single text parameters: psycopg dumps a list element by element, which costs more than the statement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def texts(values: Iterable[str]) -> str:
    """For `json_array_elements_text(%(name)s::json)`."""
    return json.dumps(list(values), ensure_ascii=False)


def numbers(values: Iterable[int]) -> str:
    """For `%(name)s::bigint[]`."""
    return "{" + ",".join(map(str, values)) + "}"
