"""`make load`, shorter: many readers at once get answers, and never a fault."""

import asyncio

from tests.crawler.serving.load import fill, read_for, tokens

READERS = 200


def test_two_hundred_readers_at_once_get_no_5xx_but_503(served, stores):
    fill(stores, 500)
    measured = asyncio.run(read_for(served.url, tokens(stores, READERS), 3.0))
    print(measured.figures())
    assert measured.faults == 0
    assert set(measured.statuses) <= {200, 503}
    assert measured.statuses[200] >= READERS
