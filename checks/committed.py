"""Committed files name no hosts but those that belong to nobody or to a standard, and no paths of one machine."""

import re
from collections.abc import Iterator
from pathlib import Path

from checks.tree import ROOT, files, finish

URL = re.compile(r"\b[a-z][a-z0-9+]*://(?:[^\s/@\"'`<>]*@)?(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+)")
ALLOWED_HOSTS = re.compile(
    r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]"
    r"|(?:.+\.)?(?:example|test|invalid)|(?:.+\.)?example\.(?:com|org|net)"  # reserved names
    r"|www\.w3\.org|json-schema\.org|www\.apache\.org"  # name spaces of standards, the licence
    r"|\w|host|db|postgres|user|harvester"  # placeholders in the pattern of a URL
    r"|[.-]*"
)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+|tmp/(?:desk|tool))/")
LOCK_OPTION = re.compile(r"^\s*(?:--index-url|--extra-index-url|--find-links|-i|-f)\b|\bfile:", re.MULTILINE)


def wrong_lines(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        for host in URL.findall(line):
            if not ALLOWED_HOSTS.fullmatch(host):
                yield f"{path}:{number}: names the host {host}"
        if found := MACHINE_PATH.search(line):
            yield f"{path}:{number}: names a path of one machine, {found[0]}"
    if path.name.startswith("requirements") and LOCK_OPTION.search(text):
        yield f"{path}: says where to download from; that is the business of who installs"


def problems(root: Path = ROOT) -> list[str]:
    found: list[str] = []
    for path in files(root=root):
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            continue  # a picture
        found += wrong_lines(path, text)
    return found


if __name__ == "__main__":
    finish("committed files", problems())
