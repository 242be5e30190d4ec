"""What every parser of the registry keeps to, whatever its format."""

import importlib
import io
import re
import zipfile
from pathlib import Path

import pytest
from PIL import Image

import ingestion.parsers
from ingestion.parsers import (
    ANSWERS,
    FORMATS,
    IMAGE,
    LANGUAGE_OF_SUFFIX,
    PARSED_IN_CHILD,
    PARSERS,
    TEXT,
    parser_for,
    preflight,
)
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.image.ocr import is_ready
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import SEPARATOR
from tests.fixtures.files import sample_files
from tests.fixtures.files.sample_files import sample
from tests.fixtures.paths import DATA

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
SAMPLES = {
    "text/markdown": "guide.md",
    "text/plain": "guide.txt",
    "text/html": "manual.html",
    "application/pdf": "handbook.pdf",
    f"{_OFFICE}.wordprocessingml.document": "operations.docx",
    f"{_OFFICE}.presentationml.presentation": "backup.pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "stock.xlsx",
    f"{_OPEN}.text": "report.odt",
    f"{_OPEN}.presentation": "talk.odp",
    f"{_OPEN}.spreadsheet": "list.ods",
    "application/epub+zip": "book.epub",
    "application/rtf": "letter.rtf",
    "message/rfc822": "mail.eml",
    "application/vnd.ms-outlook": "mail.msg",
    "application/xml": "book.xml",
    "image/png": "notice.png",
    "image/jpeg": "notice.jpeg",
    "image/tiff": "notice.tiff",
    "image/webp": "notice.webp",
    "image/bmp": "notice.bmp",
    "image/heic": "notice.heic",
    "image/avif": "notice.avif",
    "text/csv": "prices.csv",
    "text/tab-separated-values": "cities.tsv",
    "application/json": "settings.json",
    "application/jsonl": "records.jsonl",
    "application/x-ipynb+json": "lecture.ipynb",
    "application/x-subrip": "film.srt",
    "text/vtt": "meeting.vtt",
    "application/x-tex": "paper.tex",
    "application/x-bibtex": "works.bib",
    "text/calendar": "harbour.ics",
    "text/vcard": "people.vcf",
    "text/x-gettext-translation": "german.po",
    "text/x-source": "sample.py",
}
NO_FREE_TEXT = frozenset(
    {
        "application/json",
        "application/jsonl",
        "application/xml",
        "application/x-ipynb+json",
        "application/x-subrip",
        "text/vtt",
        "application/x-bibtex",
        "text/calendar",
        "text/vcard",
        "text/x-gettext-translation",
    }
)
"""Text formats with a grammar: bytes that don't follow it are a damaged file."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
NEEDS_RECOGNITION = pytest.mark.skipif(
    not is_ready(), reason="no text recognition here: agentex[ocr] and Tesseract's language data"
)
every_parser = pytest.mark.parametrize(
    "media_type",
    [pytest.param(name, marks=NEEDS_RECOGNITION if form.family is IMAGE else ()) for name, form in PARSERS.items()],
)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """The folder of the samples that are made."""
    return tmp_path_factory.mktemp("samples")


def empty_document() -> bytes:
    buffer = io.BytesIO()
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", f'<d:document xmlns:d="{space}"><d:body/></d:document>')
    return buffer.getvalue()


def blank_page() -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\n"
        b"trailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF\n"
    )


def blank_picture(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (300, 200), 255).save(buffer, kind)
    return buffer.getvalue()


EMPTY = {
    "application/pdf": blank_page(),
    "application/json": b"{}",
    "application/x-ipynb+json": b'{"cells": [{"cell_type": "code", "source": " ", "outputs": []}]}',
    "application/x-subrip": b"1\n00:00:01,000 --> 00:00:02,000\n<i> </i>\n",
    "text/vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\n \n",
    "application/x-tex": b"\\documentclass{article}\\begin{document}% nothing\n\\end{document}",
    "application/x-bibtex": b"@comment{nothing}",
    "text/calendar": b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n",
    "text/vcard": b"BEGIN:VCARD\r\nVERSION:4.0\r\nEND:VCARD\r\n",
    "text/x-gettext-translation": b'msgid ""\nmsgstr ""\n',
    "application/rtf": b"{\\rtf1\\ansi\\par }",
    "application/xml": b"<a><b/></a>",
    "message/rfc822": b"Subject: nothing\n\n \n",
    "application/vnd.ms-outlook": sample_files.msg({0x37: "Subject"}),
    "application/epub+zip": sample_files.epub("<p> </p>"),
    f"{_OFFICE}.wordprocessingml.document": empty_document(),
    f"{_OFFICE}.presentationml.presentation": sample_files.pptx(""),
    f"{_OFFICE}.spreadsheetml.sheet": sample_files.xlsx(("Sheet1", "")),
    f"{_OPEN}.text": sample_files.open_document("text", "<text:p> </text:p>"),
    f"{_OPEN}.presentation": sample_files.open_document("presentation", "<draw:page/>"),
    f"{_OPEN}.spreadsheet": sample_files.open_document("spreadsheet", '<table:table table:name="Sheet1"/>'),
    **{f"image/{kind}": blank_picture(kind) for kind in ("png", "jpeg", "tiff", "webp", "bmp", "avif")},
    "image/heic": (DATA / "pictures" / "blank.heic").read_bytes(),
}


def empty_file(media_type: str, folder: Path) -> Path:
    form = PARSERS[media_type]
    path = folder / f"empty.{form.file_type}"
    path.write_bytes(EMPTY.get(media_type, b" \n\t\n"))
    return path


def test_every_parser_module_is_registered_once():
    folder = Path(ingestion.parsers.__file__).parent
    names = {
        f"ingestion.parsers.{path.parent.name}.{path.stem}" for path in folder.glob("*/*.py") if path.stem != "__init__"
    }
    with_parse = {name for name in names if hasattr(importlib.import_module(name), "parse")}
    assert with_parse == {f"ingestion.parsers.{form.module}" for form in (*FORMATS, *ANSWERS)}
    assert len(PARSERS) == len(FORMATS)
    assert len(PARSED_IN_CHILD) == len(FORMATS) + len(ANSWERS)


def test_every_suffix_belongs_to_one_format():
    suffixes = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes)
    code = PARSERS["text/x-source"].suffixes
    assert set(LANGUAGE_OF_SUFFIX) == code


@every_parser
def test_parse_has_a_docstring(media_type):
    assert len(parser_for(media_type).__doc__ or "") > 40


@every_parser
def test_sample_is_detected_as_its_type(media_type, samples):
    path = sample(SAMPLES[media_type], samples)
    content = path.read_bytes()
    assert detect_type(path.name, content[:HEAD_BYTES], len(content)).name == media_type


@every_parser
def test_elements_are_exact_spans_of_the_text(media_type, samples):
    parsed = parser_for(media_type)(sample(SAMPLES[media_type], samples), ParseLimits())
    assert parsed.elements
    assert parsed.text == SEPARATOR.join(element.text for element in parsed.elements)
    for element in parsed.elements:
        assert parsed.text[element.char_start : element.char_end] == element.text
        assert element.text.strip()
        assert not CONTROL.search(element.text)
        assert element.level >= 1 if element.kind in ("heading", "list_item") else element.level == 0
        assert (element.page is None) == (parsed.pages is None)
        begins = [0, *(place for place, _ in element.later_pages), len(element.text)]
        numbers = [element.page, *(page for _, page in element.later_pages)]
        assert begins == sorted(set(begins))
        assert not element.later_pages or numbers == sorted(set(numbers))


@every_parser
def test_same_file_gives_the_same_result_twice(media_type, samples):
    path = sample(SAMPLES[media_type], samples)
    parse = parser_for(media_type)
    assert parse(path, ParseLimits()) == parse(path, ParseLimits())


@every_parser
def test_file_without_text_fails_as_empty_text(media_type, tmp_path):
    with pytest.raises(ParseFailure) as caught:
        parser_for(media_type)(empty_file(media_type, tmp_path), ParseLimits())
    assert caught.value.reason is FailureReason.EMPTY_TEXT


@every_parser
def test_output_over_the_limit_fails(media_type, samples):
    path = sample(SAMPLES[media_type], samples)
    with pytest.raises(ParseFailure) as caught:
        parser_for(media_type)(path, ParseLimits(output_characters=5))
    assert caught.value.reason is FailureReason.OUTPUT_TOO_LARGE


@every_parser
def test_file_stays_as_it_was_when_parsed(media_type, samples, tmp_path):
    path = tmp_path / SAMPLES[media_type]
    content = sample(SAMPLES[media_type], samples).read_bytes()
    path.write_bytes(content)
    parser_for(media_type)(path, ParseLimits())
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("media_type", [f.media_type for f in FORMATS if f.family is TEXT])
@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_text_format_survives_any_bytes(media_type, cut, tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(256))[cut:] * 20)
    if media_type in NO_FREE_TEXT:
        with pytest.raises(ParseFailure, match="damaged"):
            parser_for(media_type)(path, ParseLimits())
        return
    parsed = parser_for(media_type)(path, ParseLimits())
    assert not CONTROL.search(parsed.text)
    assert parsed.warnings


@pytest.mark.parametrize("name", sorted({form.preflight for form in FORMATS if form.preflight}))
def test_preflight_check_exists(name):
    assert callable(getattr(preflight, name))


@pytest.mark.parametrize("reason", FailureReason)
def test_failure_has_words_in_both_languages(reason):
    failure = ParseFailure(reason)
    chinese = re.compile("[一-鿿]")
    assert failure.message
    assert failure.next_action
    assert not chinese.search(failure.message + failure.next_action)
    assert chinese.search(failure.message_zh)
    assert chinese.search(failure.next_action_zh)
    assert failure.retryable == (reason in ("parser_crashed", "parse_timeout", "parser_service_failed"))
