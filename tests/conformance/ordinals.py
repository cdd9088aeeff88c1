"""Versions as the cases count them: 1 is the first etag that a fact ever had in the case, 2 the next."""

from collections.abc import Mapping
from typing import Any

NEVER = 2**62
"""Added to an ordinal that has not occurred yet: a number that no sequence has given out."""


class Ordinals:
    """Both directions between our etags, which come from one sequence, and a case's ordinals."""

    def __init__(self) -> None:
        self._seen: dict[str, list[int]] = {}

    def observe(self, current: Mapping[str, int]) -> None:
        """Remember the etags that facts have now."""
        for scope_key, etag in current.items():
            seen = self._seen.setdefault(scope_key, [])
            if etag not in seen:
                seen.append(etag)

    def sent(self, scope_key: str, ordinal: Any) -> Any:
        """The etag to send for an ordinal; a text stays a text, and what is no ordinal is sent as it is."""
        if isinstance(ordinal, str) and ordinal.isdigit():
            return str(self.sent(scope_key, int(ordinal)))
        if not isinstance(ordinal, int) or isinstance(ordinal, bool):
            return ordinal
        seen = self._seen.get(scope_key, [])
        return seen[ordinal - 1] if 1 <= ordinal <= len(seen) else NEVER + ordinal

    def received(self, scope_key: str, etag: int) -> int:
        """The ordinal of an etag that came back."""
        return self._seen[scope_key].index(etag) + 1
