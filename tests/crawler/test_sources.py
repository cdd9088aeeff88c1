import json
import subprocess
from typing import Any

import pytest

from crawler.errors import SourceFailed
from crawler.extractors.contract import Extraction
from crawler.rules import read_rules
from crawler.sources.contract import SourceFact, Unchanged, Unreadable
from crawler.sources.git import GitHistory
from crawler.sources.jsonl import JsonLines
from crawler.sources.python_env import PythonEnvironment, read_requirement
from tests.crawler.conftest import claimed

METADATA = """\
Metadata-Version: 2.1
Name: Some.Package
Version: 1.2
Summary: Does things
Author: Ann Alder and Bob Birch
Author-email: "Firm, Inc." <x@firm.example>
Classifier: License :: OSI Approved :: MIT License
Requires-Dist: other-thing>=2; python_version >= "3"
Requires-Dist: pytest; extra == "test"
Requires-Dist: not a ((requirement
"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "some_package-1.2.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(METADATA)
    (folder / "top_level.txt").write_text("some_package\n")
    (tmp_path / "broken-1.dist-info").mkdir()
    return tmp_path


def nothing_known(_keys):
    return set()


def extract(source_name, fact):
    read = claimed(fact.value, key=fact.key)
    rule: Any = read_rules({"include": [source_name]}, reserved_prefixes=[]).rule_for(read)
    said: Any = rule.extractor.extract([read])[0]
    assert type(said) is Extraction
    edges: list[Any] = list(said.edges)
    return {(edge.source.name, edge.predicate, edge.target.name) for edge in edges}


def test_a_distribution_is_one_fact_with_what_a_person_asks_about_it(site):
    items = list(PythonEnvironment(path=[str(site)]).items(nothing_known))
    fact = next(item for item in items if isinstance(item, SourceFact))
    assert fact.key == "python-env/some-package"
    assert fact.value == {
        "name": "some-package",
        "version": "1.2",
        "summary": "Does things",
        "licence": "MIT License",
        "authors": ["Ann Alder", "Bob Birch", "Firm, Inc."],
        "requires": [
            {"name": "other-thing", "applies": True, "versions": ">=2", "when": 'python_version >= "3"'},
            {"name": "pytest", "applies": False, "when": 'extra == "test"'},
        ],
        "provides": ["some_package"],
        "also_called": ["Some.Package"],
    }
    assert [type(item) for item in items if item is not fact] == [Unreadable]


def test_the_shipped_rule_turns_a_distribution_into_a_graph(site):
    fact = next(
        item for item in PythonEnvironment(path=[str(site)]).items(nothing_known) if isinstance(item, SourceFact)
    )
    assert extract("python-env", fact) == {
        ("some-package", "depends on", "other-thing"),
        ("some-package", "written by", "Ann Alder"),
        ("some-package", "written by", "Bob Birch"),
        ("some-package", "written by", "Firm, Inc."),
        ("some-package", "licensed under", "MIT License"),
        ("some-package", "provides", "some_package"),
    }


def test_every_installed_distribution_of_this_environment_can_be_read():
    source = PythonEnvironment()
    keys = [item.key for item in source.items(nothing_known) if isinstance(item, SourceFact)]
    assert "python-env/psycopg" in keys
    assert len(keys) == len(set(keys))


def test_a_requirement_for_another_platform_does_not_apply():
    assert read_requirement('x; sys_platform == "nowhere"') == {
        "name": "x",
        "applies": False,
        "when": 'sys_platform == "nowhere"',
    }
    assert read_requirement("((") is None


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "boat"
    folder.mkdir()

    def git(*arguments):
        subprocess.run(
            ["git", "-C", str(folder), "-c", "user.name=Ann Ålder", "-c", "user.email=ann@secret.example", *arguments],
            check=True,
            capture_output=True,
        )

    git("init", "-q", "-b", "main")
    (folder / "hull ü.txt").write_text("oak\n" * 20)
    git("add", ".")
    git("commit", "-q", "-m", "Lay the keel\n\nbody")
    git("mv", "hull ü.txt", "hull.txt")
    (folder / "mast.txt").write_text("pine")
    git("add", ".")
    git("commit", "-q", "-m", "Raise\tthe mast")
    git("rm", "-q", "mast.txt")
    git("commit", "-q", "--allow-empty", "-m", "Strike the mast")
    return folder


def test_a_commit_is_one_fact_oldest_first_without_addresses(repository):
    source = GitHistory(repository)
    facts: list[Any] = list(source.items(nothing_known))
    assert source.size() == 3
    assert [fact.value["subject"] for fact in facts] == ["Lay the keel", "Raise\tthe mast", "Strike the mast"]
    assert facts[0].value["files"] == [{"change": "added", "path": "hull ü.txt"}]
    assert facts[1].value["files"] == [
        {"change": "renamed", "path": "hull.txt", "from": "hull ü.txt"},
        {"change": "added", "path": "mast.txt"},
    ]
    assert facts[2].value["files"] == [{"change": "removed", "path": "mast.txt"}]
    assert facts[1].value["parents"] == [facts[0].value["id"]]
    assert all(fact.key == f"git/boat/{fact.value['commit']}" for fact in facts)
    assert "secret.example" not in json.dumps([fact.value for fact in facts])
    assert {fact.value["author"] for fact in facts} == {"Ann Ålder"}


def test_commits_that_are_stored_already_are_not_read_again(repository):
    source = GitHistory(repository)
    known: list[Any] = list(source.items(nothing_known))
    keys = [fact.key for fact in known]
    again: list[Any] = list(source.items(lambda _keys: set(keys[:2])))
    assert [type(item) for item in again] == [Unchanged, Unchanged, SourceFact]
    assert [item.key for item in again] == keys


def test_the_shipped_rule_turns_a_commit_into_a_graph(repository):
    second: Any = list(GitHistory(repository).items(nothing_known))[1]
    commit, parent = second.value["id"], second.value["parents"][0]
    assert extract("git", second) == {
        ("Ann Ålder", "authored", commit),
        (commit, "belongs to", "boat"),
        (commit, "follows", parent),
        (commit, "renamed", "boat/hull.txt"),
        (commit, "added", "boat/mast.txt"),
    }


def test_a_folder_without_history_is_refused_in_one_line(tmp_path):
    with pytest.raises(SourceFailed, match="git cannot read"):
        GitHistory(tmp_path)


def test_a_revision_is_never_read_as_an_option(repository):
    with pytest.raises(SourceFailed):
        GitHistory(repository, revision="--output=/tmp/x").size()


def test_lines_of_json_become_facts_and_bad_lines_are_named(tmp_path):
    file = tmp_path / "facts.jsonl"
    file.write_text(
        '{"key": "a", "value": null, "tags": ["t"], "shared": false}\n\n'
        '{"key": "b", "value": NaN}\n'
        "[1]\n"
        '{"key": "c"}\n'
        '{"key": 1, "value": 1}\n'
        '{"key": "d", "value": 1, "tags": "t"}\n'
        '{"key": "d", "value": 1, "shared": "yes"}\n'
        '{"key": "d", "value": 1, "tag": []}\n'
        '{"key": "e", "value": {"x": 1}}\n'
    )
    items: list[Any] = list(JsonLines(str(file)).items(nothing_known))
    assert items[0] == SourceFact(key="a", value=None, tags=("t",), shared=False)
    assert items[-1] == SourceFact(key="e", value={"x": 1})
    assert [item.where.rpartition(":")[2] for item in items[1:-1]] == ["3", "4", "5", "6", "7", "8", "9"]


def test_a_line_outside_the_prefix_is_not_the_sources(tmp_path):
    file = tmp_path / "facts.jsonl"
    file.write_text('{"key": "mine/a", "value": 1}\n{"key": "a", "value": 1}\n')
    items = list(JsonLines(str(file), prefix="mine/").items(nothing_known))
    assert [type(item) for item in items] == [SourceFact, Unreadable]


def test_a_missing_file_is_refused_in_one_line(tmp_path):
    with pytest.raises(SourceFailed, match="cannot read"):
        list(JsonLines(str(tmp_path / "nope")).items(nothing_known))
