"""Lines of a file that nobody vouches for: bounded memory, however long a line is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

LONGEST_LINE: Final = 4 * 1024 * 1024
"""Bytes. Longer lines are passed over; a fact's value is at most 1 MiB unless an operator raised that."""


def bounded_lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Each line with its end; None stands for one that is longer than `LONGEST_LINE`."""
    while line := file.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass
        yield None
