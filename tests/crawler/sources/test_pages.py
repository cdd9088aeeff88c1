"""The console blocks of docs/sources/ are run as they stand, and what they print is what stands there."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from checks.tree import ROOT
from tests.crawler.conftest import HARVESTER

PAGES = sorted(path for path in (ROOT / "docs" / "sources").glob("*.md") if path.name != "README.md")
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'")
_SPEED = re.compile(r"in [\d.]+ s \([\d,]+ a second\)")


def steps(page: str) -> list[tuple[str, list[str]]]:
    """Each command, with the here-document that belongs to it, and the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    end: str | None = None
    for line in "".join(_BLOCK.findall(page)).splitlines():
        command, expected = found[-1] if found else ("", [])
        if end is not None:
            found[-1] = (f"{command}\n{line}", expected)
            end = None if line == end else end
        elif line.startswith("$ "):
            found.append((line[2:], []))
            mark = _HERE_DOCUMENT.search(line)
            end = mark[1] if mark else None
        else:
            expected.append(line)
    return found


def pattern(expected: list[str]) -> re.Pattern[str]:
    """Lines as they are; a line of three dots is any lines, three dots in a line anything, speeds any speed."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
            continue
        text = re.escape(_SPEED.sub("SPEED", line)).replace(re.escape("..."), ".*").replace("SPEED", _SPEED.pattern)
        parts.append(text + "\n")
    return re.compile("".join(parts))


def run_page(text: str, *, environment: dict[str, str], folder: Path) -> None:
    shell = environment | {"PATH": f"{HARVESTER.parent}:{os.environ['PATH']}"}
    run = steps(text)
    assert sum("harvester" in command for command, _ in run) >= 3
    for command, expected in run:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f"exec 2>&1\n{command}"], cwd=folder, env=shell, stdout=subprocess.PIPE, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert pattern(expected).fullmatch(done.stdout), f"{command}\nprinted\n{done.stdout}\nnot\n{expected}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_shows(page: Path, environment, tmp_path):
    run_page(page.read_text(), environment=environment, folder=tmp_path)
