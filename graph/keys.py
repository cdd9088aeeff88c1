"""Identity: the pure rules that turn names into keys, and keys into the same keys for everyone.

Two spellings are one node exactly when they give one key; nothing here reads or writes anything. A key is
``<kind>:<name>``; a *form* is the name part that a name or an alias would give.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from facts.errors import InvalidArgument

Identity = Literal["normal", "exact"]

KIND_BYTES = 64
NAME_BYTES = 512
PREDICATE_BYTES = 256
NAMESPACE_BYTES = 256
ALIASES_PER_MENTION = 64
EVIDENCE_PER_CALL = 256

_ASCII_TOKEN = re.compile(r"(?:[a-z0-9]+[+#]*)+")
_STOP_WORDS = frozenset(
    "a an the this that these those my your his her its our their am is are be being".split()  # noqa: SIM905 - a sentence
)
_LOSE_ES = ("sses", "shes", "ches", "xes", "zzes")
_KEEP_S = ("ss", "us", "is")
_FOLD_OVER = 3


def _is_word(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] in "LM" or category == "Nd"


def _without_latin_marks(text: str) -> str:
    """Drop combining marks that follow a Latin letter; other scripts need theirs."""
    kept: list[str] = []
    after_latin = False
    for char in text:
        if unicodedata.category(char)[0] == "M":
            if after_latin:
                continue
        else:
            after_latin = unicodedata.name(char, "").startswith("LATIN ")
        kept.append(char)
    return "".join(kept)


def _split_words(text: str) -> list[str]:
    tokens: list[str] = []
    current = ""
    for char in text:
        if _is_word(char) or (char in "+#" and current):
            current += char
        elif current:
            tokens.append(current)
            current = ""
    return [*tokens, current] if current else tokens


def tokens(text: str) -> list[str]:
    """The comparable words of a text: folded, lower case, split at everything that is no letter, mark or digit."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    folded = unicodedata.normalize("NFC", _without_latin_marks(unicodedata.normalize("NFKD", text)))
    return _split_words(folded.lower())


@lru_cache(maxsize=65_536)
def form(name: str, identity: Identity = "normal") -> str:
    """The name part of the key that ``name`` would give. Blank names raise InvalidArgument('name')."""
    trimmed = name.strip()
    if not trimmed:
        raise InvalidArgument("name is blank: give the thing a name", argument="name")
    exact = unicodedata.normalize("NFC", trimmed)
    if identity == "exact":
        return exact
    words = tokens(trimmed)
    if words:
        return "-".join(words)
    return "~" + hashlib.sha256(exact.encode()).hexdigest()[:12]


@lru_cache(maxsize=4_096)
def kind_key(kind: str) -> str:
    """The kind part of a key: its words joined by ``_``. A kind without words raises InvalidArgument('kind')."""
    words = tokens(kind)
    if not words:
        raise InvalidArgument(f"kind {kind!r} has no letters or digits", argument="kind")
    return "_".join(words)


def node_key(kind: str, name: str, identity: Identity = "normal") -> str:
    """``<kind>:<name>``, e.g. ``ship:aurora``; with identity ``exact`` the name stays as written (NFC, trimmed)."""
    return f"{kind_key(kind)}:{form(name, identity)}"


def split_key(key: str) -> tuple[str, str]:
    """Kind and name part of a key given by a caller; a text that no name could have given is refused."""
    kind, colon, name = key.partition(":")
    if not kind or not colon or not name:
        raise InvalidArgument(f"node key {key!r} must look like kind:name", argument="nodeKey")
    if "_".join(tokens(kind)) != kind:
        raise InvalidArgument(f"node key {key!r}: its kind part is not in normal form", argument="nodeKey")
    return kind, name


def _folded(word: str) -> str:
    if len(word) <= _FOLD_OVER:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(_LOSE_ES):
        return word[:-2]
    if word.endswith(_KEEP_S) or not word.endswith("s"):
        return word
    return word[:-1]


@lru_cache(maxsize=16_384)
def predicate_key(predicate: str) -> str:
    """The comparable form of a predicate: ``Depends on the`` -> ``depend_on``. Prepositions stay, direction matters."""
    words = [part for token in tokens(predicate) for part in re.split(r"[+#]+", token) if part]
    if not words:
        raise InvalidArgument(f"predicate {predicate!r} has no letters or digits", argument="predicate")
    telling = [_folded(word) for word in words if word not in _STOP_WORDS]
    return "_".join(telling or words)


def namespace_of(namespace: str | None) -> str | None:
    """The stored form of a namespace; blank and ``default`` mean none."""
    if namespace is None:
        return None
    bare = namespace.strip().strip("/")
    return None if not bare.strip() or bare == "default" else bare


def in_namespace(namespace: str, wanted: str) -> bool:
    """Whether a namespace is the wanted one or lies below it (``corpus/acme`` covers ``corpus/acme/x``)."""
    return namespace == wanted or namespace.startswith(f"{wanted}/")


def merge_aliases(existing: Iterable[str], incoming: Iterable[str]) -> list[str]:
    """One spelling a form, the first one seen, in order; blank ones are dropped."""
    seen: dict[str, str] = {}
    for alias in (*existing, *incoming):
        trimmed = alias.strip()
        if trimmed:
            seen.setdefault(form(trimmed), trimmed)
    return list(seen.values())
