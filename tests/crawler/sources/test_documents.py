import os

import pytest

from crawler.errors import SourceFailed
from crawler.ingest import Ingest
from crawler.sources.contract import Skipped, SourceFact, Unreadable
from crawler.sources.documents import Documents
from crawler.sources.prose import LONGEST_PIECE, decode, pieces, read_html, read_markdown
from facts.access import UNRESTRICTED
from facts.inputs import ReadFactsQuery

GUIDE = """\
# Harbour guide

How the harbour works.

## Tides

Look at the [table](data/tides.md) first.

```
# no heading
```

## Pilots

A pilot boards at the buoy.
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "docs"
    made.mkdir()
    (made / "guide.md").write_text(GUIDE)
    return made


def read(folder, **more):
    items = list(Documents(folder, **more).items(lambda _: set()))
    return {item.key: item.value for item in items if isinstance(item, SourceFact)}


def left_out(folder, **more):
    items = Documents(folder, **more).items(lambda _: set())
    return {item.where: item.reason for item in items if isinstance(item, Skipped | Unreadable)}


def test_a_document_is_one_fact_and_each_of_its_sections_another(folder):
    facts = read(folder)
    assert facts["documents/docs/guide.md"] == {"document": "guide.md", "title": "Harbour guide", "format": "md"}
    assert list(facts)[1:] == [
        "documents/docs/guide.md#", "documents/docs/guide.md#tides", "documents/docs/guide.md#pilots",
    ]  # fmt: skip
    tides = facts["documents/docs/guide.md#tides"]
    assert (tides["heading"], tides["links"]) == ("Tides", ["data/tides.md"])
    assert "# no heading" in tides["text"]


def test_an_edit_in_one_section_changes_only_its_facts(folder):
    before = read(folder)
    (folder / "guide.md").write_text(GUIDE.replace("at the buoy", "at the pier"))
    after = read(folder)
    assert {key for key in before if before[key] != after[key]} == {"documents/docs/guide.md#pilots"}
    assert before.keys() == after.keys()


def test_a_long_section_is_cut_between_paragraphs_and_an_edit_moves_few_cuts():
    paragraphs = [f"Paragraph {n} " + "word " * 40 for n in range(400)]
    before = list(pieces(paragraphs))
    assert "\n\n".join(before) == "\n\n".join(paragraphs)
    assert max(map(len, before)) <= LONGEST_PIECE + 2 * len(paragraphs)
    paragraphs.insert(3, "Something new.")
    after = list(pieces(paragraphs))
    assert len(set(before) - set(after)) <= 3


def test_the_same_heading_twice_gives_two_sections(folder):
    (folder / "guide.md").write_text("# T\n\n## A\n\none\n\n## A\n\ntwo\n")
    facts = read(folder)
    assert facts["documents/docs/guide.md#a"]["text"] == "one"
    assert facts["documents/docs/guide.md#a~2"]["text"] == "two"


def test_headings_with_lines_under_them_and_front_matter_are_read():
    prose = read_markdown("---\ntitle: The log\n---\nDay one\n=======\nCalm.\n\nNight\n-----\nWind.\n")
    assert prose.title == "The log"
    assert [(one.headings, one.paragraphs) for one in prose.sections] == [
        (("Day one",), ["Calm."]),
        (("Day one", "Night"), ["Wind."]),
    ]


def test_html_gives_what_a_reader_sees_under_its_headings():
    prose = read_html(
        "<html><head><title>Page</title><style>p{}</style></head><body><h1>Ships &amp; boats</h1><p>One<br>two"
        "<script>alert('x < y')</script><h2>Sails</h2><ul><li>Jib<li><a href='main.html'>Main</a></ul>"
    )
    assert prose.title == "Ships & boats"
    assert [(one.headings, one.paragraphs, one.links) for one in prose.sections] == [
        ((), ["One", "two"], []),
        (("Sails",), ["Jib", "Main"], ["main.html"]),
    ]


def test_html_as_deep_as_it_may_be_is_read():
    assert read_html("<div><b>" * 100_000 + "bottom").sections[0].paragraphs == ["bottom"]


@pytest.mark.parametrize(
    "data",
    [
        "Größe".encode(), "Größe".encode("utf-16"), "Größe".encode("utf-8-sig"), "Größe".encode("cp1252"),
    ],
)  # fmt: skip
def test_text_is_decoded_by_its_mark_or_by_what_fits(data):
    assert decode(data) == "Größe"


def test_a_claimed_charset_counts_where_it_is_no_utf8():
    assert "Ђ" in decode(b'<meta charset="cp1251"><p>' + "Ђ".encode("cp1251"))
    assert decode("é".encode("cp1252"), charset="no-such-charset") == "é"


def test_what_is_hidden_binary_huge_or_a_link_is_left_out_and_named(folder):
    (folder / ".secret.md").write_text("x")
    (folder / "photo.md").write_bytes(b"\x89PNG\0\0")
    (folder / "big.txt").write_bytes(b"x" * (1024 * 1024 + 1))
    (folder / "code.py").write_text("x = 1")
    (folder / "loop").symlink_to(folder)
    (folder / "out.md").symlink_to("/etc/hostname")
    os.mkfifo(folder / "pipe.md")
    assert left_out(folder, largest_mib=1) == {
        ".secret.md": "hidden",
        "photo.md": "binary",
        "big.txt": "too large",
        "code.py": "not md, txt or html",
        "loop": "symbolic link",
        "out.md": "symbolic link",
        "pipe.md": "not a regular file",
    }


def test_a_name_that_is_no_text_is_named_and_the_rest_is_read(folder):
    (folder / "b").mkdir()
    os.close(os.open(os.fsencode(folder) + b"/b/\xff.md", os.O_CREAT))
    assert list(left_out(folder).values()) == ["its name is not UTF-8"]
    assert "documents/docs/guide.md" in read(folder)


def test_links_that_lead_out_of_the_folder_are_left_out(folder):
    (folder / "guide.md").write_text(
        "[a](../../etc/passwd) [b](/etc/x) [c](file:///x) [d](http://[) [e](#f) [g](./h.md)"
    )
    assert read(folder)["documents/docs/guide.md#"]["links"] == ["h.md"]


def test_a_folder_that_is_not_there_fails_before_anything_is_done(tmp_path):
    with pytest.raises(SourceFailed, match="not a folder"):
        Documents(tmp_path / "none")


def test_a_prune_takes_removed_sections_and_spares_files_that_are_only_too_large_now(folder, stores):
    (folder / "log.txt").write_text("calm")

    def ingest(**more):
        return Ingest(stores.facts, Documents(folder, **more)).run(prune=True)

    def keys():
        return {one.key for one in stores.facts.read(ReadFactsQuery(scope="all", limit=100), UNRESTRICTED).facts}

    assert ingest().stored == 6
    assert ingest().stored == 0
    (folder / "guide.md").write_text(GUIDE.partition("## Pilots")[0])
    (folder / "log.txt").write_bytes(b"x" * (1024 * 1024 + 1))
    assert ingest(largest_mib=1).pruned == 1
    assert "documents/docs/guide.md#pilots" not in keys()
    assert "documents/docs/log.txt#" in keys()
    (folder / "log.txt").unlink()
    assert ingest().pruned == 2
