"""Which fact the demo edits and which it deletes: chosen from what was found, so that the outcome is worth seeing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawler.errors import SourceFailed
from facts.receipts import ClaimedFact

PREFIX = "python-env/"
NOTE_KEY = "notes/demo/seen-in-a-traceback"
NOTE_CONFIDENCE = 0.6


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """`edited` stops requiring `hub` (a note states that too, so the edge only weakens) and `other` (that edge goes);
    the fact about `deleted` is deleted.
    """

    hub: str
    edited: str
    other: str
    deleted: str

    @property
    def edited_key(self) -> str:
        return PREFIX + self.edited

    @property
    def deleted_key(self) -> str:
        return PREFIX + self.deleted

    def note(self) -> dict[str, Any]:
        """What an agent saw for itself: a second piece of evidence for the edge edited -> hub."""
        return {
            "nodes": [],
            "edges": [
                {
                    "from": {"kind": "package", "name": self.edited},
                    "to": {"kind": "package", "name": self.hub},
                    "predicate": "depends on",
                    "confidence": NOTE_CONFIDENCE,
                }
            ],
        }

    def rewritten(self, value: dict[str, Any]) -> dict[str, Any]:
        """The edited fact: the same but for two requirements."""
        kept = [each for each in value["requires"] if each["name"] not in {self.hub, self.other}]
        return {**value, "requires": kept}


def choose(facts: Sequence[ClaimedFact]) -> Plot:
    """The most depended-on package, one that needs it and something else, and another one that needs it."""
    needs = {fact.value["name"]: _applying(fact.value) for fact in facts if fact.key.startswith(PREFIX)}
    wanted = Counter(name for names in needs.values() for name in names)
    for hub, _ in sorted(wanted.items(), key=lambda pair: (-pair[1], pair[0])):
        users = sorted((name for name in needs if hub in needs[name]), key=lambda name: (-len(needs[name]), name))
        edited = next((name for name in users if len(needs[name]) > 1), None)
        if edited is None or len(users) < 2:  # noqa: PLR2004 - one to edit, one to delete
            continue
        other = next(name for name in needs[edited] if name != hub)
        deleted = next(name for name in reversed(users) if name != edited)
        return Plot(hub=hub, edited=edited, other=other, deleted=deleted)
    raise SourceFailed("this Python environment has too few packages that depend on each other for a demo")


def _applying(value: dict[str, Any]) -> list[str]:
    names = (each["name"] for each in value["requires"] if each["applies"])
    return list(dict.fromkeys(name for name in names if name != value["name"]))
