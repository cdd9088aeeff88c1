"""The command as a person starts it: a process of its own, in a folder of its own, with a clean environment."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HARVESTER = Path(sys.executable).with_name("harvester")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def harvester(folder: Path) -> Run:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HARVESTER_", "GIT_"))}
    environment |= {"COLUMNS": "120", "NO_COLOR": "1"}

    def run(
        *arguments: str, given: str | None = None, check: bool = True, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [HARVESTER, *arguments],
            input=given,
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment | extra,
            timeout=170,
            check=False,
        )
        if check and done.returncode:
            pytest.fail(f"harvester {' '.join(arguments)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    return run
