"""File types by name and content, and the errors of refused ones."""

import random
import subprocess
import sys

import pytest

from core.errors.requests import EmptyFile, FileTypeMismatch, OldOfficeFile, TextRecognitionMissing, UnsupportedFileType
from ingestion.parsers import FORMATS, IMAGE_TYPES
from ingestion.parsers import file_type as detection
from ingestion.parsers.conversion.formats import CONVERTED_FORMATS
from ingestion.parsers.conversion.state import Conversion
from ingestion.parsers.file_type import HEAD_BYTES, DetectedType, detect_type, has_parser
from ingestion.parsers.format_support import FormatSupport
from ingestion.parsers.unsupported_formats import UNREAD_FORMATS

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj"
ZIP = b"PK\x03\x04\x14\x00\x00\x00\x08\x00"
PNG = b"\x89PNG\r\n\x1a\n"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)
RANDOM = random.Random(7).randbytes(4096)
CHINESE = "知识库根据上传的文档回答问题，每个答案都注明它所在的页码。"

ENCODINGS = ("gbk", "utf-16", "utf-16-le", "utf-16-be", "utf-32")


def of(name: str, content: bytes, conversion: Conversion = Conversion.OFF) -> DetectedType:
    return detect_type(name, content[:HEAD_BYTES], len(content), FormatSupport(conversion))


@pytest.mark.parametrize(
    ("name", "content", "file_type"),
    [
        ("a.md", b"# hi", "markdown"),
        ("A.MARKDOWN", b"# hi", "markdown"),
        ("a.txt", b"MZ is how some names begin", "text"),
        ("README", b"text", "text"),
        ("a.log", b"\x1b[31mred\x1b[0m", "text"),
        ("a.html", b"no markup", "html"),
        ("a.pdf", PDF, "pdf"),
        ("a.pdf", PDF + b"PK\x03\x04", "pdf"),
        ("a.docx", ZIP + b"word/document.xml", "docx"),
        ("a.docx", OLE, "docx"),
        ("a.pptx", ZIP + b"ppt/presentation.xml", "pptx"),
        ("a.pptx", OLE, "pptx"),
        ("a.xlsm", ZIP + b"[Content_Types].xml", "xlsx"),
        ("a.odt", ZIP + b"mimetypeapplication/vnd.oasis.opendocument.text", "odt"),
        ("a.odp", ZIP + b"mimetypeapplication/vnd.oasis.opendocument.presentation", "odp"),
        ("a.ods", ZIP + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"),
        ("a.epub", ZIP + b"mimetypeapplication/epub+zip", "epub"),
        ("a.rtf", b"{\\rtf1 text}", "rtf"),
        ("a.eml", b"Subject: text\n\nbody", "eml"),
        ("a.msg", OLE, "msg"),
        ("a.xml", b"<a/>", "xml"),
        ("a.csv", b"a,b", "csv"),
        ("a.tsv", b"a\tb", "tsv"),
        ("a.json", b"{}", "json"),
        ("a.jsonl", b"{}\n", "jsonl"),
        ("a.ipynb", b'{"cells": []}', "ipynb"),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nx", "srt"),
        ("a.VTT", b"WEBVTT", "vtt"),
        ("a.tex", b"\\section{x}", "tex"),
        ("a.bib", b"@book{x, title={y}}", "bib"),
        ("a.ics", b"BEGIN:VCALENDAR", "ics"),
        ("a.vcf", b"BEGIN:VCARD", "vcf"),
        ("a.po", b'msgid "x"', "po"),
        ("a.py", b"x = 1", "python"),
        ("dir\\b.RS", b"fn main() {}", "rust"),
        ("Dockerfile", b"FROM scratch", "shell"),
        ("a.txt", b"nul\x00s here and\x00 there", "text"),
        ("a.txt. ", b"trailing dots", "text"),
        *(("a.txt", CHINESE.encode(codec), "text") for codec in ENCODINGS),
    ],
)
def test_type_is_told_by_name_and_content(name, content, file_type):
    assert of(name, content).file_type == file_type


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("zero.txt", b""),
        ("zero.pdf", b""),
        ("zero.exe", b""),
        ("ws.txt", b" \n\t \r\n" * 200),
        ("bom.txt", b"\xef\xbb\xbf \n"),
        ("wide.txt", " \n".encode("utf-16")),
        ("one.pdf", b"%"),
        ("nuls.md", bytes(100)),
    ],
)
def test_file_without_content_is_refused_as_empty(name, content):
    with pytest.raises(EmptyFile):
        of(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.exe", b"MZ\x90\x00"),
        ("exe.txt", b"MZ" + RANDOM),
        ("short.txt", b"MZ\x90\x00\x03\x00\x00\x00\x04"),
        ("random.md", RANDOM),
        ("elf.py", b"\x7fELF\x02\x01\x01"),
        ("gif.csv", b"GIF89a\x01\x00"),
        ("many.zip", ZIP),
        ("bomb.txt.gz", b"\x1f\x8b\x08"),
        ("gz.txt", b"\x1f\x8b\x08\x00" + RANDOM),
        ("script.svg", b"<svg onload='x'/>"),
        ("noext", b"text"),
        (".hidden", b"text"),
        ("a.key", ZIP),
        ("a.xls", OLE),
        ("a.doc", OLE),
    ],
)
def test_file_that_no_parser_reads_is_refused_as_unsupported(name, content):
    with pytest.raises(UnsupportedFileType):
        of(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("html_as.pdf", b"<!DOCTYPE html><p>hi"),
        ("wrong_ext.pdf", b"MZ\x90\x00\x03"),
        ("poly_html_pdf.pdf", b"<html><!--\n" + PDF),
        ("bom.pdf", b"\xef\xbb\xbf" + PDF),
        ("text.docx", b"just text"),
        ("pdf.docx", PDF),
        ("sheet.docx", ZIP + b"xl/workbook.xml"),
        ("slides.docx", ZIP + b"ppt/presentation.xml"),
        ("image.docx", b"\x89PNG\r\n\x1a\n"),
        ("pdf.txt", PDF),
        ("zip.md", ZIP),
        ("png.txt", PNG + RANDOM),
        ("jpeg.md", b"\xff\xd8\xff\xe0" + RANDOM),
        ("webp.txt", b"RIFF\x00\x00\x00\x00WEBPVP8 "),
        ("tiff.csv", b"II*\x00" + RANDOM),
        ("svg_as.png", b"<svg onload='x'/>"),
        ("gif_as.png", b"GIF89a\x01\x00"),
        ("text.rtf", b"just text"),
        ("rtf.txt", b"{\\rtf1 text}"),
        ("word.pptx", ZIP + b"word/document.xml"),
        ("slides.xlsx", ZIP + b"ppt/presentation.xml"),
        ("book.odt", ZIP + b"mimetypeapplication/epub+zip"),
        ("text.odp", ZIP + b"mimetypeapplication/vnd.oasis.opendocument.text"),
        ("zip.msg", ZIP),
        ("text.msg", b"Subject: text"),
        ("pdf.xml", PDF),
        ("png.eml", PNG + RANDOM),
    ],
)
def test_content_of_another_kind_is_refused_as_mismatch(name, content):
    with pytest.raises(FileTypeMismatch):
        of(name, content)


