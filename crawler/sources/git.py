"""A git repository's history: one fact a commit, under ``git/<repository>/<commit>``. Addresses are never read."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from crawler.errors import SourceFailed
from crawler.sources.contract import KnownKeys, SourceFact, SourceItem, Unchanged

_BATCH: Final = 1_000
_SHORT: Final = 12
_RECORD: Final = "\x1e"
# Hash, parents, author's name, author's date (ISO, strict), subject; then NUL-separated changes (-z).
_FORMAT: Final = f"{_RECORD}%H%x00%P%x00%an%x00%aI%x00%s%x00"
_HEADER_FIELDS: Final = 5
_CHANGES: Final = {"A": "added", "M": "changed", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}
_MOST_FILES: Final = 1_000


class GitHistory:
    """Commits never change, so those already stored are not read again: an interrupted ingest goes on where it was."""

    name: Final = "git"

    def __init__(self, folder: Path, *, repository: str | None = None, revision: str = "HEAD") -> None:
        self._folder = folder
        self._revision = revision
        top = self._git("rev-parse", "--show-toplevel").strip() or self._git("rev-parse", "--absolute-git-dir").strip()
        self.repository = (repository or Path(top).name.removesuffix(".git")).replace("/", "-")
        self.prefix = f"git/{self.repository}/"
        self.description = (
            f"The history of the repository {self.repository}: commits, their authors, files and parents."
        )

    def size(self) -> int | None:
        return int(self._git("rev-list", "--count", self._revision, "--"))

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:
        """Oldest first."""
        hashes = self._lines("rev-list", "--reverse", self._revision, "--")
        while batch := list(islice(hashes, _BATCH)):
            keys = {self.prefix + one: one for one in batch}
            stored = known(list(keys))
            missing = [one for key, one in keys.items() if key not in stored]
            facts = {fact.key: fact for fact in self._read(missing)} if missing else {}
            for key in keys:
                yield facts.get(key) or Unchanged(key=key)

    def _read(self, hashes: Sequence[str]) -> Iterator[SourceFact]:
        text = self._git(
            "log", "--stdin", "--no-walk=unsorted", "-z", "--raw", "--no-abbrev", "-M", f"--format={_FORMAT}",
            given="\n".join(hashes),
        )  # fmt: skip
        for record in text.split(_RECORD)[1:]:
            value = read_record(record, self.repository)
            yield SourceFact(key=self.prefix + value["commit"], value=value, tags=("git",))

    def _command(self, arguments: Iterable[str]) -> list[str]:
        plain = ("-c", "core.quotePath=false", "-c", "log.showSignature=false")
        return ["git", "-C", str(self._folder), *plain, *arguments]

    def _git(self, *arguments: str, given: str | None = None) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - fixed program, no shell; the revision is an argument of its own
                self._command(arguments),
                input=given,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=True,
            )
        except FileNotFoundError as error:
            raise SourceFailed("git is not installed, so no history can be read", argument="source") from error
        except subprocess.CalledProcessError as error:
            said = (error.stderr or "").strip().splitlines() or ["it said nothing"]
            raise SourceFailed(f"git cannot read {self._folder}: {said[0]}", argument="source") from error
        return done.stdout

    def _lines(self, *arguments: str) -> Iterator[str]:
        with subprocess.Popen(  # noqa: S603 - as above
            self._command(arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="ascii"
        ) as process:
            if process.stdout is None:
                raise SourceFailed("git gave no output", argument="source")
            for line in process.stdout:
                yield line.strip()
        if process.returncode:
            raise SourceFailed(f"git rev-list ended with {process.returncode}", argument="source")


def read_record(record: str, repository: str) -> dict[str, Any]:
    """One commit of the format above. Very large commits keep their first thousand files and the true count."""
    fields = record.split("\0")
    commit, parents, author, when, subject = fields[:_HEADER_FIELDS]
    files = list(_files(fields[_HEADER_FIELDS:]))
    return {
        "repository": repository,
        "commit": commit,
        "id": commit[:_SHORT],
        "parents": [parent[:_SHORT] for parent in parents.split()],
        "author": author,
        "date": when,
        "subject": subject,
        "files": files[:_MOST_FILES],
        "file_count": len(files),
    }


def _files(fields: Iterable[str]) -> Iterator[dict[str, str]]:
    rest = iter(fields)
    for field in rest:
        head = field.lstrip("\n")
        if not head.startswith(":"):
            continue
        letter = head.split(" ")[-1][:1]
        path = next(rest, "")
        read = {"change": _CHANGES.get(letter, "changed")}
        if letter in "RC":
            read |= {"path": next(rest, ""), "from": path}
        else:
            read |= {"path": path}
        yield read
