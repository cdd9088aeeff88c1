import ast
import subprocess
from pathlib import Path

import pytest

from checks import committed, imports, sizes


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for package in ("facts", "graph", "crawler"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    return tmp_path


LIMITS = sizes.Limits(function_lines=3, file_lines=5, broad_excepts=1, justified={})


def test_a_house_in_order_has_nothing_to_mend(repository):
    (repository / "facts" / "keys.py").write_text("def key():\n    return 1\n")
    assert sizes.problems(repository, LIMITS) == []


def test_a_long_function_is_named_with_its_line(repository):
    (repository / "facts" / "keys.py").write_text("\ndef key():\n    a = 1\n    b = 2\n    return a + b\n")
    assert sizes.problems(repository, LIMITS) == ["facts/keys.py:2: key has 4 lines, over 3: split it"]


def test_a_long_file_is_named_unless_it_is_justified(repository):
    (repository / "facts" / "keys.sql").write_text("--\n" * 6)
    assert "facts/keys.sql: 6 lines" in sizes.problems(repository, LIMITS)[0]
    justified = sizes.Limits(function_lines=3, file_lines=5, broad_excepts=1, justified={"facts/keys.sql": "one table"})
    assert sizes.problems(repository, justified) == []


def test_a_justification_of_a_file_that_is_gone_is_named(repository):
    limits = sizes.Limits(function_lines=3, file_lines=5, broad_excepts=1, justified={"facts/old.sql": "one table"})
    assert sizes.problems(repository, limits) == ["pyproject.toml justifies facts/old.sql, which is gone"]


@pytest.mark.parametrize("name", ["utils.py", "common/__init__.py", "manager.sql"])
def test_a_room_that_says_nothing_is_refused(repository, name):
    path = repository / "graph" / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert "a room named" in sizes.problems(repository, LIMITS)[0]


@pytest.mark.parametrize(
    "text",
    [
        "try: pass\nexcept: pass",
        "try: pass\nexcept Exception: pass",
        "try: pass\nexcept (OSError, BaseException) as e: pass",
        "with contextlib.suppress(Exception): pass",
    ],
)
def test_every_spelling_of_a_broad_except_is_counted(text):
    assert len(list(sizes.broad_excepts(Path("x.py"), ast.parse(text)))) == 1


def test_narrow_excepts_are_not_counted():
    text = "try: pass\nexcept (OSError, ValueError): pass"
    assert list(sizes.broad_excepts(Path("x.py"), ast.parse(text))) == []


def test_the_environment_is_read_in_settings_only():
    tree = ast.parse("import os\nos.environ['A']")
    assert list(sizes.environment_reads(Path("crawler/settings.py"), tree)) == []
    assert len(list(sizes.environment_reads(Path("crawler/loop.py"), tree))) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import subprocess; subprocess.run(['true'])", "calls subprocess.Popen"),
        ("import socket; socket.socket().bind(('127.0.0.1', 0))", "calls socket.bind"),
        ("open('left.txt', 'w').close()", "writes left.txt"),
        ("open(__file__.replace('busy.py', 'rules.toml')).close()", "reads facts/rules.toml"),
        ("import a_module_that_is_not_there", "ModuleNotFoundError"),
    ],
)
def test_an_import_that_works_is_named(repository, text, said):
    (repository / "facts" / "rules.toml").touch()
    (repository / "facts" / "busy.py").write_text(text)
    found = imports.problems(["facts.busy"], str(repository))
    assert any(said in line for line in found)


def test_an_import_that_only_defines_is_fine(repository):
    (repository / "facts" / "calm.py").write_text("import json\nimport pathlib\nX = 1\n")
    assert imports.problems(["facts.calm"], str(repository)) == []


@pytest.mark.parametrize(
    "line",
    [
        "see https" + "://registry.company.io/simple",
        "postgresql" + "://me:secret@db.company.io/facts",
        "it lies in " + "/home/" + "anna/harvester",
        "it lies in " + "/root" + "/.cache",
    ],
)
def test_hosts_and_machine_paths_are_found(line):
    assert len(list(committed.wrong_lines(Path("README.md"), line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "postgresql://user:secret@localhost:5432/facts",
        "http://127.0.0.1:8080/healthz",
        "https://www.w3.org/2000/svg",
        "postgresql://harvester@db.example.com/facts",
        "docs/root/x and a/home/b",
    ],
)
def test_reserved_names_and_standards_are_fine(line):
    assert list(committed.wrong_lines(Path("README.md"), line)) == []


def test_a_lock_file_does_not_say_where_to_download_from():
    assert list(committed.wrong_lines(Path("requirements.txt"), "--index-url x\nrich==1"))
