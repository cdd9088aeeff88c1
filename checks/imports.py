"""Importing a module does no work: no socket, no process, no thread, nothing written, no file of ours read.

Each module of the three packages is imported in one fresh interpreter under an audit hook; what a library does while it
is imported by us counts only where it would surprise: sockets, processes, files written.
"""

import os
import subprocess
import sys
import time

from checks.tree import ROOT, finish, modules

FORBIDDEN = (
    "socket.connect",
    "socket.bind",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.mkdir",
    "os.remove",
)
SECONDS = 20.0
PROGRAM = """
import sys
from checks.imports import watch_imports
print(*watch_imports(sys.argv[2:], sys.argv[1]), sep="\\n")
"""


class Watch:
    """The audit hook: notes what the module that is being imported does."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.module = ""
        self.noted: list[str] = []

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        if not self.module:
            return
        if event in FORBIDDEN:
            self.noted.append(f"importing {self.module} calls {event}{args[:1]!r}")
        elif event == "open":
            self._opened(*args[:3])

    def _opened(self, path: object, mode: object, flags: object) -> None:
        name = os.fsdecode(path) if isinstance(path, str | bytes) else ""
        writes = isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if writes and ".pyc" not in name and name != os.devnull:
            self.noted.append(f"importing {self.module} writes {name} ({mode})")
        elif name.startswith(self.root) and not name.endswith((".py", ".pyc")) and "/.venv/" not in name:
            self.noted.append(f"importing {self.module} reads {os.path.relpath(name, self.root)}")


def watch_imports(names: list[str], root: str) -> list[str]:
    """Runs inside the fresh interpreter."""
    watch = Watch(root)
    sys.addaudithook(watch)
    for name in names:
        watch.module = name
        started = time.monotonic()
        __import__(name)
        watch.module = ""
        if (spent := time.monotonic() - started) > SECONDS:
            watch.noted.append(f"importing {name} takes {spent:.1f} s")
    return watch.noted


def problems(names: list[str], root: str = str(ROOT)) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HARVESTER_")}
    environment["PYTHONPATH"] = os.pathsep.join([root, str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, root, *names],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=root,
    )
    if done.returncode:
        return [done.stderr.strip()]
    return [line for line in done.stdout.splitlines() if line]


if __name__ == "__main__":
    finish("imports", problems(modules()))
