"""Who calls a tool: from the credential or the launcher, never from the tool's arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from facts.access import EVERY_KEY, AccessContext, Role, Writer
from facts.errors import InvalidArgument
from facts.limits import checked_agent_id, checked_session_id
from facts.store import FactStore

_UNRESTRICTED_READERS: Final = frozenset({Role.FACTS_MANAGER, Role.AGENT_TUNER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """``granted_prefixes``: a crawler's key prefixes; none given means every key (but the reserved ones)."""

    role: Role = Role.AGENT
    session_id: str | None = None
    agent_id: str | None = None
    granted_prefixes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, given: Any) -> Caller:
        """``{"role"?, "sessionId"?, "agentId"?}``, as a line of `harvester call --jsonl` carries it."""
        if not isinstance(given, dict):
            raise InvalidArgument("caller must be an object with role, sessionId, agentId", argument="caller")
        known = {"role": "role", "sessionId": "session_id", "agentId": "agent_id",
                 "session_id": "session_id", "agent_id": "agent_id"}  # fmt: skip
        unknown = set(given) - set(known)
        if unknown:
            raise InvalidArgument(f"a caller has no {min(unknown)!r}", argument=f"caller.{min(unknown)}")
        fields = {known[name]: value for name, value in given.items() if value is not None}
        return cls.checked(**fields)

    @classmethod
    def checked(cls, *, role: object = Role.AGENT, session_id: object = None, agent_id: object = None) -> Caller:
        try:
            chosen = Role(str(role))
        except ValueError as error:
            roles = ", ".join(Role)
            raise InvalidArgument(f"there is no role {role!r}; roles are {roles}", argument="role") from error
        return cls(
            role=chosen,
            session_id=None if session_id is None else checked_session_id(session_id),
            agent_id=None if agent_id is None else checked_agent_id(agent_id),
        )

    @property
    def cites_freely(self) -> bool:
        """May name evidence that it cannot see or that does not exist."""
        return self.role in {Role.CRAWLER, Role.FACTS_MANAGER}

    @property
    def name(self) -> str:
        """Who stands behind a graph write."""
        return self.agent_id or self.role.value

    def access(self, store: FactStore) -> AccessContext:
        """What this caller may see, with its spawn tree as it is now."""
        return AccessContext(
            reader_session_id=self.session_id,
            granted_session_ids=self._tree(store),
            unrestricted=self.role in _UNRESTRICTED_READERS,
            granted_prefixes=(self.granted_prefixes or EVERY_KEY) if self.role is Role.CRAWLER else None,
        )

    def writer(self, store: FactStore, *, with_tree: bool) -> Writer:
        """``with_tree``: deletes of shared facts look at who owns them, and the tree counts as the writer's own."""
        return Writer(
            session_id=self.session_id,
            agent_id=self.agent_id,
            role=self.role,
            granted_session_ids=self._tree(store) if with_tree else frozenset(),
            granted_prefixes=self.granted_prefixes,
            unrestricted=self.role is Role.FACTS_MANAGER,
        )

    def _tree(self, store: FactStore) -> frozenset[str]:
        return frozenset() if self.session_id is None else store.sessions.tree(self.session_id)
