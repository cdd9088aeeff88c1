"""What the facts of the state machine say: few names in many spellings, so that everything meets everything."""

from dataclasses import dataclass

from hypothesis import strategies as st

from graph import model as product
from tests.oracle.model import ABSENT, Absent, LedgerRow, Mention, Namespace, Ref, Statement, endpoint_key

KINDS = ("Ship", "SHIP", "port")
NAMES = ("Aurora", "AURORA!", "aurora", "Jon Rask", "J. Rask", "Rask", "Ålesund", "Alesund", "C++", "C", "!!!")
PREDICATES = ("depends on", "DEPENDS_ON the", "owns", "is owned by")
CONFIDENCES = (0.0, 0.25, 0.5, 0.9, 1.0)
NAMESPACES: tuple[Namespace, ...] = (ABSENT, ABSENT, None, "corpus/a", "/corpus/a/b/", " default ", "zeta")
WRITERS = ("triples", "mapping")

refs = st.builds(
    Ref,
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(NAMES),
    identity=st.sampled_from(("normal", "normal", "normal", "exact")),
)
keys = refs.map(lambda ref: ref.key)
endpoints = st.one_of(refs, keys)
namespaces = st.sampled_from(NAMESPACES)
mentions = st.builds(
    Mention,
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(NAMES),
    aliases=st.lists(st.sampled_from((*NAMES, "  ")), max_size=2).map(tuple),
    namespace=namespaces,
    identity=st.sampled_from(("normal", "normal", "normal", "exact")),
)
statements = st.builds(
    Statement,
    source=endpoints,
    target=endpoints,
    predicate=st.sampled_from(PREDICATES),
    confidence=st.sampled_from(CONFIDENCES),
    namespace=namespaces,
).filter(lambda edge: endpoint_key(edge.source) != endpoint_key(edge.target))


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What one version of a fact says, whoever reads it."""

    namespace: str | None
    nodes: tuple[Mention, ...]
    edges: tuple[Statement, ...]

    def row(self, *, fact_id: int, scope_key: str, etag: int, writer: str) -> LedgerRow:
        """The ledger row of the oracle."""
        return LedgerRow(
            fact_id=fact_id,
            scope_key=scope_key,
            etag=etag,
            writer=writer,
            namespace=self.namespace,
            nodes=self.nodes,
            edges=self.edges,
        )

    def incorporation(self, scope_key: str, etag: int) -> product.Incorporation:
        """The product's own words for it."""
        return product.Incorporation(
            scope_key=scope_key,
            etag=etag,
            namespace=self.namespace,
            nodes=[node_mention(node) for node in self.nodes],
            edges=[edge_mention(edge) for edge in self.edges],
        )


sayings = st.builds(
    Said,
    namespace=st.sampled_from((None, None, "corpus/a", "zeta")),
    nodes=st.lists(mentions, max_size=3).map(tuple),
    edges=st.lists(statements, max_size=3).map(tuple),
)
SILENCE = Said(namespace=None, nodes=(), edges=())


def namespace_argument(given: Namespace) -> product.NamespaceArgument:
    """The product's own ABSENT."""
    return product.ABSENT if isinstance(given, Absent) else given


def node_mention(node: Mention) -> product.NodeMention:
    """A listed node."""
    return product.NodeMention(
        kind=node.kind,
        name=node.name,
        aliases=node.aliases,
        namespace=namespace_argument(node.namespace),
        identity=node.identity,
    )


def edge_mention(edge: Statement) -> product.EdgeMention:
    """A stated edge."""
    return product.EdgeMention(
        source=reference(edge.source),
        target=reference(edge.target),
        predicate=edge.predicate,
        confidence=edge.confidence,
        namespace=namespace_argument(edge.namespace),
    )


def reference(end: str | Ref) -> str | product.NodeRef:
    """An endpoint."""
    return end if isinstance(end, str) else product.NodeRef(kind=end.kind, name=end.name, identity=end.identity)
