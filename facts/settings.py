"""What an operator may set about a fact store; read once at the edge, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field

from facts.connections import CHECKOUT_TIMEOUT_S
from facts.limits import FactLimits
from facts.reserved import ReservedRules


@dataclass(frozen=True, kw_only=True, slots=True)
class FactSettings:
    """Settings of one store. `lineage_query` reads an application's own session catalogue (see facts.sessions)."""

    limits: FactLimits = field(default_factory=FactLimits)
    reserved: ReservedRules = field(default_factory=ReservedRules)
    lineage_query: str | None = None
    tombstone_ttl_s: float = 21_600.0
    pool_size: int = 4
    checkout_s: float = CHECKOUT_TIMEOUT_S
