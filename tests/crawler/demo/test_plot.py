import pytest

from crawler.demo.plot import choose
from crawler.errors import SourceFailed
from facts.receipts import ClaimedFact


def distribution(name: str, *requires: str) -> ClaimedFact:
    value = {"name": name, "version": "1", "requires": [{"name": each, "applies": True} for each in requires]}
    return ClaimedFact(
        fact_id=0, scope_key=f"shared:python-env/{name}", key=f"python-env/{name}", value=value, etag=1, deleted=False,
        session_id=None, agent_id=None, shared=True, tags=(), attempts=0,
    )  # fmt: skip


ENVIRONMENT = [
    distribution("web", "core", "json"),
    distribution("cli", "core"),
    distribution("core"),
    distribution("json"),
]


def test_the_hub_is_what_most_packages_need():
    plot = choose(ENVIRONMENT)
    assert (plot.hub, plot.edited, plot.other, plot.deleted) == ("core", "web", "json", "cli")


def test_the_order_of_the_facts_does_not_matter():
    assert choose(ENVIRONMENT) == choose(ENVIRONMENT[::-1])


def test_the_edited_fact_loses_two_requirements_and_nothing_else():
    plot = choose(ENVIRONMENT)
    assert plot.rewritten({"name": "web", "requires": [{"name": "core"}, {"name": "json"}, {"name": "io"}]}) == {
        "name": "web",
        "requires": [{"name": "io"}],
    }


def test_an_environment_without_dependencies_is_refused_in_words():
    with pytest.raises(SourceFailed, match="too few packages"):
        choose([distribution("lone")])
