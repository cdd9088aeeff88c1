"""The tools, one room per store they work on."""

from crawler.tools import cypher, facts, graph_reads, graph_writes, incorporation, namespaces, queue, tombstones

TOOLS = (
    *facts.TOOLS,
    *tombstones.TOOLS,
    *queue.TOOLS,
    incorporation.graph_incorporate,
    *graph_reads.TOOLS,
    *graph_writes.TOOLS,
    *namespaces.TOOLS,
    *cypher.TOOLS,
)
