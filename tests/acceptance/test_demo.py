import re
import subprocess

import pytest


@pytest.fixture
def checkout(folder):
    """A repository with two commits."""
    for command in (
        ["init", "--quiet"],
        ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--allow-empty", "-m", "one"],
        [
            "-c",
            "user.name=Grace",
            "-c",
            "user.email=grace@example.com",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "two",
        ],
    ):
        subprocess.run(["git", "-C", folder, *command], check=True)
    return folder


def test_the_demo_shows_the_promise_twice_in_a_row_and_leaves_a_picture(harvester, checkout):
    for _ in range(2):
        said = harvester("demo").stdout
        assert "2 facts from git" in said
        assert said.count("equals the fold of the live facts") == 2
        assert "The promise holds" in said
        verdict = re.search(r"(\d+) edges gone, (\d+) weaker", said)
        assert verdict is not None
        assert int(verdict[1]) >= 2
        assert int(verdict[2]) == 1
    page = (checkout / ".harvester" / "demo.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "package:" in page


def test_the_demo_runs_outside_a_checkout_and_says_so(harvester):
    assert "no history" in harvester("demo").stdout
