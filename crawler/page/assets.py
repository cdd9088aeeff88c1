"""The files of the page: ours, and d3 out of the installed package that carries it. Read once, when serving starts.

d3 7 comes as a file of `gravis`: the one package found that carries a graph drawing library of today in a small wheel
(0.7 MB) and needs nothing else. pyvis brings IPython along, dash-cytoscape Dash, ipysigma Jupyter widgets, mpld3
matplotlib; and d3 draws SVG, so that nodes take focus, have names for screen readers, and need no inline style.
No code of that package is run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Final

from facts.errors import Unavailable

D3_PACKAGE: Final = "gravis"
D3_FILE: Final = "gravis/_internal/plotting/third_party/d3/d3.v7.min.def.js"
PAGE: Final = "index.html"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One file as it is sent. ``tag``: an ETag, so that a browser asks again and is told that nothing changed."""

    content: bytes
    media_type: str
    tag: str


def read_assets() -> dict[str, Asset]:
    """Every file of the page by its name; :raises Unavailable: the package that carries d3 is not there."""
    folder = resources.files("crawler.page").joinpath("files")
    found = {entry.name: _asset(entry.name, entry.read_bytes()) for entry in folder.iterdir() if entry.is_file()}
    return found | {"d3.js": _asset("d3.js", _d3())}


def _asset(name: str, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()
    return Asset(content=content, media_type=_TYPES[PurePosixPath(name).suffix], tag=f'"{digest[:32]}"')


def _d3() -> bytes:
    try:
        return Path(str(distribution(D3_PACKAGE).locate_file(D3_FILE))).read_bytes()
    except (PackageNotFoundError, FileNotFoundError) as error:
        raise Unavailable(
            f"the web page draws with d3, which comes in the package {D3_PACKAGE} (0.1), and that is missing or has no "
            f"{D3_FILE}; `pip install 'gravis~=0.1.0'`"
        ) from error
