"""The tools, one room per store they work on."""

from crawler.tools import facts, graph_writes, incorporation, queue, tombstones

TOOLS = (*facts.TOOLS, *tombstones.TOOLS, *queue.TOOLS, incorporation.graph_incorporate, *graph_writes.TOOLS)
