"""A mail archive in mbox form: one fact a message, under ``mbox/<name>/<message id>``."""

from __future__ import annotations

import email
import hashlib
import re
from collections.abc import Iterator
from datetime import UTC
from email.errors import HeaderParseError, MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from crawler.errors import SourceFailed
from crawler.sources.contract import KnownKeys, Skipped, SourceFact, SourceItem, Unreadable
from crawler.sources.keys import bounded_key, source_prefix
from crawler.sources.lines import bounded_lines
from crawler.sources.prose import clean, decode, html_to_text

LARGEST_MESSAGE: Final = 32 * 1024 * 1024
_LONGEST_TEXT: Final = 200_000
_LONGEST_NAME: Final = 120
_MOST_NAMES: Final = 200
_MOST_PARTS: Final = 1_000
_QUOTED_FROM: Final = re.compile(rb">+From ")
_MESSAGE_ID: Final = re.compile(r"<([^<>\s]{1,400})>")
_REPLY_MARKS: Final = re.compile(r"^(?:\s*(?:re|fwd?|aw|wg)\s*(?:\[\d+\])?\s*:)+\s*", re.IGNORECASE)


class MailArchive:
    """Attachments are named, never opened. A message without an id is known by a digest of what it says."""

    name: Final = "mbox"

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self._path = path
        called = name or path.stem
        self.prefix = source_prefix(self.name, called)
        self.description = f"The mails of the archive {called}: who wrote what to whom, and what answers what."

    def size(self) -> int | None:
        return None

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:  # noqa: ARG002 - for sources that skip
        seen: set[str] = set()
        try:
            with self._path.open("rb") as file:
                for line, raw in split_messages(file):
                    item = self._message(f"{self._path}:{line}", raw)
                    if isinstance(item, SourceFact) and item.key in seen:
                        item = Skipped(where=f"{self._path}:{line}", reason="message id seen before", keeps=item.key)
                    elif isinstance(item, SourceFact):
                        seen.add(item.key)
                    yield item
        except OSError as error:
            raise SourceFailed(f"cannot read {self._path}: {error.strerror}", argument="source") from error

    def _message(self, where: str, raw: bytes | str) -> SourceItem:
        if isinstance(raw, str):
            return Unreadable(where=where, reason=raw)
        try:
            value = read_message(raw)
        except (ValueError, LookupError, RecursionError, MessageError, TypeError) as error:
            return Unreadable(where=where, reason=f"not a message: {error}")
        return SourceFact(key=bounded_key(self.prefix + value["message_id"]), value=value, tags=("mbox",))


def split_messages(file: BinaryIO) -> Iterator[tuple[int, bytes | str]]:
    """The line where each message starts, and its bytes; a text says why it cannot be had. One message is in memory."""
    held: list[bytes] = []
    size, start, fault, after_blank = 0, 0, None, True
    for number, line in enumerate(bounded_lines(file), 1):
        if after_blank and line is not None and line.startswith(b"From "):
            if start:
                yield start, fault or b"".join(held)
            held, size, start, fault = [], 0, number, None
        elif not start:
            if line is None or line.strip():
                yield number, "not an mbox: it has no line that starts with `From `"
                return
        elif line is None or size + len(line) > LARGEST_MESSAGE:
            held, fault = [], "the message is too large" if line is not None else "a line of it is too long"
        elif fault is None:
            held.append(line[1:] if _QUOTED_FROM.match(line) else line)
            size += len(line)
        after_blank = line is not None and not line.strip()
    if start:
        yield start, fault or b"".join(held)


def read_message(raw: bytes) -> dict[str, Any]:
    """The fact's value. A message with neither sender nor id nor date is none."""
    message = email.message_from_bytes(raw)
    if not any(message[field] for field in ("From", "Message-ID", "Date")):
        raise ValueError("it has no From, Message-ID or Date")
    ids = _MESSAGE_ID.findall(_header(message, "Message-ID"))
    subject = _header(message, "Subject")
    text, attachments = _body(message)
    return {
        "message_id": ids[0] if ids else f"sha256-{hashlib.sha256(raw).hexdigest()[:32]}",
        "from": next(iter(_people(message, "From")), None),
        "to": _people(message, "To"),
        "cc": _people(message, "Cc"),
        "date": _date(message),
        "subject": subject,
        "topic": _REPLY_MARKS.sub("", subject)[:_LONGEST_NAME].strip(),
        "in_reply_to": _MESSAGE_ID.findall(_header(message, "In-Reply-To"))[:1],
        "references": _MESSAGE_ID.findall(_header(message, "References"))[:_MOST_NAMES],
        "text": text[:_LONGEST_TEXT],
        "attachments": attachments[:_MOST_NAMES],
    }


def _header(message: Message, field: str) -> str:
    """A header as one line of text; what cannot be decoded stays as it was sent."""
    raw = message[field]
    if raw is None:
        return ""
    try:
        text = str(make_header(decode_header(raw)))
    except (HeaderParseError, LookupError, ValueError):
        text = str(raw)
    return " ".join(clean(text.encode("utf-8", "replace").decode()).split())


def _people(message: Message, field: str) -> list[dict[str, str]]:
    """Each address once, with a name: the one that is shown, else the address."""
    found: dict[str, dict[str, str]] = {}
    raw = [str(one) for one in message.get_all(field, [])]
    for shown, address in getaddresses(raw)[:_MOST_NAMES]:
        if address:
            name = " ".join(_decoded(shown).split())[:_LONGEST_NAME] or address[:_LONGEST_NAME]
            found.setdefault(address.lower(), {"name": name, "address": address.lower()[:_LONGEST_NAME]})
    return list(found.values())


def _decoded(shown: str) -> str:
    try:
        text = str(make_header(decode_header(shown)))
    except (HeaderParseError, LookupError, ValueError):
        text = shown
    return clean(text.encode("utf-8", "replace").decode())


def _date(message: Message) -> str | None:
    """ISO, in UTC; a date without a zone counts as UTC; None: none that can be read."""
    try:
        when = parsedate_to_datetime(_header(message, "Date"))
        return when.replace(tzinfo=when.tzinfo or UTC).astimezone(UTC).isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _body(message: Message) -> tuple[str, list[str]]:
    """The plain parts, or where there are none the HTML parts as text; and the names of attachments."""
    plain: list[str] = []
    html: list[str] = []
    attachments: list[str] = []
    for number, part in enumerate(message.walk()):
        if number >= _MOST_PARTS or part.is_multipart():
            continue
        name = part.get_filename()
        kind = part.get_content_type()
        if name or part.get_content_disposition() == "attachment":
            attachments.append(_file_name(name, kind))
        elif kind == "text/plain":
            plain.append(_text(part))
        elif kind == "text/html":
            html.append(html_to_text(_text(part)))
        elif part is not message:
            attachments.append(kind)
    return clean("\n\n".join(plain or html)).strip(), attachments


def _text(part: Message) -> str:
    data = part.get_payload(decode=True)
    return decode(data, charset=part.get_content_charset()) if isinstance(data, bytes) else ""


def _file_name(name: str | None, kind: str) -> str:
    """The last part of the name that the sender gave: it is shown, never opened."""
    shown = PurePosixPath(_decoded(name or "").replace("\\", "/")).name
    return shown[:_LONGEST_NAME] or kind
