"""Facts put to the model-backed extractor, and a clock that only waiting moves."""

from __future__ import annotations

import json
import threading

from crawler.extractors.llm_answers import SHAPE
from crawler.extractors.llm_client import Timing
from tests.crawler.conftest import claimed

GRAPH = json.loads(SHAPE)


class Time:
    """A clock that only waiting moves; it records the waits."""

    def __init__(self):
        self.now = 1_000.0
        self.waits = []
        self.lock = threading.Lock()

    def wait(self, seconds):
        with self.lock:
            self.waits.append(seconds)
            self.now += seconds

    @property
    def timing(self):
        return Timing(clock=lambda: self.now, wait=self.wait, jitter=lambda: 1.0)


def facts(*values):
    return [claimed(value, key=f"k/{at}") for at, value in enumerate(values)]


def ask(extractor, value="Ada lives in Turin."):
    (said,) = extractor.extract(facts(value))
    return said


def prompt(seen):
    return [message["content"] for message in seen[1]["messages"]]
