"""Text out of bytes, and sections out of text: what `documents` and `mbox` have in common. Pure."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_META: Final = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_HEAD: Final = 4_096
_BLANK_LINES: Final = re.compile(r"\n[^\S\n]*\n\s*")
_ATX: Final = re.compile(r"(#{1,6})[ \t]+([^\n]*)")
_CLOSING_HASHES: Final = re.compile(r"[ \t]+#+[ \t]*$")
_SETEXT: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_MD_LINK: Final = re.compile(r"\[[^\]\[\n]{0,500}\]\(<?([^)\s>]{1,500})")
_FRONT_TITLE: Final = re.compile(r"title:\s*(.+)")
_HEADINGS: Final = frozenset(f"h{level}" for level in range(1, 7))
_SILENT: Final = frozenset({"script", "style", "template", "noscript", "title"})
_BLOCKS: Final = _HEADINGS | frozenset({
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "form",
    "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "th", "tr", "ul",
})  # fmt: skip
SHORTEST_PIECE: Final = 1_500
LONGEST_PIECE: Final = 6_000
"""Characters. A section up to the longest stays whole; a longer one is cut between paragraphs."""


@dataclass(slots=True, kw_only=True)
class Section:
    """``headings``: from the outermost to its own, the document's title left out; empty: what stands before them."""

    headings: tuple[str, ...] = ()
    paragraphs: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    title: str | None
    sections: list[Section]


def decode(data: bytes, *, charset: str | None = None) -> str:
    """By byte order mark, then UTF-8, then the charset that it claims, then Windows-1252; never fails."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    claimed = charset or _claimed_charset(data)
    for encoding in ("utf-8", claimed or "cp1252", "cp1252"):
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeError):
            continue
    return data.decode("latin-1")


def is_binary(head: bytes) -> bool:
    """NUL is in no text but UTF-16 and UTF-32, which say so with a mark."""
    return b"\0" in head and not head.startswith(tuple(mark for mark, _ in _BOMS))


def _claimed_charset(data: bytes) -> str | None:
    found = _META.search(data[:_HEAD])
    return found[1].decode("ascii") if found else None


def clean(text: str) -> str:
    """What can be stored: no NUL, one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


class _Outline:
    """Collects sections in order, and knows which heading stands under which."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.sections = [Section()]
        self._open: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:
        text = " ".join(text.split())
        if level == 1 and self.title is None:
            self.title = text or None
            self._open = []
        else:
            self._open = [*(one for one in self._open if one[0] < level), (level, text)]
        self.sections.append(Section(headings=tuple(one for _, one in self._open)))

    def paragraph(self, text: str) -> None:
        if text := text.strip():
            self.sections[-1].paragraphs.append(text)

    def link(self, target: str) -> None:
        links = self.sections[-1].links
        if target and not target.startswith("#") and target not in links:
            links.append(target)

    def prose(self) -> Prose:
        return Prose(title=self.title, sections=[one for one in self.sections if one.paragraphs or one.headings])


def read_text(text: str) -> Prose:
    """Plain text: one section of paragraphs."""
    outline = _Outline()
    for paragraph in _BLANK_LINES.split(clean(text)):
        outline.paragraph(paragraph)
    return outline.prose()


def read_markdown(text: str) -> Prose:
    """Headings of both kinds, outside fenced code; the title of a front matter wins."""
    front, lines = _front_matter(clean(text).split("\n"))
    reader = _MarkdownReader(front)
    for line in lines:
        reader.line(line)
    reader.flush()
    return reader.outline.prose()


class _MarkdownReader:
    def __init__(self, title: str | None) -> None:
        self.outline = _Outline()
        self.outline.title = title
        self._pending: list[str] = []
        self._fence: str | None = None

    def line(self, line: str) -> None:
        mark = _FENCE.match(line)
        if self._fence is not None:
            self._pending.append(line)
            if mark and mark[1].startswith(self._fence):
                self._fence = None
        elif mark:
            self._fence = mark[1]
            self._pending.append(line)
        elif atx := _ATX.fullmatch(line):
            self.flush()
            self.outline.heading(len(atx[1]), _CLOSING_HASHES.sub("", atx[2]))
        elif (rule := _SETEXT.fullmatch(line)) and len(self._pending) == 1:
            self.outline.heading(1 if rule[1].startswith("=") else 2, self._pending.pop())
        elif line.strip():
            self._pending.append(line)
        else:
            self.flush()

    def flush(self) -> None:
        block = "\n".join(self._pending)
        self._pending.clear()
        self.outline.paragraph(block)
        for target in _MD_LINK.findall(block):
            self.outline.link(target)


def _front_matter(lines: list[str]) -> tuple[str | None, list[str]]:
    if not lines or lines[0].strip() != "---" or "---" not in (rest := [line.strip() for line in lines[1:200]]):
        return None, lines
    end = rest.index("---") + 1
    titles = [found[1].strip("\"' ") for line in lines[1:end] if (found := _FRONT_TITLE.match(line))]
    return (titles[0] if titles else None), lines[end + 1 :]


class _HtmlReader(HTMLParser):
    """Visible text in reading order, event by event: deep nesting costs nothing, unclosed tags are no error."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.outline = _Outline()
        self.page_title = ""
        self._buffer: list[str] = []
        self._silent: str | None = None
        self._level: int | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.flush()
        if tag in _HEADINGS:
            self._level = int(tag[1])
        elif tag in _SILENT:
            self._silent = tag
        elif tag == "a":
            self.outline.link(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = None
        elif tag in _BLOCKS:
            self.flush()

    def handle_data(self, data: str) -> None:
        if self._silent is None:
            self._buffer.append(data)
        elif self._silent == "title":
            self.page_title += data

    def flush(self) -> None:
        text = " ".join("".join(self._buffer).split())
        self._buffer.clear()
        if self._level is not None and text:
            self.outline.heading(self._level, text)
        elif text:
            self.outline.paragraph(text)
        self._level = None


def read_html(text: str) -> Prose:
    """Visible text; headings make sections; the title is the first heading's, else the page's."""
    reader = _HtmlReader()
    reader.feed(clean(text))
    reader.close()
    reader.flush()
    if reader.outline.title is None:
        reader.outline.title = " ".join(reader.page_title.split()) or None
    return reader.outline.prose()


def html_to_text(html: str) -> str:
    sections = read_html(html).sections
    return "\n\n".join(text for one in sections for text in (*one.headings[-1:], *one.paragraphs))


def pieces(paragraphs: Iterable[str]) -> Iterator[str]:
    """A section in pieces of bounded size, cut where the paragraphs themselves say so (a digest of the paragraph), so
    that an edit moves the cuts around it at most, not those of the whole section.
    """
    held: list[str] = []
    size = 0
    for paragraph in _short_enough(paragraphs):
        if held and size + len(paragraph) > LONGEST_PIECE:
            yield "\n\n".join(held)
            held, size = [], 0
        held.append(paragraph)
        size += len(paragraph)
        if size >= SHORTEST_PIECE and hashlib.sha256(paragraph.encode("utf-8", "replace")).digest()[0] % 4 == 0:
            yield "\n\n".join(held)
            held, size = [], 0
    if held:
        yield "\n\n".join(held)


def _short_enough(paragraphs: Iterable[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        for at in range(0, len(paragraph), LONGEST_PIECE):
            yield paragraph[at : at + LONGEST_PIECE]
