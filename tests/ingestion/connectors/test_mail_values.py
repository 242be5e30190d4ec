"""Answers of IMAP servers as values, and the files in the structure of a message."""

import base64
import quopri
import random
from collections.abc import AsyncGenerator

import pytest

from ingestion.connectors.mail.structure import AttachedFile, attachments_of, decoded
from ingestion.connectors.mail.values import folder_name, parse_values, quote_string
from ingestion.parsers.conversion.state import Conversion
from ingestion.parsers.format_support import FormatSupport


@pytest.mark.parametrize(
    ("parts", "values"),
    [
        ([rb'LIST (\HasNoChildren \Sent) "/" [Gmail]'], [b"LIST", [rb"\HasNoChildren", rb"\Sent"], b"/", b"[Gmail]"]),
        ([rb'LIST () NIL "a \"b\\c"'], [b"LIST", [], None, rb'a "b\c']),
        ([b"LIST () {3}", b'"(]', b""], [b"LIST", [], b'"(]']),
        (
            [b"1 FETCH (UID 5 BODY[HEADER.FIELDS (SUBJECT DATE)] {2}", b"ab", b' BODY[]<0> "x")'],
            [b"1", b"FETCH", [b"UID", b"5", b"BODY[HEADER.FIELDS (SUBJECT DATE)]", b"ab", b"BODY[]<0>", b"x"]],
        ),
    ],
)
def test_answers_are_values(parts: list[bytes], values: list[object]):
    assert parse_values(parts) == values


@pytest.mark.parametrize("line", [b"(", b")", b'"', b"(" * 100 + b")" * 100])
def test_what_is_no_answer_is_refused(line: bytes):
    with pytest.raises(ValueError, match=r"no value|not open|not closed|too deep"):
        parse_values([line])


def test_names_of_folders_are_readable():
    assert folder_name(b"Entw&APw-rfe/&ZeVnLIqe-") == "Entwürfe/日本語"
    assert folder_name(b"R &- D") == "R & D"
    assert folder_name("Entwürfe".encode()) == "Entwürfe"
    assert folder_name(b"a&2AA-\x07") == "a&2AA-�"


def test_what_cannot_be_quoted_is_a_literal():
    assert quote_string(rb'a"b\c') == rb'"a\"b\\c"'
    assert quote_string("密".encode()) is None
    assert quote_string(b"a\r\nA1 LOGOUT") is None


def part(kind: bytes, parameters: bytes, disposition: bytes, encoding: bytes = b'"base64"') -> bytes:
    lines = b"3 " if kind.startswith(b'"text"') else b""
    return (
        b"("
        + kind
        + b" "
        + parameters
        + b" NIL NIL "
        + encoding
        + b" 99 "
        + lines
        + b"NIL "
        + disposition
        + b" NIL NIL)"
    )


def test_files_are_found_by_their_names():
    text = part(b'"text" "plain"', b'("charset" "utf-8")', b"NIL", b'"7bit"')
    parts = b"".join(
        [
            b"("
            + text
            + part(b'"text" "html"', b'("name" "a.html")', b'("inline" NIL)')
            + b'"alternative" ("b" "x") NIL)',
            part(b'"image" "png"', b'("name" "logo.png")', b'("inline" ("filename" "logo.png"))'),
            part(b'"application" "pdf"', b'("name" "=?utf-8?Q?St=C3=BCck.pdf?=")', b'("inline" NIL)'),
            part(b'"text" "markdown"', b"NIL", b'("attachment" ("filename*" "UTF-8\'\'%E6%B8%85%E5%8D%95.md"))'),
            part(
                b'"application" "x"',
                b"NIL",
                b'("attachment" ("filename*0" "../../lo" "filename*1" "ng.txt"))',
                b'"8BIT"',
            ),
            part(b'"application" "zip"', b"NIL", b'("attachment" ("filename" "a.zip"))'),
        ]
    )
    (structure,) = parse_values([b"(" + parts + b'"mixed" ("boundary" "y") NIL NIL)'])
    assert attachments_of(structure) == [
        AttachedFile("3", "Stück.pdf", "base64"),
        AttachedFile("4", "清单.md", "base64"),
        AttachedFile("5", "long.txt", ""),
    ]
    (single,) = parse_values([part(b'"application" "pdf"', b'("name" "a.pdf")', b"NIL")])
    assert attachments_of(single) == [AttachedFile("1", "a.pdf", "base64")]
    # Old Office files are listed where LibreOffice makes them readable.
    (old,) = parse_values([part(b'"application" "msword"', b'("name" "old.doc")', b"NIL")])
    assert attachments_of(old) == []
    assert attachments_of(old, FormatSupport(Conversion.ON)) == [AttachedFile("1", "old.doc", "base64")]
    deep = b"(" * 60 + text + b'"mixed")' * 60
    assert attachments_of(parse_values([deep])[0]) == []


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", ""])
@pytest.mark.anyio
async def test_files_are_decoded_in_whatever_blocks_they_come(encoding: str):
    content = random.Random(5).randbytes(3000) + b"\n \n=\n" + "Stück".encode() * 50
    encoders = {"base64": base64.encodebytes, "quoted-printable": lambda raw: quopri.encodestring(raw)}
    sent = encoders.get(encoding, bytes)(content)

    async def blocks(size: int) -> AsyncGenerator[bytes]:
        for start in range(0, len(sent), size):
            yield sent[start : start + size]

    for size in (1, 7, 76, 10_000):
        assert b"".join([block async for block in decoded(blocks(size), encoding)]) == content
