"""The knowledge graph: always exactly the fold of the live facts."""
