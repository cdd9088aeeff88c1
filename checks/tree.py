"""The files of this repository, as git sees them (new ones included, ignored ones not)."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("facts", "graph", "crawler")


def files(*suffixes: str, root: Path = ROOT) -> list[Path]:
    """Every file that is or would be committed, relative to the root, in order."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    paths = sorted({Path(name) for name in listed if name})
    return [path for path in paths if (not suffixes or path.suffix in suffixes) and (root / path).is_file()]


def modules(root: Path = ROOT) -> list[str]:
    """Dotted names of the modules of the three packages."""
    found = []
    for path in files(".py", root=root):
        if path.parts[0] in PACKAGES and path.name != "__main__.py":
            parts = path.with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def finish(what: str, problems: Sequence[str]) -> None:
    """Say the verdict and leave with it."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} to mend" if problems else f"{what}: good")
    sys.exit(1 if problems else 0)
