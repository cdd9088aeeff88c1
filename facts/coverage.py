"""What a harvester's rules cover, as a value that the claim's SQL filters by (before its LIMIT)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """A pending fact is covered if any of these says so; what is not covered stays for the agents.

    - ``everything``: all rows;
    - ``key_patterns``: LIKE patterns on the key, already escaped; live rows and tombstones alike;
    - ``value_path``: a jsonpath predicate (``value @@ path``) for *live* rows whose key starts with none of
      ``outside_prefixes``; a tombstone's value never decides, since it may have been cleared;
    - ``pinned_tombstones``: tombstones of facts that the graph may refer to, whatever their key, so that an edit of the
      rules never leaves a deleted fact in the graph.
    """

    everything: bool = False
    key_patterns: tuple[str, ...] = ()
    value_path: str | None = None
    outside_prefixes: tuple[str, ...] = ()
    pinned_tombstones: bool = True

    def parameters(self) -> dict[str, object]:
        """The five named parameters of the claim's filter."""
        return {
            "covers_everything": self.everything,
            "covered_keys": list(self.key_patterns),
            "covered_values": self.value_path,
            "uncovered_prefixes": list(self.outside_prefixes),
            "covers_pinned_tombstones": self.pinned_tombstones,
        }


EVERYTHING = Coverage(everything=True)
