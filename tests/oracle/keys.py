"""Key normalisation, character by character: slow and easy to check against the page."""

import hashlib
import unicodedata
from typing import Literal

Identity = Literal["normal", "exact"]

DROPPED_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "my",
        "your",
        "his",
        "her",
        "its",
        "our",
        "their",
        "am",
        "is",
        "are",
        "be",
        "being",
    ]
)
LOSES_ES = ("sses", "shes", "ches", "xes", "zzes")
KEEPS_S = ("ss", "us", "is")


class KeyRefused(ValueError):
    """The text gives no key: an empty kind, a blank name, a predicate without words, a malformed key."""


def _without_latin_marks(text: str) -> str:
    """Drop the marks that follow a Latin letter (é -> e); marks of every other script stay."""
    kept: list[str] = []
    after_latin = False
    for char in text:
        is_mark = unicodedata.category(char).startswith("M")
        if is_mark and after_latin:
            continue
        if not is_mark:
            after_latin = unicodedata.name(char, "").startswith("LATIN ")
        kept.append(char)
    return "".join(kept)


def _is_word_char(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] in "LM" or category == "Nd"


def tokens(text: str, *, signs: bool = True) -> list[str]:
    """The tokens of a text; with `signs`, runs of + and # stay on the token that they directly follow."""
    folded = unicodedata.normalize("NFC", _without_latin_marks(unicodedata.normalize("NFKD", text))).lower()
    found: list[str] = []
    current = ""
    for char in folded:
        if _is_word_char(char) or (signs and char in "+#" and current):
            current += char
            continue
        if current:
            found.append(current)
        current = ""
    if current:
        found.append(current)
    return found


def kind_key(kind: str) -> str:
    """The kind part of a key."""
    words = tokens(kind)
    if not words:
        raise KeyRefused(f"kind {kind!r} has no letters or digits")
    return "_".join(words)


def form(name: str, identity: Identity = "normal") -> str:
    """The name part of the key that a name or an alias would give."""
    trimmed = name.strip()
    if not trimmed:
        raise KeyRefused("blank name")
    composed = unicodedata.normalize("NFC", trimmed)
    if identity == "exact":
        return composed
    words = tokens(trimmed)
    if words:
        return "-".join(words)
    return "~" + hashlib.sha256(composed.encode()).hexdigest()[:12]


def node_key(kind: str, name: str, identity: Identity = "normal") -> str:
    """`<kind>:<name>`."""
    return f"{kind_key(kind)}:{form(name, identity)}"


def split_key(key: str) -> tuple[str, str]:
    """The kind and name parts of a key that was given as an endpoint."""
    kind, colon, name = key.partition(":")
    if not colon or not name or not kind:
        raise KeyRefused(f"{key!r} is not <kind>:<name>")
    if kind_key(kind) != kind:
        raise KeyRefused(f"the kind of {key!r} is not in its normal form")
    return kind, name


def _fold_ending(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(LOSES_ES):
        return word[:-2]
    return word if word.endswith(KEEPS_S) else word[:-1]


def predicate_key(predicate: str) -> str:
    """Words without fillers, plural and third-person endings folded, joined by `_`."""
    words = tokens(predicate, signs=False)
    if not words:
        raise KeyRefused(f"predicate {predicate!r} has no letters or digits")
    kept = [_fold_ending(word) for word in words if word not in DROPPED_WORDS]
    return "_".join(kept or words)


def namespace(value: str | None) -> str | None:
    """A namespace as it is compared: trimmed, then without slashes at its ends; blank and `default` are none."""
    if value is None:
        return None
    bare = value.strip().strip("/")
    return None if not bare.strip() or bare == "default" else bare
