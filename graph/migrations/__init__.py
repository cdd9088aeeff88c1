"""The graph's migrations: AGE labels, the registry tables beside them, their functions."""

from facts.errors import InvalidArgument
from facts.migrations import MigrationSet

GRAPH_NAME_CHARACTERS = 3


def graph_migrations(graph: str = "knowledge", registry: str = "knowledge_registry") -> MigrationSet:
    """The migrations of one graph. AGE owns a schema named like the graph, so the registry needs another name."""
    if len(graph) < GRAPH_NAME_CHARACTERS:
        raise InvalidArgument(f"graph name {graph!r} is too short: AGE wants at least 3 characters", argument="graph")
    if graph == registry:
        raise InvalidArgument("the graph and its registry need two different names", argument="registry")
    return MigrationSet(package="graph.migrations", schema=registry, identifiers={"graph": graph, "registry": registry})