PHOTO = b"\x00\x00\x00\x18ftypheic" + RANDOM
PICTURES = [
    ("a.png", PNG + RANDOM, "png"),
    ("a.JPG", b"\xff\xd8\xff\xe0" + RANDOM, "jpeg"),
    ("a.tif", b"MM\x00*" + RANDOM, "tiff"),
    ("a.webp", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "webp"),
    ("a.bmp", b"BM\x00\x10\x00\x00" + bytes(60), "bmp"),
    # Viewers don't mind, and neither does the decoder.
    ("a.png", b"\xff\xd8\xff\xe0" + RANDOM, "png"),
    ("a.HEIC", PHOTO, "heic"),
    ("a.heif", PHOTO.replace(b"heic", b"mif1"), "heic"),
    ("a.jpg", PHOTO, "jpeg"),
    ("a.avif", PHOTO.replace(b"heic", b"avif"), "avif"),
    # Some telephones rename what they send.
    ("a.heic", b"\xff\xd8\xff\xe0" + RANDOM, "heic"),
]


@pytest.mark.parametrize(("name", "content", "file_type"), PICTURES)
def test_picture_is_taken_where_text_recognition_is_installed(name, content, file_type, monkeypatch):
    monkeypatch.setattr(detection, "is_installed", lambda: True)
    assert of(name, content).file_type == file_type


@pytest.mark.parametrize(("name", "content", "file_type"), PICTURES)
def test_picture_is_refused_with_the_name_of_the_extra_where_it_is_not(name, content, file_type, monkeypatch):
    monkeypatch.setattr(detection, "is_installed", lambda: False)
    with pytest.raises(TextRecognitionMissing) as refused:
        of(name, content)
    assert refused.value.details == {"extra": "agentex[ocr]"}
    assert "agentex[ocr]" in refused.value.message
    assert "agentex[ocr]" in refused.value.message_zh


@pytest.mark.parametrize(("name", "content", "file_type"), PICTURES)
def test_picture_that_another_parser_reads_needs_nothing_of_ours(name, content, file_type, monkeypatch):
    monkeypatch.setattr(detection, "is_installed", lambda: False)
    monkeypatch.setattr(detection, "is_decodable", lambda _: False)
    support = FormatSupport(also_read=IMAGE_TYPES)
    assert detect_type(name, content, len(content), support).file_type == file_type


