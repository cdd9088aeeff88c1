from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from facts import FactStore, open_fact_store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def store(database_url: str) -> Iterator[FactStore]:
    with open_fact_store(database_url) as opened:
        yield opened
