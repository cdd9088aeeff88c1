"""The promise, driven at random: the graph is the fold of what the model itself remembers, after every step.

Each rule is one act, or two at once. An act may be killed before any of its statements, or lose its connection there.
"""

from collections.abc import Callable, Sequence
from itertools import permutations
from random import Random
from threading import Barrier, Thread
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from facts.errors import HarvesterError
from tests.fold import acts, hand_acts, words
from tests.fold.acts import Act, Product
from tests.fold.beside import differences
from tests.fold.emptied import empty
from tests.fold.interrupts import Killed, Script, drop, following, kill
from tests.fold.observed import label_tables
from tests.fold.shown import public_reads
from tests.fold.state import PLACES, Place, Receipt, State
from tests.oracle.compare import compare

REMEMBERED = 30
STATEMENTS = 40

places = st.sampled_from(PLACES)


def batches_at(some: Sequence[Place]) -> st.SearchStrategy[list[tuple[Place, words.Said, str]]]:
    """What one writer stores at once."""
    item = st.tuples(st.sampled_from(some), words.sayings, st.sampled_from(words.WRITERS))
    batch = st.lists(item, min_size=1, max_size=4, unique_by=lambda each: each[0])
    return batch.map(lambda items: sorted(items, key=lambda each: each[0].scope_key))


batches = st.one_of(
    batches_at([place for place in PLACES if place.session is None]),
    batches_at([place for place in PLACES if place.session is not None]),
)
moments = st.one_of(st.none(), st.none(), st.integers(0, STATEMENTS), st.integers(0, 12))
ways_to_die = st.sampled_from((kill, kill, drop))
# What a rule chooses from its state, it chooses by such a seed: what Hypothesis draws may not depend on how a race went.
chances = st.integers(0, 2**32).map(Random)
AGENTS = ("ann", "bob")
CITED = (*(place.scope_key for place in PLACES), "shared:nobody")
changes_of_facts = st.one_of(
    batches.map(lambda batch: acts.Store(items=batch)), places.map(lambda place: acts.Delete(place=place))
)
hand_nodes = st.builds(
    hand_acts.UpsertNode,
    agent=st.sampled_from(AGENTS),
    kind=st.sampled_from(words.KINDS),
    name=st.sampled_from(words.NAMES),
    aliases=st.lists(st.sampled_from(words.NAMES), max_size=2).map(tuple),
    identity=st.sampled_from(("normal", "normal", "normal", "exact")),
    namespace=words.namespaces,
    evidence=st.lists(st.sampled_from(CITED), max_size=3, unique=True).map(tuple),
)


