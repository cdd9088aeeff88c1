import pytest

from crawler.errors import BadSetting
from crawler.ingest import Ingest
from crawler.sources.contract import SourceFact, Unreadable
from facts.access import UNRESTRICTED
from facts.inputs import ReadFactsQuery


class Listed:
    """A source over a list."""

    name = "listed"

    def __init__(self, *items, prefix="l/"):
        self._items = items
        self.prefix = prefix

    def size(self):
        return len(self._items)

    def items(self, _known):
        yield from self._items


def fact(key, value=1, **more):
    return SourceFact(key=key, value=value, **more)


@pytest.fixture
def ingest(stores):
    def run(source, *, prune=False, session_id=None):
        return Ingest(stores.facts, source, session_id=session_id).run(prune=prune)

    return run


@pytest.fixture
def stored(stores):
    def look():
        page = stores.facts.read(ReadFactsQuery(scope="all", limit=10_000), UNRESTRICTED)
        return {one.scope_key: one for one in page.facts}

    return look


def test_a_second_ingest_of_the_same_content_changes_nothing(ingest, harvester, stored):
    source = Listed(*(fact(f"l/{n}", {"n": n}) for n in range(2_500)))
    assert ingest(source).stored == 2_500
    harvester({"unmatched": "acknowledge"}).drain()
    before = stored()
    done = ingest(source)
    assert (done.stored, done.unchanged) == (0, 2_500)
    assert {key: (one.etag, one.crawled) for key, one in stored().items()} == {
        key: (one.etag, True) for key, one in before.items()
    }


def test_only_changed_items_go_back_on_the_queue(ingest, harvester, stores):
    ingest(Listed(fact("l/a"), fact("l/b")))
    harvester({"unmatched": "acknowledge"}).drain()
    ingest(Listed(fact("l/a"), fact("l/b", 2)))
    assert [one.fact.key for one in stores.facts.read_uncrawled().facts] == ["l/b"]


def test_a_prune_deletes_what_the_source_no_longer_has_and_only_that(ingest, stored, put):
    put({"l/mine": 1, "elsewhere": 1})
    ingest(Listed(fact("l/a"), fact("l/b")))
    assert ingest(Listed(fact("l/a")), prune=True).pruned == 1
    assert set(stored()) == {"shared:l/mine", "shared:elsewhere", "shared:l/a"}


def test_a_prune_needs_a_prefix(ingest):
    with pytest.raises(BadSetting, match="--prefix"):
        ingest(Listed(prefix=""), prune=True)


def test_bad_items_are_named_and_the_rest_is_stored(ingest, stored):
    done = ingest(
        Listed(fact("l/a"), fact(""), Unreadable(where="line 3", reason="torn"), fact("l/b", float("nan")), fact("l/c"))
    )
    assert set(stored()) == {"shared:l/a", "shared:l/c"}
    assert (done.stored, done.bad) == (2, 3)
    assert any("torn" in problem for problem in done.problems)


def test_a_key_that_comes_twice_is_stored_in_order(ingest, stored):
    ingest(Listed(fact("l/a", 1), fact("l/b"), fact("l/a", 2)))
    assert stored()["shared:l/a"].value == 2


def test_facts_of_a_session_stay_private(ingest, stored):
    ingest(Listed(fact("l/a"), fact("l/b", shared=True)), session_id="s1")
    assert set(stored()) == {"session:s1:l/a", "shared:l/b"}


def test_an_ingest_that_broke_off_goes_on_and_doubles_nothing(ingest, stored):
    def torn():
        yield from (fact(f"l/{n}", {"n": n}) for n in range(1_500))
        raise OSError("the disk went away")

    class Torn(Listed):
        def items(self, _known):
            return torn()

    with pytest.raises(OSError, match="went away"):
        ingest(Torn())
    before = stored()
    assert len(before) == 1_000
    done = ingest(Listed(*(fact(f"l/{n}", {"n": n}) for n in range(1_500))))
    assert (done.stored, done.unchanged) == (500, 1_000)
    after = stored()
    assert {key: after[key].etag for key in before} == {key: one.etag for key, one in before.items()}


def test_a_prune_spares_what_could_not_be_read_and_stops_where_nobody_can_say_what_that_was(ingest, stored):
    ingest(Listed(fact("l/a"), fact("l/b#1"), fact("l/b#2"), fact("l/c")))
    known = ingest(Listed(fact("l/a"), Unreadable(where="b", reason="torn", keeps="l/b")), prune=True)
    assert (known.pruned, known.prune_withheld) == (1, False)
    unknown = ingest(Listed(Unreadable(where="line 3", reason="torn")), prune=True)
    assert (unknown.pruned, unknown.prune_withheld) == (0, True)
    assert set(stored()) == {"shared:l/a", "shared:l/b#1", "shared:l/b#2"}
