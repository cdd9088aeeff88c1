from collections import Counter

import pytest
from structlog.testing import capture_logs

from crawler.registry import all_tools
from crawler.usage import PREVIEW, RULES, usage_counts
from facts.access import Role
from facts.errors import HarvesterError


@pytest.fixture
def kelp(call):
    """A node, an edge and a skill."""
    manager = {"role": Role.FACTS_MANAGER}
    call("store_fact", key="skills/knot", value={"name": "Bowline"}, shared=True, **manager)
    call("store_fact", key="notes/kelp", value="grows", shared=True, **manager)
    for name in ("Kelp", "Otter"):
        call("graph_upsert_node", kind="thing", name=name)
    call("graph_upsert_edge", fromKey="thing:otter", toKey="thing:kelp", predicate="lives in")


def raised(act) -> list[dict]:
    with capture_logs() as logs:
        act()
    return [
        {name: value for name, value in line.items() if name != "log_level"}
        for line in logs
        if line["event"] == "usage"
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "event"),
    [
        ("read_facts", {"scopeKeys": ["shared:skills/knot", "shared:notes/kelp"]},
         ("learned_skill.read", 1, "shared:skills/knot shared:notes/kelp")),
        ("graph_search_nodes", {"nameLike": "e"}, ("graph.node_searched", 2, "e")),
        ("graph_search_nodes", {"nameLike": "nothing"}, ("graph.node_searched", 0, "nothing")),
        ("graph_search_edges", {"predicate": "lives in"}, ("graph.searched", 1, "lives in")),
        ("graph_neighbourhood", {"nodeKey": "thing:kelp"}, ("graph.node_loaded", 1, "thing:kelp")),
        ("graph_upsert_namespace", {"namespace": "sea", "frontmatter": {"description": "d"}},
         ("graph.namespace_mutated", 1, "sea")),
    ],
)  # fmt: skip
def test_a_use_is_counted_and_logged_with_the_head_of_what_was_asked(call, kelp, tool, arguments, event):
    usage, count, preview = event
    before = Counter(usage_counts())
    lines = raised(lambda: call(tool, **arguments))
    assert lines == [
        {"event": "usage", "usage": usage, "tool": tool, "role": Role.AGENT, "count": count, "preview": preview}
    ]
    assert Counter(usage_counts()) - before == Counter({(usage, Role.AGENT): 1})


def test_what_is_asked_for_shows_80_characters_on_one_line(call):
    (line,) = raised(lambda: call("graph_search_nodes", nameLike="kelp\n" * 40))
    assert len(line["preview"]) == PREVIEW == 80
    assert line["preview"].startswith("kelp kelp")
    assert line["preview"].endswith("…")


def test_reading_no_skill_and_loading_no_node_are_no_events(call, kelp):
    assert raised(lambda: call("read_facts", scopeKeys=["shared:notes/kelp"])) == []
    assert raised(lambda: call("graph_neighbourhood", nodeKey="thing:unknown")) == []


def test_a_call_that_fails_is_no_event(call):
    def fail():
        with pytest.raises(HarvesterError):
            call("graph_search_nodes", limit=0)
        with pytest.raises(HarvesterError):
            call("graph_delete_namespace", namespace="sea", reason="r", confirmDestructiveDelete=True)

    assert raised(fail) == []


def test_archiving_deleting_and_asking_in_cypher_are_events(call):
    call("graph_upsert_namespace", namespace="sea", frontmatter={"description": "d"})
    as_manager = {"role": Role.FACTS_MANAGER}

    def act():
        call("graph_archive_namespace", namespace="sea", **as_manager)
        call("graph_delete_namespace", namespace="sea", reason="r", confirmDestructiveDelete=True, **as_manager)
        call("graph_query", cypher="RETURN 1", **as_manager)

    assert [(line["usage"], line["role"]) for line in raised(act)] == [
        ("graph.namespace_mutated", "facts-manager"),
        ("graph.namespace_mutated", "facts-manager"),
        ("graph.searched", "facts-manager"),
    ]


def test_every_event_belongs_to_a_tool_that_exists():
    assert set(RULES) <= set(all_tools())