@pytest.mark.parametrize(("name", "content", "kind"), [("a.heic", PHOTO, "heic"), ("a.jpg", PHOTO, "heic")])
def test_photo_is_refused_with_what_to_do_where_its_decoder_is_not_installed(name, content, kind, monkeypatch):
    monkeypatch.setattr(detection, "is_installed", lambda: True)
    monkeypatch.setattr(detection, "is_decodable", lambda _: False)
    with pytest.raises(UnsupportedFileType) as refused:
        of(name, content)
    assert refused.value.details["detected"] == kind
    for language in ("", "_zh"):
        action = refused.value.details[f"next_action{language}"]
        assert "agentex[heic]" in action
        assert "JPEG" in action


def test_photo_under_the_name_of_a_text_is_refused_as_a_picture():
    with pytest.raises(FileTypeMismatch) as refused:
        of("a.txt", PHOTO)
    assert refused.value.details["detected"] == "image"


WORD, BOOK, SLIDES = (OLE + name.encode("utf-16-le") for name in ("WordDocument", "Workbook", "PowerPoint Document"))


@pytest.mark.parametrize(
    ("name", "content", "target"),
    [
        ("a.doc", OLE, "docx"),
        ("a.XLS", OLE, "xlsx"),
        ("a.ppt", OLE, "pptx"),
        ("a.pps", OLE, "pptx"),
        ("a.pot", OLE, "pptx"),
        ("a.wps", OLE, "docx"),
        ("a.xls", b"a\tb\n1\t2", "xlsx"),
        ("renamed.docx", WORD, "docx"),
        ("renamed.docx", BOOK, "xlsx"),
        ("renamed.txt", SLIDES, "pptx"),
        ("renamed.pdf", WORD, "docx"),
    ],
)
def test_old_office_file_is_refused_with_what_to_save_it_as(name, content, target):
    with pytest.raises(OldOfficeFile) as refused:
        of(name, content)
    assert refused.value.code == UnsupportedFileType.code
    assert "docx, xlsx or pptx" in refused.value.message
    for language in ("", "_zh"):
        assert f"--convert-to {target}" in refused.value.details[f"next_action{language}"]


@pytest.mark.parametrize(
    ("name", "content", "ending"),
    [
        ("export.xls", b"\xef\xbb\xbf\n<html><table><tr><td>1", "html"),
        ("export.doc", b"<!DOCTYPE html><p>x", "html"),
        ("letter.doc", b"{\\rtf1 text}", "rtf"),
        ("letter.doc", ZIP + b"word/document.xml", "docx"),
        ("table.xls", ZIP + b"xl/workbook.xml", "xlsx"),
        ("slides.ppt", PDF, "pdf"),
    ],
)
def test_file_that_only_has_the_name_of_an_old_office_file_is_refused_with_its_right_name(name, content, ending):
    with pytest.raises(UnsupportedFileType) as refused:
        of(name, content)
    assert refused.value.details["detected"] == ending
    for language in ("", "_zh"):
        assert f" .{ending}" in refused.value.details[f"next_action{language}"]
    stem = name.rpartition(".")[0]
    assert of(f"{stem}.{ending}", content).file_type == ending


FLAT = b'<?xml version="1.0" encoding="UTF-8"?>\n\n<office:document xmlns:office="x">'
UNIFIED = b'\xef\xbb\xbf<?xml version="1.0"?><uof:UOF xmlns:uof="x">'


@pytest.mark.parametrize(
    ("name", "content", "file_type"),
    [
        ("a.doc", OLE, "doc"),
        ("a.WPS", OLE, "doc"),
        ("a.et", OLE, "xls"),
        ("a.pot", OLE, "ppt"),
        # Another program's file by its bytes.
        ("a.doc", BOOK, "xls"),
        ("a.docx", WORD, "doc"),
        ("a.doc", OLE + "EncryptedPackage".encode("utf-16-le"), "doc"),
        ("a.fodt", FLAT, "fodt"),
        ("a.fods", FLAT, "fods"),
        ("a.uot", UNIFIED, "uot"),
        # Nothing of these changes.
        ("a.docx", ZIP + b"word/document.xml", "docx"),
        ("a.msg", WORD, "msg"),
    ],
)
def test_old_office_file_is_taken_where_the_server_converts_it(name, content, file_type):
    assert of(name, content, Conversion.ON).file_type == file_type


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.doc", b"no file of Word", FileTypeMismatch),
        ("a.xls", b"<html><table>", UnsupportedFileType),
        ("a.doc", ZIP + b"word/document.xml", UnsupportedFileType),
        ("a.fodt", b"<html/>", UnsupportedFileType),
        ("a.pdf", WORD, OldOfficeFile),
        ("a.txt", WORD, OldOfficeFile),
        ("a.pages", ZIP, UnsupportedFileType),
    ],
)
def test_what_is_no_old_office_file_is_refused_where_the_server_converts_them_too(name, content, error):
    with pytest.raises(error) as refused:
        of(name, content, Conversion.ON)
    assert type(refused.value) is error
    assert refused.value.details["next_action_zh"]
    assert "AGENTEX_PARSERS" not in refused.value.details["next_action"]


