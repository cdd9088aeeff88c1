"""`harvester demo`: the promise, shown and checked on the machine it runs on."""

from crawler.demo.story import run_demo

__all__ = ["run_demo"]
