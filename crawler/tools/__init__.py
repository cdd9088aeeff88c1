"""The tools, one room per store they work on."""

from crawler.tools import facts

TOOLS = (*facts.TOOLS,)