@pytest.mark.parametrize(("state", "words"), [(Conversion.OFF, "=libreoffice"), (Conversion.MISSING, "no soffice")])
@pytest.mark.parametrize(("name", "content"), [("a.doc", OLE), ("a.fodp", FLAT), ("renamed.pptx", SLIDES)])
def test_refusal_names_the_setting_and_the_packages_of_the_conversion(state, words, name, content):
    with pytest.raises(UnsupportedFileType) as refused:
        of(name, content, state)
    for language in ("", "_zh"):
        action = refused.value.details[f"next_action{language}"]
        assert "AGENTEX_PARSERS" in action
        assert "libreoffice-writer-nogui" in action
    assert words in refused.value.details["next_action"]


def test_sources_list_what_is_converted_also_while_the_converter_is_missing():
    assert not has_parser("a.doc")
    assert has_parser("a.doc", FormatSupport(Conversion.ON))
    assert has_parser("a.doc", FormatSupport(Conversion.MISSING))
    assert has_parser("a.md", FormatSupport())
    assert not has_parser("a.mp3", FormatSupport(Conversion.ON))


def test_each_converted_format_is_refused_with_words_where_it_is_not_converted():
    unread = {ending for form in UNREAD_FORMATS for ending in form.endings.split()}
    endings = [ending for form in CONVERTED_FORMATS for ending in form.endings.split()]
    assert len(endings) == len(set(endings))
    assert set(endings) <= unread


def test_message_with_an_old_office_file_and_a_protected_one_are_taken():
    assert of("a.msg", WORD).file_type == "msg"
    assert of("a.docx", WORD + "EncryptedPackage".encode("utf-16-le")).file_type == "docx"
    assert of("a.txt", "a stream named WordDocument".encode("utf-16")).file_type == "text"


@pytest.mark.parametrize(
    ("name", "content", "next_step"),
    [
        ("a.gif", b"GIF89a" + RANDOM, "JPEG or PNG"),
        ("a.pages", ZIP, "docx, pptx or xlsx"),
        ("a.mobi", RANDOM, "EPUB or PDF"),
        ("a.ofd", ZIP, "PDF"),
        ("a.xlsb", ZIP, "xlsx"),
        ("a.rar", b"Rar!\x1a\x07\x00", "zip archive"),
        ("a.mp3", b"ID3\x04", "srt, vtt or txt"),
    ],
)
def test_file_of_another_kind_is_refused_with_what_to_make_of_it(name, content, next_step):
    with pytest.raises(UnsupportedFileType) as refused:
        of(name, content)
    assert next_step in refused.value.details["next_action"]
    assert refused.value.details["next_action_zh"]


def test_no_ending_is_both_read_and_not_read():
    readable = {suffix for form in FORMATS for suffix in form.suffixes}
    endings = [f".{ending}" for form in UNREAD_FORMATS for ending in form.endings.split()]
    assert not readable & set(endings)
    assert len(endings) == len(set(endings))


def test_office_file_under_the_name_of_a_text_is_refused_with_what_to_do():
    with pytest.raises(FileTypeMismatch) as refused:
        of("a.txt", OLE)
    assert "docx, xlsx and pptx" in refused.value.details["next_action"]
    assert refused.value.details["next_action_zh"]


def test_text_that_begins_like_a_bitmap_is_text():
    assert of("a.txt", b"BMW builds cars").file_type == "text"


def test_errors_name_the_ending_and_what_was_found():
    with pytest.raises(FileTypeMismatch) as mismatch:
        of("report.pdf", b"<html>")
    assert mismatch.value.details == {"extension": ".pdf", "detected": "text"}
    with pytest.raises(UnsupportedFileType) as unsupported:
        of("a.bin", b"x")
    assert unsupported.value.details["extension"] == ".bin"
    assert ".md" in str(unsupported.value.details["supported"])


def test_detecting_loads_no_parser_library():
    program = (
        "import sys, ingestion.parsers.file_type\n"
        "heavy = {'selectolax', 'pypdfium2', 'markdown_it', 'msgpack', 'olefile', 'PIL', 'tesserocr'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
