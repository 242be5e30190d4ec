"""Notebooks, subtitles, calendars, contacts and translations beyond their golden files."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from ingestion.parsers import parser_for
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.splitters.base import SplitSizes
from ingestion.splitters.heading_recursive import split
from kb_service.text.token_counter import token_counter

NOTEBOOK, SRT, VTT = "application/x-ipynb+json", "application/x-subrip", "text/vtt"
ICS, VCF, PO = "text/calendar", "text/vcard", "text/x-gettext-translation"


def parse(media_type: str, folder: Path, content: str | bytes, limits: ParseLimits | None = None) -> ParsedDocument:
    path = folder / "document"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parser_for(media_type)(path, limits or ParseLimits())


def blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(element.kind, element.text) for element in parsed.elements]


def notebook(*cells: Mapping[str, object]) -> str:
    return json.dumps({"nbformat": 4, "cells": cells})


def code(*outputs: Mapping[str, object]) -> dict[str, object]:
    return {"cell_type": "code", "source": "x", "outputs": outputs}


def test_picture_of_a_notebook_leaves_no_byte(tmp_path: Path):
    picture = "iVBORw0KGgo" * 1_000
    drawn = {"output_type": "display_data", "data": {"image/png": picture, "text/plain": ["<Axes: >"]}}
    several = {"output_type": "execute_result", "data": {"text/plain": "[<Line2D at 0x7f>, <Line2D at 0x8f>]"}}
    inline = {"cell_type": "markdown", "source": f"![tide](data:image/png;base64,{picture}) rises"}
    parsed = parse(NOTEBOOK, tmp_path, notebook(code(drawn, several), inline))
    assert blocks(parsed) == [("code", "x"), ("paragraph", "tide rises")]


def test_old_notebook_is_read_from_its_worksheets(tmp_path: Path):
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Tides"]},
        {"cell_type": "code", "input": ["a = 1"], "outputs": [{"output_type": "pyout", "text": ["1"], "png": "iVB"}]},
        {"cell_type": "code", "input": "b", "outputs": [{"output_type": "stream", "text": "words"}]},
    ]
    parsed = parse(NOTEBOOK, tmp_path, json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    assert blocks(parsed) == [
        ("heading", "Tides"), ("code", "a = 1"), ("code", "1"), ("code", "b"), ("code", "words"),
    ]  # fmt: skip
    assert parsed.elements[0].level == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"cells": [', "corrupt_file"),
        ('{"nbformat": 4}', "corrupt_file"),
        ('{"cells": {"a": 1}}', "corrupt_file"),
        ("[1, 2]", "corrupt_file"),
        ('{"cells": []}', "empty_text"),
        ("[" * 200_000, "too_complex"),
    ],
)
def test_notebook_that_is_none_is_refused_with_a_reason(tmp_path: Path, content: str, reason: str):
    with pytest.raises(ParseFailure) as caught:
        parse(NOTEBOOK, tmp_path, content)
    assert caught.value.reason == reason


def clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},000"


def test_times_of_subtitles_are_headings_of_passages_and_not_text(tmp_path: Path):
    cues = [
        f"{n}\n{clock(3 * n)} --> {clock(3 * n + 3)}\nThe captain tells of his voyage number{n} to the far south.\n"
        for n in range(200)
    ]
    parsed = parse(SRT, tmp_path, "\n".join(cues))
    pieces = list(split(parsed, sizes=SplitSizes(1_000, 0), counter=token_counter()))
    assert [piece.heading_path for piece in pieces][:2] == [
        ("00:00:00 – 00:02:00",), ("00:02:00 – 00:04:00",),
    ]  # fmt: skip
    assert "-->" not in parsed.text
    assert all(f"number{n} " in parsed.text for n in range(200))


@pytest.mark.parametrize(
    "content",
    [
        # Without blank lines between cues, with blank lines within, and with hours left out.
        "1\n00:00:01,000 --> 00:00:02,000\nFirst\n2\n00:00:02,000 --> 00:00:03,000\nsecond",
        "1\n\n00:00:01,000 --> 00:00:02,000\n\nFirst\n\n\n2\n00:00:02,000 --> 00:00:03,000\n\nsecond\n",
        "1\r\n00:01,000 --> 00:02,000\r\nFirst\r\n\r\n2\r\n00:02.000 --> 00:03.000\r\n<font color=red>second</font>",
    ],
)
def test_subtitles_are_read_as_programs_write_them(tmp_path: Path, content: str):
    assert blocks(parse(SRT, tmp_path, content))[1:] == [("paragraph", "First second")]


def test_captions_that_roll_up_are_read_once(tmp_path: Path):
    content = (
        "WEBVTT\n\n00:01.000 --> 00:03.000\n \nwe go<00:02.000><c> out</c>\n\n"
        "00:03.000 --> 00:03.010\nwe go out\n \n\n"
        "00:03.010 --> 00:05.000\nwe go out\nto<c> sea</c>\n\n"
        "00:05.000 --> 00:06.000\nto sea\nat dawn\n"
    )
    assert blocks(parse(VTT, tmp_path, content))[1:] == [("paragraph", "we go out to sea at dawn")]


def test_pause_and_speaker_part_the_paragraphs(tmp_path: Path):
    content = (
        "WEBVTT\n\n00:01.000 --> 00:03.000\n<v Ada>We sail.\n\n00:03.000 --> 00:04.000\n<v Bob>When?</v>\n\n"
        "00:20.000 --> 00:21.000\n<v Bob>Tell me.</v>\n"
    )
    assert [text for _, text in blocks(parse(VTT, tmp_path, content))[1:]] == [
        "Ada: We sail.", "Bob: When?", "Bob: Tell me.",
    ]  # fmt: skip


@pytest.mark.parametrize("media_type", [SRT, VTT])
def test_text_without_times_is_no_subtitle(tmp_path: Path, media_type: str):
    with pytest.raises(ParseFailure, match="damaged"):
        parse(media_type, tmp_path, "Just a letter to the harbour.")


EVENT = "BEGIN:VEVENT\r\nSUMMARY:Review\r\nDTSTART:20260504T100000\r\n{}END:VEVENT\r\n"


@pytest.mark.parametrize(
    "content",
    [
        "BEGIN:VCALENDAR\r\n" + EVENT.format(""),
        "BEGIN:VCALENDAR\r\n" + EVENT.format("")[:40],
        EVENT.format(""),
        "BEGIN:VCALENDAR\r\nno property\r\nEND:VCALENDAR\r\n",
    ],
)
def test_calendar_that_breaks_off_is_damaged(tmp_path: Path, content: str):
    with pytest.raises(ParseFailure) as caught:
        parse(ICS, tmp_path, content)
    assert caught.value.reason == "corrupt_file"


def test_calendar_with_bad_values_keeps_the_others(tmp_path: Path):
    more = (
        "DTEND:tomorrow\r\nRRULE:FREQ=SOMETIMES\r\nATTACH;VALUE=BINARY;ENCODING=BASE64:iVBORw0\r\nLOCATION:Pier 4\r\n"
    )
    content = f"BEGIN:VCALENDAR\r\n{EVENT.format(more)}END:VCALENDAR\r\n" * 2
    parsed = parse(ICS, tmp_path, content)
    assert [text for kind, text in blocks(parsed) if kind == "heading"] == ["Review", "Review"]
    assert parsed.elements[1].text.startswith("Start: 2026-05-04 10:00\nEnd: tomorrow\n")
    assert "Location: Pier 4" in parsed.text
    assert "iVBOR" not in parsed.text


def test_calendar_that_is_too_deep_is_refused(tmp_path: Path):
    with pytest.raises(ParseFailure) as caught:
        parse(ICS, tmp_path, "BEGIN:VCALENDAR\r\n" + "BEGIN:X\r\n" * 5_000)
    assert caught.value.reason == "too_complex"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"BEGIN:VCARD\nVERSION:4.0\nN:Curie;Marie;;;\nTEL;TYPE=work;VALUE=uri:tel:+33\nEND:VCARD\n", "Marie Curie"),
        ("BEGIN:VCARD\nFN;CHARSET=GB18030:王芳\nNOTE:同事和朋友在知识库工作\nEND:VCARD\n".encode("gb18030"), "王芳"),
        (b'BEGIN:VCARD\nFN:A\\, B\nADR;LABEL="a;b:c":;;Street 1\\; back;Town;;;\nEND:VCARD\n', "A, B"),
    ],
)
def test_contact_has_its_name_as_heading(tmp_path: Path, content: bytes, name: str):
    parsed = parse(VCF, tmp_path, content)
    assert parsed.elements[0].text == name
    assert "a;b" not in parsed.text
    assert len(parsed.elements) == 2


@pytest.mark.parametrize("content", ["BEGIN:VCARD\nFN:Ada\n", "BEGIN:VCARD\nFN:A\nBEGIN:VCARD\nEND:VCARD\n", "Ada\n"])
def test_contacts_that_break_off_are_damaged(tmp_path: Path, content: str):
    with pytest.raises(ParseFailure, match="damaged"):
        parse(VCF, tmp_path, content)


def test_translations_are_read_in_the_encoding_that_they_declare(tmp_path: Path):
    content = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-2\\n"\n\nmsgid "Tree"\nmsgstr "Dřevo"\n'
    parsed = parse(PO, tmp_path, content.encode("iso8859-2"))
    assert parsed.text == "Tree\n= Dřevo"
    assert parsed.encoding == "iso8859-2"


@pytest.mark.parametrize("content", ['msgid "a', '"a"\n', "some words\n", 'msgid "a"\nmsgstr "b"\nlost\n'])
def test_translations_with_a_string_that_does_not_end_are_damaged(tmp_path: Path, content: str):
    with pytest.raises(ParseFailure, match="damaged"):
        parse(PO, tmp_path, content)
