"""The installed Python distributions: one fact each, under ``python-env/<canonical name>``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from email.utils import getaddresses
from importlib.metadata import Distribution, distributions
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from crawler.sources.contract import KnownKeys, SourceFact, SourceItem, Unreadable

_LONGEST_LICENCE: Final = 120
_UNKNOWN: Final = {"", "unknown", "none", "other"}
_OSI_PREFIX: Final = re.compile(r"^License :: (?:OSI Approved :: )?")
# Between people, not before the legal form of a company ("Projects, LLC").
_NAME_SPLIT: Final = re.compile(r"\s*(?:,(?!\s*(?:LLC|Inc|Ltd|GmbH|Jr)\b)|;|\band\b|&|\n)\s*")


class PythonEnvironment:
    """``path``: folders to look in, as in ``sys.path``; None: those of the running interpreter."""

    name: Final = "python-env"
    description: Final = "The installed Python distributions: what each needs, provides, and who wrote it."

    def __init__(self, *, prefix: str = "python-env/", path: Sequence[str] | None = None) -> None:
        self.prefix = prefix
        self._path = path

    def size(self) -> int | None:
        return len(self._found())

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:  # noqa: ARG002 - for sources that skip
        for key, distribution in sorted(self._found().items()):
            if distribution is None:
                yield Unreadable(where=key, reason="its metadata has no name")
                continue
            yield SourceFact(key=self.prefix + key, value=describe(distribution), tags=("python-env",))

    def _found(self) -> dict[str, Distribution | None]:
        """The first distribution of each name wins, as it does for an import."""
        found: dict[str, Distribution | None] = {}
        for distribution in distributions() if self._path is None else distributions(path=list(self._path)):
            # Broken installations have no metadata at all, whatever its type says.
            about: Any = distribution.metadata
            name = about["Name"] if about is not None else None
            if name:
                found.setdefault(canonicalize_name(name), distribution)
            else:
                found.setdefault(str(getattr(distribution, "_path", "a distribution")), None)
        return found


def describe(distribution: Distribution) -> dict[str, Any]:
    """The fact's value; nothing in it depends on when or where it was read, so that a second ingest changes nothing."""
    about = distribution.metadata
    name = canonicalize_name(about["Name"])
    spelled = str(about["Name"])
    value: dict[str, Any] = {
        "name": name,
        "version": distribution.version,
        "summary": about["Summary"] or "",
        "licence": licence_of(about),
        "authors": authors_of(about),
        "requires": [one for text in distribution.requires or () if (one := read_requirement(text)) is not None],
        "provides": modules_of(distribution),
        "also_called": [spelled] if spelled != name else [],
    }
    return value


def read_requirement(text: str) -> dict[str, Any] | None:
    """``applies``: wanted here and without an extra; an unreadable line is left out."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    marker = requirement.marker
    applies = marker is None or marker.evaluate({"extra": ""})
    read: dict[str, Any] = {"name": canonicalize_name(requirement.name), "applies": applies}
    if str(requirement.specifier):
        read["versions"] = str(requirement.specifier)
    if marker is not None:
        read["when"] = str(marker)
    return read


def licence_of(about: Any) -> str | None:
    """An SPDX expression if there is one, else the classifier, else a short licence field."""
    expression = about["License-Expression"]
    if expression:
        return str(expression)
    for classifier in about.get_all("Classifier") or ():
        if classifier.startswith("License :: "):
            named = _OSI_PREFIX.sub("", classifier)
            if named and named != "OSI Approved":
                return str(named)
    text = (about["License"] or "").strip()
    first = text.splitlines()[0].strip() if text else ""
    return None if first.lower() in _UNKNOWN or len(first) > _LONGEST_LICENCE else first


def authors_of(about: Any) -> list[str]:
    """Names, in order, each once; an address stands in only where no name is given."""
    names: list[str] = []
    for field in ("Author", "Maintainer"):
        names += [part for part in _NAME_SPLIT.split(about[field] or "") if part.lower() not in _UNKNOWN]
    addresses = getaddresses([about[field] or "" for field in ("Author-email", "Maintainer-email")])
    names += [part for shown, _ in addresses for part in _NAME_SPLIT.split(shown)]
    if not names:
        names = [address for _, address in addresses if address]
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))


def modules_of(distribution: Distribution) -> list[str]:
    """Top-level modules and packages that it installs."""
    listed = distribution.read_text("top_level.txt")
    if listed is not None:
        return sorted({line.strip() for line in listed.splitlines() if line.strip().isidentifier()})
    found = set()
    for path in distribution.files or ():
        head = path.parts[0]
        if len(path.parts) == 1:
            head = head.removesuffix(".py") if head.endswith(".py") else ""
        elif path.suffix not in {".py", ".so", ".pyi"}:
            continue
        if head.isidentifier() and head != "__pycache__":
            found.add(head)
    return sorted(found)
