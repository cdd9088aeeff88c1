"""The model's own memory: which facts there are, in which version, pending or not, and the oracle's three inputs.

Nothing in here comes from the database but the etags, which only it can give.
"""

from dataclasses import dataclass, field, replace

from tests.fold.words import SILENCE, Said
from tests.oracle.world import World


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A fact's key and, when it is private, its session."""

    key: str
    session: str | None = None

    @property
    def scope_key(self) -> str:
        return f"shared:{self.key}" if self.session is None else f"session:{self.session}:{self.key}"


PLACES = (*(Place(key=f"f/{number}") for number in range(5)), Place(key="f/9", session="s1"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """A version of a fact as somebody once read it, and what that version says."""

    place: Place
    version: int
    etag: int
    said: Said
    writer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A row of the fact store; the etag is None until somebody looked it up."""

    place: Place
    fact_id: int
    version: int
    said: Said
    alive: bool = True
    pending: bool = True
    pinned: bool = False
    etag: int | None = None
    writer: str = "triples"

    @property
    def receipt(self) -> Receipt:
        """What a crawler holds after reading it."""
        assert self.etag is not None, self
        said = self.said if self.alive else SILENCE
        return Receipt(place=self.place, version=self.version, etag=self.etag, said=said, writer=self.writer)


@dataclass(kw_only=True)
class State:
    """All that the machine knows."""

    facts: dict[str, Fact] = field(default_factory=dict)
    world: World = field(default_factory=World)
    versions: int = 0
    ids: int = 0

    def copy(self) -> "State":
        """Another state with the same memory."""
        world = replace(
            self.world,
            ledger=dict(self.world.ledger),
            nodes=list(self.world.nodes),
            edges=list(self.world.edges),
            namespaces=dict(self.world.namespaces),
            merges=list(self.world.merges),
            etags=dict(self.world.etags),
        )
        return State(facts=dict(self.facts), world=world, versions=self.versions, ids=self.ids)

    # --- facts -----------------------------------------------------------------------------------------------

    def store(self, place: Place, said: Said, writer: str) -> bool:
        """Upsert; False when that is what the fact holds already."""
        fact = self.facts.get(place.scope_key)
        if fact is not None and fact.alive and fact.said == said and fact.writer == writer:
            return False
        if fact is None:
            self.ids += 1
            fact = Fact(place=place, fact_id=self.ids, version=0, said=said)
        self._renew(replace(fact, said=said, writer=writer, alive=True))
        return True

    def delete(self, place: Place) -> int:
        """A tombstone, back on the queue; how many facts were alive."""
        fact = self.facts.get(place.scope_key)
        if fact is None or not fact.alive:
            return 0
        self._renew(replace(fact, alive=False))
        return 1

    def purge(self, *, old: bool) -> int:
        """Reconciled tombstones go; those never pinned as well, once they are old."""
        gone = [
            key for key, fact in self.facts.items() if not fact.alive and not fact.pinned and (old or not fact.pending)
        ]
        for key in gone:
            del self.facts[key]
            del self.world.etags[key]
        return len(gone)

    def mark(self, scope_key: str, *, crawled: bool) -> bool:
        """Acknowledge or requeue by hand; whether anything changed."""
        fact = self.facts.get(scope_key)
        if fact is None or fact.pending is not crawled or (crawled and fact.pinned and not fact.alive):
            return False
        self.facts[scope_key] = replace(fact, pending=not crawled)
        return True

    def requeue(self, scope_keys: set[str]) -> None:
        """Put live facts back on the queue."""
        for key in scope_keys:
            if key in self.facts and self.facts[key].alive:
                self.mark(key, crawled=False)

    def pin(self, scope_key: str) -> None:
        """The graph may refer to this fact from now on."""
        if scope_key in self.facts:
            self.facts[scope_key] = replace(self.facts[scope_key], pinned=True)

    def unpin(self, scope_key: str) -> None:
        """The graph no longer refers to this tombstone."""
        fact = self.facts.get(scope_key)
        if fact is not None and not fact.alive:
            self.facts[scope_key] = replace(fact, pinned=False)

    def pending(self) -> list[Fact]:
        """What is on the queue."""
        return [fact for fact in self.facts.values() if fact.pending]

    def _renew(self, fact: Fact) -> None:
        self.versions += 1
        self.facts[fact.place.scope_key] = replace(fact, version=self.versions, pending=True, etag=None)
        self.world.etags[fact.place.scope_key] = self.versions

    def etags(self, scope_key: str, etag: int) -> None:
        """The etag of the newest version, as the database gave it."""
        self.facts[scope_key] = replace(self.facts[scope_key], etag=etag)

    # --- harvesting ------------------------------------------------------------------------------------------

    def incorporate(self, receipt: Receipt) -> tuple[str, str | None]:
        """Outcome and reason for one item of a batch."""
        key = receipt.place.scope_key
        fact = self.facts.get(key)
        if fact is None:
            return "gone", None
        if fact.version != receipt.version:
            return "stale", "changed"
        if not fact.pending:
            return "stale", "acknowledged"
        self.facts[key] = replace(fact, pending=False, pinned=fact.alive)
        if fact.alive:
            row = receipt.said.row(fact_id=fact.fact_id, scope_key=key, etag=fact.version, writer=receipt.writer)
            self.world.incorporate(row)
        else:
            self.world.incorporate_tombstone(key)
        return "acked", None
