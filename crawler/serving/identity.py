"""Who a request is: from its key, and from the session that the request names where the key is bound to several.

The acting session is checked against the key, so it narrows what the credential already allows; nothing in a body or a
query says who is calling. A key bound to several sessions whose request names none acts in no session: what is shared
can be read and written, what belongs to a session cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers

from crawler.caller import Caller
from crawler.errors import BadRequest, Unauthenticated
from crawler.serving.keys import ApiKey, Binding, Keys
from facts.access import Role
from facts.errors import NotPermitted
from facts.limits import checked_session_id
from facts.sessions import Sessions

SESSION_HEADER: Final = "x-harvester-session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a request says about who sends it; nothing of it is checked yet."""

    token: str | None
    acting_session: str | None

    @classmethod
    def of(cls, headers: Headers) -> Credential:
        """:raises BadRequest: a header that says it twice, where one proxy would read the first and one the last."""
        for name in ("authorization", SESSION_HEADER):
            if len(headers.getlist(name)) > 1:
                raise BadRequest(f"the header {name} stands there twice", argument=name)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        return cls(token=bearer or None, acting_session=headers.get(SESSION_HEADER))


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A caller with the key behind it, for what depends on the key: which sessions it may open and end."""

    key: ApiKey
    caller: Caller


@dataclass(frozen=True, slots=True)
class Identities:
    """The keys of a database, and the sessions that they are bound to."""

    keys: Keys
    sessions: Sessions

    def of(self, credential: Credential) -> Identity:
        """:raises Unauthenticated: no key, or one that does not hold. NotPermitted: not in that session."""
        key = None if credential.token is None else self.keys.find(credential.token)
        if key is None:
            said = (
                "send a key: `Authorization: Bearer hv_...`" if credential.token is None else "this key does not hold"
            )
            raise Unauthenticated(said)
        return Identity(key=key, caller=self.caller(key, credential.acting_session))

    def caller_of(self, headers: Headers) -> Caller:
        """The caller behind a request's headers."""
        return self.of(Credential.of(headers)).caller

    def caller(self, key: ApiKey, acting_session: str | None = None) -> Caller:
        session_id = self._session(key, acting_session)
        role = _role_in(key, session_id)
        return Caller(
            role=role,
            session_id=session_id,
            agent_id=key.agent_id,
            granted_prefixes=key.granted_prefixes if role is Role.CRAWLER else (),
        )

    def binds(self, key: ApiKey, session_id: str) -> bool:
        """Whether this session is one of those that the key may act in, as the tree is now."""
        if session_id in key.session_ids:
            return True
        return key.binding is Binding.TREE and session_id in self.sessions.below(key.session_ids[0])

    def _session(self, key: ApiKey, acting_session: str | None) -> str | None:
        if acting_session is None:
            return key.session_ids[0] if key.binding is Binding.SESSION else None
        session_id = checked_session_id(acting_session, argument=SESSION_HEADER)
        if not self.binds(key, session_id):
            raise NotPermitted(f"this key does not act in session {session_id}", argument=SESSION_HEADER)
        return session_id


def _role_in(key: ApiKey, session_id: str | None) -> Role:
    """Being a crawler is not inherited: below the root of a tree its key is an agent's."""
    inherited = key.binding is Binding.TREE and session_id not in (None, *key.session_ids)
    return Role.AGENT if key.role is Role.CRAWLER and inherited else key.role
