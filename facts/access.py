"""Who reads and who writes: built by the server side from the authenticated caller, never from arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Role(StrEnum):
    AGENT = "agent"
    CRAWLER = "crawler"
    FACTS_MANAGER = "facts-manager"
    AGENT_TUNER = "agent-tuner"


# What a crawler whose key names no prefixes may read: every key (but the reserved ones).
EVERY_KEY: tuple[str, ...] = ("",)


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessContext:
    """What a reader may see: shared facts, its own session's, those of its spawn tree, and granted key prefixes.

    `granted_prefixes` is a crawler's: None for everybody else, `("",)` for a crawler key without explicit grants. They
    widen scope `all`, the queue and evidence. Facts under `intake/` and `config/facts-manager/` stay out of sight
    unless a grant names such a prefix itself. No identity at all sees shared facts only.
    """

    reader_session_id: str | None = None
    granted_session_ids: frozenset[str] = frozenset()
    unrestricted: bool = False
    granted_prefixes: tuple[str, ...] | None = None
    only_granted: bool = False

    @property
    def sessions(self) -> list[str]:
        """Own session first, then the tree, without repeats."""
        own = [] if self.reader_session_id is None else [self.reader_session_id]
        return own + sorted(self.granted_session_ids - set(own))

    @property
    def reads_all(self) -> bool:
        """Whether scope `all` and the queue are open to this reader."""
        return self.unrestricted or self.granted_prefixes is not None

    def at_work(self) -> AccessContext:
        """The same reader at the crawl queue and in graph writes, where a row outside the grant is unknown."""
        return replace(self, only_granted=self.granted_prefixes is not None and not self.unrestricted)


# In-process callers that the product itself trusts, such as the harvester.
UNRESTRICTED = AccessContext(unrestricted=True)
NOBODY = AccessContext()


@dataclass(frozen=True, kw_only=True, slots=True)
class Writer:
    """Who stores and deletes. `role` None is an in-process caller: trusted with reserved prefixes and all shared facts.

    `unrestricted` alone opens deletes with scope `all`. `granted_prefixes` are a crawler's explicit grants: it may
    delete shared facts below them.
    """

    session_id: str | None = None
    agent_id: str | None = None
    role: Role | None = None
    granted_session_ids: frozenset[str] = frozenset()
    granted_prefixes: tuple[str, ...] = ()
    unrestricted: bool = False

    @property
    def tree(self) -> frozenset[str]:
        """The sessions whose facts count as this writer's own."""
        return self.granted_session_ids | ({self.session_id} if self.session_id is not None else frozenset())


# The product itself, storing for nobody in particular (sources, for instance).
HOUSE = Writer()
