import io

import pytest

from crawler.errors import SourceFailed
from crawler.ingest import Ingest
from crawler.sources import lines, mbox
from crawler.sources.contract import Skipped, SourceFact, Unreadable
from crawler.sources.mbox import MailArchive, read_message, split_messages

FIRST = b"""\
From ann Thu Jan  4 10:00:00 2024
From: =?utf-8?q?Ann_=C3=85lder?= <Ann@mail.example>
To: Bob <bob@mail.example>, bob@mail.example
Cc: cyd@mail.example
Subject: The north pier
Date: Thu, 04 Jan 2024 11:00:00 +0100
Message-ID: <1@mail.example>

>From the pier one sees the lamp.

"""
SECOND = b"""\
From bob Thu Jan  4 12:00:00 2024
From: Bob <bob@mail.example>
To: ann@mail.example
Subject: Re: AW: The north pier
Message-ID: <2@mail.example>
In-Reply-To: <1@mail.example>
References: <0@mail.example> <1@mail.example>
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

<p>Caf=E9 <b>first</b></p><p>then the lamp</p>
--x
Content-Type: application/zip; name="../../etc/bomb.zip"
Content-Transfer-Encoding: base64

UEsDBBQ=
--x--

"""


@pytest.fixture
def archive(tmp_path):
    def write(data):
        path = tmp_path / "list.mbox"
        path.write_bytes(data)
        return MailArchive(path)

    return write


def read(source):
    return list(source.items(lambda _: set()))


def test_a_message_is_a_fact_with_who_wrote_what_to_whom(archive):
    first, second = read(archive(FIRST + SECOND))
    assert first.key == "mbox/list/1@mail.example"
    assert first.value == {
        "message_id": "1@mail.example",
        "from": {"name": "Ann Ålder", "address": "ann@mail.example"},
        "to": [{"name": "Bob", "address": "bob@mail.example"}],
        "cc": [{"name": "cyd@mail.example", "address": "cyd@mail.example"}],
        "date": "2024-01-04T10:00:00+00:00",
        "subject": "The north pier",
        "topic": "The north pier",
        "in_reply_to": [],
        "references": [],
        "text": "From the pier one sees the lamp.",
        "attachments": [],
    }
    assert second.value["topic"] == "The north pier"
    assert second.value["in_reply_to"] == ["1@mail.example"]
    assert second.value["references"] == ["0@mail.example", "1@mail.example"]


def test_html_becomes_text_and_attachments_are_only_named(archive):
    (message,) = read(archive(SECOND))
    assert message.value["text"] == "Café first\n\nthen the lamp"
    assert message.value["attachments"] == ["bomb.zip"]


def test_a_message_that_comes_twice_counts_once_and_one_without_an_id_has_a_key_all_the_same(archive):
    bare = FIRST.replace(b"Message-ID: <1@mail.example>\n", b"")
    items = read(archive(FIRST + bare + FIRST))
    assert [type(item) for item in items] == [SourceFact, SourceFact, Skipped]
    assert items[1].key.startswith("mbox/list/sha256-")
    assert read(archive(bare))[0] == items[1]


def test_bad_messages_are_named_by_line_and_the_rest_goes_on(archive):
    items = read(archive(b"From x\n\nno headers at all\n\n" + SECOND))
    assert [type(item) for item in items] == [Unreadable, SourceFact]
    assert items[0].where.endswith("list.mbox:1")


def test_too_large_messages_and_lines_are_passed_over(monkeypatch):
    monkeypatch.setattr(mbox, "LARGEST_MESSAGE", 2_000)
    monkeypatch.setattr(lines, "LONGEST_LINE", 1_000)
    large = b"From x\nFrom: a@b.example\n\n" + b"line\n" * 1_000 + b"\n"
    wide = b"From x\nFrom: a@b.example\n\n" + b"x" * 5_000 + b"\n\n"
    found = list(split_messages(io.BytesIO(large + wide + FIRST)))
    assert [each[1] for each in found][:2] == ["the message is too large", "a line of it is too long"]
    assert read_message(found[2][1])["message_id"] == "1@mail.example"


@pytest.mark.parametrize(
    "raw",
    [
        b"From: =?utf-8?b?!!!?= <\xff@x>\nSubject: =?martian?q?x?=\nDate: yesterday\n\n\xff\xfe",
        b"From: a@b.example\nContent-Type: text/plain; charset=martian\n\n\xe9",
        b"From: a@b.example\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!!",
        b"From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n" * 5_000,
        b"Date: Thu, 99 Jan 99999 99:99:99 +9999\n\n",
        b"From: " + b"a@b.example, " * 10_000 + b"\n\n",
    ],
)
def test_odd_messages_give_text_that_can_be_stored(raw, stores, archive):
    assert Ingest(stores.facts, archive(b"From x\n" + raw + b"\n")).run().stored == 1


def test_a_file_that_is_no_archive_says_so(archive, tmp_path):
    (item,) = read(archive(b"hello\n"))
    assert "not an mbox" in item.reason
    with pytest.raises(SourceFailed, match="cannot read"):
        read(MailArchive(tmp_path / "none.mbox"))


def test_the_archive_becomes_a_graph_of_people_messages_and_answers(archive, stores, harvester, call):
    assert Ingest(stores.facts, archive(FIRST + SECOND)).run().stored == 2
    harvester({"include": ["mbox"]}).drain()
    message = "message:2@mail.example"
    edges = call("graph_neighbourhood", nodeKey=message)["edges"]
    found = {(edge["fromKey"], edge["predicate"], edge["toKey"]) for edge in edges}
    assert {edge for edge in found if message in edge} == {
        ("person:bob", "wrote", "message:2@mail.example"),
        ("message:2@mail.example", "sent to", "person:ann-mail-example"),
        ("message:2@mail.example", "replies to", "message:1@mail.example"),
        ("message:2@mail.example", "is about", "topic:the-north-pier"),
    }
