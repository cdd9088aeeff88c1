r"""Key patterns: `*` and `%` are any run of characters, `\` makes the next `* % _ \` literal, all else is literal."""

from __future__ import annotations

from dataclasses import dataclass

_WILD = frozenset("*%")
_ESCAPABLE = frozenset("*%_\\")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: the literal runs between its wildcards, so n wildcards give n + 1 runs."""

    runs: tuple[str, ...]

    @property
    def head(self) -> str:
        """What every match starts with."""
        return self.runs[0]

    @property
    def is_literal(self) -> bool:
        return len(self.runs) == 1

    def like(self) -> str:
        """The same as a LIKE pattern, whose escape is a backslash."""
        return "%".join(escape_like(run) for run in self.runs)

    def may_match_below(self, prefix: str) -> bool:
        """Whether some key that starts with `prefix` matches: decided on the parsed form, so escapes fool nobody."""
        if self.head.startswith(prefix):
            return True
        return not self.is_literal and prefix.startswith(self.head)


def parse_pattern(text: str) -> Pattern:
    """The one reader of the pattern language."""
    runs: list[list[str]] = [[]]
    position = 0
    while position < len(text):
        character = text[position]
        following = text[position + 1 : position + 2]
        if character == "\\" and following in _ESCAPABLE and following:
            runs[-1].append(following)
            position += 1
        elif character in _WILD:
            runs.append([])
        else:
            runs[-1].append(character)
        position += 1
    joined = ["".join(run) for run in runs]
    # A run of wildcards is one wildcard.
    inner = [run for run in joined[1:-1] if run]
    return Pattern((joined[0], *inner, joined[-1]) if len(joined) > 1 else (joined[0],))


def escape_like(text: str) -> str:
    """`text` as a LIKE pattern that matches nothing but itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def below(prefix: str) -> str:
    """The LIKE pattern of everything that starts with the literal `prefix`."""
    return escape_like(prefix) + "%"