class Fold(RuleBasedStateMachine):
    """Facts, harvests, and what agents do by hand."""

    product: ClassVar[Product]

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.receipts: list[Receipt] = []

    @initialize()
    def start_empty(self) -> None:
        empty(self.product.facts, self.product.graph)

    # --- one after another -------------------------------------------------------------------------------------

    @rule(batch=batches, moment=moments, way=ways_to_die, again=st.booleans())
    def store(self, batch: Any, moment: int | None, way: Any, again: bool) -> None:
        self.perform(acts.Store(items=batch), moment, way, again)

    @rule(place=places, moment=moments, way=ways_to_die, again=st.booleans())
    def delete(self, place: Any, moment: int | None, way: Any, again: bool) -> None:
        self.perform(acts.Delete(place=place), moment, way, again)

    @rule(chance=chances, other=words.sayings, same=st.booleans())
    def revive(self, chance: Random, other: words.Said, same: bool) -> None:
        dead = [fact for fact in self.state.facts.values() if not fact.alive]
        if dead:
            fact = chance.choice(dead)
            self.perform(acts.Store(items=[(fact.place, fact.said if same else other, fact.writer)]))

    @rule(chance=chances, moment=moments, way=ways_to_die, again=st.booleans())
    def harvest(self, chance: Random, moment: int | None, way: Any, again: bool) -> None:
        self.perform(self.batch(chance), moment, way, again)

    @rule()
    def drain(self) -> None:
        while self.state.pending():
            writer = self.state.pending()[0].writer
            receipts = [fact.receipt for fact in self.state.pending() if fact.writer == writer]
            self.perform(acts.Harvest(receipts=receipts))

    @rule(chance=chances)
    def harvest_late(self, chance: Random) -> None:
        if self.receipts:
            self.perform(acts.Harvest(receipts=[chance.choice(self.receipts)]))

    @rule(old=st.booleans(), moment=moments, way=ways_to_die)
    def purge(self, old: bool, moment: int | None, way: Any) -> None:
        self.perform(acts.Purge(old=old), moment, way)

    @rule(place=places, crawled=st.booleans())
    def mark(self, place: Any, crawled: bool) -> None:
        self.perform(acts.Mark(place=place, crawled=crawled))

    # --- by hand -----------------------------------------------------------------------------------------------

    @rule(asked=hand_nodes, moment=moments, way=ways_to_die, again=st.booleans())
    def upsert_node(self, asked: Any, moment: int | None, way: Any, again: bool) -> None:
        self.perform(asked, moment, way, again)

    @rule(chance=chances, moment=moments, way=ways_to_die, again=st.booleans())
    def upsert_edge(self, chance: Random, moment: int | None, way: Any, again: bool) -> None:
        self.perform(self.hand_edge(chance), moment, way, again)

    @rule(chance=chances, moment=moments, way=ways_to_die, again=st.booleans())
    def merge(self, chance: Random, moment: int | None, way: Any, again: bool) -> None:
        self.perform(self.merging(chance), moment, way, again)

    @rule(chance=chances, moment=moments, way=ways_to_die, again=st.booleans())
    def unmerge(self, chance: Random, moment: int | None, way: Any, again: bool) -> None:
        if self.state.world.merges:
            merged = chance.choice(self.state.world.merges).duplicate
            self.perform(hand_acts.UnmergeNodes(duplicate=merged), moment, way, again)

    @rule(chance=chances, moment=moments, way=ways_to_die, again=st.booleans())
    def take_away(self, chance: Random, moment: int | None, way: Any, again: bool) -> None:
        self.perform(self.deletion(chance), moment, way, again)

    # --- two at once -------------------------------------------------------------------------------------------

    @rule(chance=chances)
    def harvest_by_two(self, chance: Random) -> None:
        self.race(self.batch(chance), self.batch(chance))

    @rule(chance=chances, change=changes_of_facts)
    def harvest_while_facts_change(self, chance: Random, change: Act) -> None:
        self.race(self.batch(chance), change)

    @rule(chance=chances, asked=hand_nodes)
    def harvest_while_agents_write(self, chance: Random, asked: Act) -> None:
        others = (self.hand_edge(chance), self.merging(chance), self.deletion(chance), asked)
        self.race(self.batch(chance), chance.choice(others))

    @rule(chance=chances)
    def merge_while_something_goes(self, chance: Random) -> None:
        self.race(self.merging(chance), self.deletion(chance))

    @rule(chance=chances)
    def unmerge_while_others_write(self, chance: Random) -> None:
        if self.state.world.merges:
            merged = chance.choice(self.state.world.merges).duplicate
            others = (self.batch(chance), self.deletion(chance), self.hand_edge(chance), self.merging(chance))
            self.race(hand_acts.UnmergeNodes(duplicate=merged), chance.choice(others))

    @rule(chance=chances)
    def two_deletions(self, chance: Random) -> None:
        self.race(self.deletion(chance), self.deletion(chance))

    @rule(chance=chances)
    def two_merges(self, chance: Random) -> None:
        self.race(self.merging(chance), self.merging(chance))

    # --- how -----------------------------------------------------------------------------------------------------

    def batch(self, chance: Random) -> acts.Harvest:
        """Some of what is pending, in some order, by one extractor; nothing of nothing."""
        pending = self.state.pending()
        chance.shuffle(pending)
        some = pending[: chance.randint(1, max(1, len(pending)))]
        return acts.Harvest(receipts=[fact.receipt for fact in some if fact.writer == some[0].writer])

    def hand_edge(self, chance: Random) -> Act:
        """An agent's edge, mostly between two of the nodes there are."""
        return hand_acts.UpsertEdge(
            source=self.node(chance),
            target=self.node(chance),
            agent=chance.choice(AGENTS),
            predicate=chance.choice(words.PREDICATES),
            confidence=chance.choice(words.CONFIDENCES),
            namespace=chance.choice(words.NAMESPACES),
            evidence=tuple(chance.sample(CITED, chance.randint(0, 3))),
        )

    def merging(self, chance: Random) -> Act:
        """Mostly two of the nodes there are."""
        return hand_acts.MergeNodes(duplicate=self.node(chance), survivor=self.node(chance))

    def node(self, chance: Random) -> str:
        """A node that there is, or one that was merged away, or one that never was."""
        return chance.choice([*hand_acts.node_keys(self.state), "ship:ghost"])

    def deletion(self, chance: Random) -> Act:
        """Something that is there, mostly."""
        requeue = chance.random() < 0.5
        source, target, predicate = chance.choice(hand_acts.edge_keys(self.state) or [("ship:c", "port:c", "own")])
        return chance.choice(
            (
                hand_acts.RemoveEvidence(scope_key=chance.choice(CITED), requeue=requeue),
                hand_acts.DeleteNamespace(namespace=chance.choice(hand_acts.spaces(self.state)), requeue=requeue),
                hand_acts.DeleteNode(key=self.node(chance), requeue=requeue),
                hand_acts.DeleteEdge(source=source, target=target, predicate=predicate, requeue=requeue),
            )
        )

    def perform(
        self, act: Act, moment: int | None = None, way: Callable[..., None] = kill, again: bool = False
    ) -> None:
        """One act; when it is killed, nothing happened, and it may be done again."""
        try:
            reply = self.call(act, moment, way)
        except Killed:
            if not again:
                return
            reply = self.call(act)
        state = self.state.copy()
        expected = act.expect(state)
        assert reply == expected, f"{act}: {reply}, the model says {expected}"
        self.adopt(state)

    def call(self, act: Act, moment: int | None = None, way: Callable[..., None] = kill) -> Any:
        """The reply of the product; refusals are replies."""
        with following(Script(-1 if moment is None else moment, way)):
            try:
                return act.do(self.product)
            except HarvesterError as error:
                return error.code

    def race(self, *racing: Act) -> None:
        """Acts at the same moment: the replies and the graph are those of one after the other, in some order."""
        replies = self.at_once(racing)
        problems: list[str] = []
        for order in permutations(range(len(racing))):
            state = self.state.copy()
            expected = {number: racing[number].expect(state) for number in order}
            if any(expected[number] != replies[number] for number in order):
                problems.append(f"{order}: {replies}, the model says {expected}")
                continue
            self.learn(state)
            found = self.faults(state)
            if not found:
                self.adopt(state)
                return
            problems += [f"{order}:", *found]
        raise AssertionError("\n".join([f"no order of {racing} explains it", *problems]))

    def at_once(self, racing: tuple[Act, ...]) -> list[Any]:
        """Their replies."""
        barrier = Barrier(len(racing))
        replies: list[Any] = [None] * len(racing)

        def run(number: int) -> None:
            barrier.wait()
            try:
                replies[number] = self.call(racing[number])
            except BaseException as error:
                replies[number] = error
                raise

        threads = [Thread(target=run, args=[number]) for number in range(len(racing))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return replies

    def adopt(self, state: State) -> None:
        """This is what happened."""
        self.learn(state)
        self.state = state

    def learn(self, state: State) -> None:
        """The etags that the database gave; old receipts are kept for those who come late."""
        for key, fact in list(state.facts.items()):
            if fact.etag is None:
                record = self.product.facts.inspect(key)
                assert record is not None, f"{key} is not there"
                state.etags(key, record.etag)
                self.receipts.append(state.facts[key].receipt)
        del self.receipts[:-REMEMBERED]

    @invariant()
    def graph_is_the_fold(self) -> None:
        found = self.faults(self.state)
        assert not found, "\n".join(found)

    def faults(self, state: State) -> list[str]:
        """Where the product is not what the model's own memory says."""
        expected = state.world.graph()
        graph, facts = self.product.graph, self.product.facts
        with facts.db.transaction() as connection:
            seen = label_tables(connection, graph.tables.graph)
            beside = differences(connection, state, registry=graph.tables.registry, facts=facts.tables.schema)
        labels = [f"label tables: {line}" for line in compare(expected, seen)]
        reads = [f"public reads: {line}" for line in compare(expected, public_reads(graph))]
        return labels + reads + beside

    def teardown(self) -> None:
        """At the end the queue is emptied: then the graph is what the facts that are alive say."""
        while self.state.pending():
            self.drain()
        self.graph_is_the_fold()
