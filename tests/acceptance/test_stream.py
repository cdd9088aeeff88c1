import json

FACTS = 1_000


def dependency(number: int) -> dict:
    """Each package needs the one at half its number: a tree."""
    return {
        "nodes": [{"kind": "package", "name": f"p{number}"}],
        "edges": [
            {
                "from": {"kind": "package", "name": f"p{number}"},
                "to": {"kind": "package", "name": f"p{number // 2}"},
                "predicate": "depends on",
                "confidence": 0.9,
            }
        ],
    }


def calls(*lines: dict) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def answers(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_stream_of_stores_then_one_drain_then_a_stream_of_neighbourhoods(harvester):
    stores = calls(
        *(
            {"tool": "store_fact", "args": {"key": f"deps/p{n}", "value": dependency(n), "shared": True}}
            for n in range(1, FACTS + 1)
        )
    )
    stored = answers(harvester("call", "--jsonl", given=stores).stdout)
    assert len(stored) == FACTS
    assert all(answer["ok"] for answer in stored)
    assert stored[6]["result"]["scopeKey"] == "shared:deps/p7"

    harvester("run", "--once")

    looks = calls(*({"tool": "graph_neighbourhood", "args": {"nodeKey": f"package:p{n}"}} for n in range(2, 102)))
    looked = answers(harvester("call", "--jsonl", given=looks).stdout)
    assert len(looked) == 100
    for n, answer in enumerate(looked, start=2):
        assert answer["result"]["anchor"]["nodeKey"] == f"package:p{n}"
        around = {node["nodeKey"] for node in answer["result"]["nodes"]}
        assert around == {f"package:p{m}" for m in (n // 2, 2 * n, 2 * n + 1)}


def test_a_bad_line_is_answered_in_its_place_and_the_rest_goes_on(harvester):
    given = calls({"tool": "store_fact", "args": {"key": "", "value": 1, "shared": True}})
    given += "not json\n"
    given += calls({"tool": "no_such_tool", "args": {}}, {"tool": "read_facts", "args": {"scope": "shared"}})
    empty_key, no_json, no_tool, read = answers(harvester("call", "--jsonl", given=given).stdout)
    assert empty_key["error"] == empty_key["error"] | {"code": "invalid_argument", "argument": "key"}
    assert no_json["ok"] is False
    assert no_tool["error"]["code"] == "not_found"
    assert read["result"]["count"] == 0


def test_an_error_is_one_clear_line_without_a_traceback(harvester):
    done = harvester("stats", check=False, HARVESTER_DATABASE_URL="mysql://host/facts")
    assert done.returncode != 0
    assert "PostgreSQL" in done.stderr
    assert "Traceback" not in done.stderr
