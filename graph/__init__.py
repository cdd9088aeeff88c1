"""The knowledge graph: always exactly the fold of the live facts."""

from graph.store import GraphStore, open_graph_store

__all__ = ["GraphStore", "open_graph_store"]
