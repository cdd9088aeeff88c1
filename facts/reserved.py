"""Reserved key prefixes: who may write, read and delete below them. SQL applies the same table through parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from facts.access import Role, Writer

if TYPE_CHECKING:
    from facts.patterns import Pattern


class WriteRule(StrEnum):
    FACTS_MANAGER = "facts-manager"
    LANE = "lane"
    ANYONE = "anyone"


class ReadRule(StrEnum):
    EVERYONE = "everyone"
    OWNER_TREE = "owner's session tree"
    UNRESTRICTED = "unrestricted"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReservedPrefix:
    """One prefix. `read` binds every reader that is not unrestricted, `write` every writer with a role."""

    prefix: str
    write: WriteRule
    read: ReadRule = ReadRule.EVERYONE


INTAKE: Final = "intake/"

RESERVED_PREFIXES: Final = (
    ReservedPrefix(prefix="skills/", write=WriteRule.FACTS_MANAGER),
    ReservedPrefix(prefix="asks/", write=WriteRule.FACTS_MANAGER),
    ReservedPrefix(prefix="config/facts-manager/", write=WriteRule.FACTS_MANAGER, read=ReadRule.UNRESTRICTED),
    ReservedPrefix(prefix="memory/", write=WriteRule.LANE),
    ReservedPrefix(prefix="claims/", write=WriteRule.LANE),
    ReservedPrefix(prefix=INTAKE, write=WriteRule.ANYONE, read=ReadRule.OWNER_TREE),
)


@dataclass(frozen=True, slots=True)
class ReservedRules:
    """The table of one store (setting `reserved_prefixes`)."""

    prefixes: tuple[ReservedPrefix, ...] = RESERVED_PREFIXES

    def closed_to(self, writer: Writer) -> tuple[str, ...]:
        """The prefixes below which this writer may write and delete nothing."""
        if writer.role is None:
            return ()
        allowed = {WriteRule.ANYONE}
        if writer.role is Role.FACTS_MANAGER:
            allowed.add(WriteRule.FACTS_MANAGER)
        return tuple(each.prefix for each in self.prefixes if each.write not in allowed)

    def refusing(self, writer: Writer, key: str) -> str | None:
        """The prefix that keeps this writer from writing `key`, or None."""
        return next((prefix for prefix in self.closed_to(writer) if key.startswith(prefix)), None)

    def refusing_pattern(self, writer: Writer, pattern: Pattern) -> str | None:
        """The prefix below which a delete pattern could match what others keep there, or None.

        A facts manager may delete by any pattern; rows of the lanes are left, not refused.
        """
        if writer.role is Role.FACTS_MANAGER:
            return None
        return next((prefix for prefix in self.closed_to(writer) if pattern.may_match_below(prefix)), None)

    def owners_only(self, key: str) -> bool:
        """Whether a shared fact under `key` may be overwritten by its owner's session tree only."""
        return any(
            key.startswith(each.prefix) and each.read is ReadRule.OWNER_TREE and each.write is WriteRule.ANYONE
            for each in self.prefixes
        )

    def readable_below(self, rule: ReadRule) -> list[str]:
        """The prefixes that `rule` guards."""
        return [each.prefix for each in self.prefixes if each.read is rule]
