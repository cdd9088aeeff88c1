"""A folder of documents: one fact a document, ``documents/<name>/<path>``, and one a section, ``...#<headings>``.

A section's key is made of its headings and its value of its own text, so that an edit changes the facts of the sections
that it touches and no others.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from crawler.errors import SourceFailed
from crawler.sources.contract import KnownKeys, Skipped, SourceFact, SourceItem, Unreadable
from crawler.sources.keys import bounded_key, source_prefix
from crawler.sources.prose import Prose, decode, is_binary, pieces, read_html, read_markdown, read_text
from graph.keys import NAME_BYTES, form

MEBIBYTE: Final = 1024 * 1024
LARGEST_MIB: Final = 16
_MOST_LINKS: Final = 500
_HEAD: Final = 8_192
_READERS: Final[dict[str, Callable[[str], Prose]]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_text,
    ".text": read_text,
    ".html": read_html,
    ".htm": read_html,
}


class Documents:
    """Symbolic links are never followed, so that nothing outside the folder is read and no cycle is walked."""

    name: Final = "documents"

    def __init__(self, folder: Path, *, name: str | None = None, largest_mib: int = LARGEST_MIB) -> None:
        if not folder.is_dir():
            raise SourceFailed(f"{folder} is not a folder", argument="source")
        self._folder = folder
        self._largest = largest_mib * MEBIBYTE
        called = name or folder.resolve().name
        self.prefix = source_prefix(self.name, called)
        self.description = f"The documents of the folder {called}: their sections, topics and links."

    def size(self) -> int | None:
        return None

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:  # noqa: ARG002 - for sources that skip
        """Folder by folder, in the order of names."""
        waiting = [""]
        while waiting:
            inside = waiting.pop()
            try:
                with os.scandir(self._folder / inside) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                yield self._unreadable(f"{inside}/", f"cannot be listed: {error.strerror}")
                continue
            folders = []
            for entry in entries:
                path = posixpath.join(inside, entry.name)
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    folders.append(path)
                else:
                    yield from self._entry(entry, path)
            waiting += reversed(folders)

    def _entry(self, entry: os.DirEntry[str], path: str) -> Iterator[SourceItem]:
        reason = self._reason_to_skip(entry)
        if reason is not None:
            yield self._skipped(path, reason)
        elif not _is_text(path):
            yield Unreadable(where=ascii(path), reason="its name is not UTF-8", keeps="")
        else:
            yield from self._file(path)

    def _reason_to_skip(self, entry: os.DirEntry[str]) -> str | None:
        if entry.name.startswith("."):
            return "hidden"
        if entry.is_symlink():
            return "symbolic link"
        if not entry.is_file(follow_symlinks=False):
            return "not a regular file"
        return None if _suffix(entry.name) in _READERS else "not md, txt or html"

    def _file(self, path: str) -> Iterator[SourceItem]:
        try:
            data = self._read(path)
        except OSError as error:
            yield self._unreadable(path, f"cannot be read: {error.strerror}")
            return
        if isinstance(data, str):
            yield self._skipped(path, data, keeps=True)
            return
        prose = _READERS[_suffix(path)](decode(data))
        yield from self._facts(path, prose)

    def _read(self, path: str) -> bytes | str:
        """The file's bytes, or why it is passed over; what turned into a link or a pipe meanwhile is not opened."""
        opened = os.open(self._folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(opened, "rb") as file:  # noqa: PTH123 - a descriptor
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return "not a regular file"
            data = file.read(self._largest + 1)
        if len(data) > self._largest:
            return "too large"
        return "binary" if is_binary(data[:_HEAD]) else data

    def _facts(self, path: str, prose: Prose) -> Iterator[SourceFact]:
        key = bounded_key(self.prefix + path)
        title = _short(prose.title or Path(path).stem)
        about = {"document": path, "title": title, "format": _suffix(path)[1:]}
        yield SourceFact(key=key, value=about, tags=("documents",))
        taken: Counter[str] = Counter()
        for section in prose.sections:
            slug = "/".join(form(heading) for heading in section.headings if heading)
            taken[slug] += 1
            place = f"{slug}~{taken[slug]}" if taken[slug] > 1 else slug
            links = sorted(_links(path, section.links))
            for number, text in enumerate(list(pieces(section.paragraphs)) or [""], 1):
                value: dict[str, Any] = {
                    "document": path,
                    "section": f"{path}#{place}",
                    "heading": _short(section.headings[-1]) if section.headings else None,
                    "headings": list(section.headings),
                    "text": text,
                    "links": links if number == 1 else [],
                }
                where = place if number == 1 else f"{place}.{number}"
                yield SourceFact(key=bounded_key(f"{self.prefix}{path}#{where}"), value=value, tags=("documents",))

    def _skipped(self, path: str, reason: str, *, keeps: bool = False) -> Skipped:
        return Skipped(where=_shown(path), reason=reason, keeps=self.prefix + path if keeps else None)

    def _unreadable(self, path: str, reason: str) -> Unreadable:
        return Unreadable(where=_shown(path), reason=reason, keeps=self.prefix + path.lstrip("/"))


def _links(path: str, targets: list[str]) -> Iterator[str]:
    """Addresses as they are, links within the folder as its paths; what leads out of the folder is left out."""
    for target in dict.fromkeys(targets[:_MOST_LINKS]):
        try:
            parts = urlsplit(target)
        except ValueError:
            continue
        if parts.scheme in {"http", "https"} and parts.netloc:
            found = target
        elif parts.scheme or parts.netloc or not parts.path:
            continue
        else:
            found = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path)))
        if not found.startswith(("../", "/")) and found not in {".", ".."} and len(found.encode()) <= NAME_BYTES:
            yield found


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()


def _short(text: str) -> str:
    """What can be a node's name: four bytes a letter fit."""
    return text[: NAME_BYTES // 4]


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return path if path.isprintable() and _is_text(path) else ascii(path)
