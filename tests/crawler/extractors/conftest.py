"""A model endpoint of the test's own, and extractors that ask it."""

from __future__ import annotations

import pytest

from crawler.extractors.llm import LlmExtractor
from tests.crawler.extractors.asking import Time
from tests.crawler.extractors.model_server import model_server


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with model_server() as server:
        yield server


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def extractor(model, time):
    def make(**options):
        return LlmExtractor(
            {"base_url": model.base_url, "model": "m", "structured": True, **options}, timing=time.timing
        )

    return make
