"""Presentations, workbooks, OpenDocument and e-books beyond the golden files."""

import pytest

from ingestion.parsers import parser_for
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.limits import ParseLimits
from tests.fixtures.files.sample_files import (
    cells,
    epub,
    open_document,
    pptx,
    relations,
    shape,
    slide_table,
    xlsx,
    zipped,
)

_OFFICE = "application/vnd.openxmlformats-officedocument"
SLIDES = f"{_OFFICE}.presentationml.presentation"
BOOK = f"{_OFFICE}.spreadsheetml.sheet"
OPEN = "application/vnd.oasis.opendocument"
EPUB = "application/epub+zip"


def parse(media_type, folder, content, limits=None):
    path = folder / "document"
    path.write_bytes(content)
    return parser_for(media_type)(path, limits or ParseLimits())


def blocks(parsed):
    return [(element.kind, element.page, element.text) for element in parsed.elements]


def reason(media_type, folder, content, limits=None):
    with pytest.raises(ParseFailure) as caught:
        parse(media_type, folder, content, limits)
    return caught.value.reason.value


def test_title_of_a_slide_comes_first_wherever_it_stands(tmp_path):
    slide = shape("body 正文", "body") + shape("2026", "dt") + shape("Title", "ctrTitle")
    parsed = parse(SLIDES, tmp_path, pptx(slide))
    assert blocks(parsed) == [("heading", 1, "Title"), ("list_item", 1, "- body 正文")]


def test_slide_without_a_title_placeholder_takes_its_first_short_text(tmp_path):
    long = "A longer text that no one would take for a title, since it goes on and on for lines."
    parsed = parse(SLIDES, tmp_path, pptx(shape(long) + shape("Short 短") + shape("Later")))
    assert blocks(parsed) == [
        ("heading", 1, "Short 短"),
        ("paragraph", 1, long),
        ("paragraph", 1, "Later"),
    ]


def test_hidden_slides_and_sheets_are_left_out_with_a_warning(tmp_path):
    slides = parse(SLIDES, tmp_path, pptx(shape("One", "title"), "HIDDEN" + shape("secret")))
    assert (slides.text, slides.pages, slides.warnings) == ("One", 2, ("hidden_parts",))
    book = parse(BOOK, tmp_path, xlsx(("!H", cells(["secret"])), ("S", cells(["seen", "too"]))))
    assert (book.text, book.warnings) == ("S\n\nseen | too", ("hidden_parts",))
    assert book.elements[0].page == 2


def test_slide_table_diagram_and_group_are_read(tmp_path):
    diagram = (
        "<p:graphicFrame><a:graphic><a:graphicData>"
        '<d:relIds xmlns:d="x" r:dm="d1"/></a:graphicData></a:graphic></p:graphicFrame>'
    )
    group = f"<p:grpSp>{shape('within')}</p:grpSp>"
    slide = shape("T", "title") + slide_table([["a", "b"], ["1", "二"]]) + diagram + group
    more = {
        "ppt/slides/_rels/slide0.xml.rels": relations(d1="diagramData:../diagrams/data1.xml"),
        "ppt/diagrams/data1.xml": '<d xmlns:a="y"><a:p><a:r><a:t>步骤 step</a:t></a:r></a:p></d>',
    }
    parsed = parse(SLIDES, tmp_path, pptx(slide, more=more))
    assert blocks(parsed)[1:] == [
        ("table", 1, "a | b\n1 | 二"),
        ("list_item", 1, "- 步骤 step"),
        ("paragraph", 1, "within"),
    ]


def test_more_slides_or_sheets_than_pages_allowed_are_refused(tmp_path):
    few = ParseLimits(pages=1)
    assert reason(SLIDES, tmp_path, pptx("", ""), few) == "too_many_pages"
    assert reason(BOOK, tmp_path, xlsx(("a", ""), ("b", "")), few) == "too_many_pages"
    slides = open_document("presentation", "<draw:page/><draw:page/>")
    assert reason(f"{OPEN}.presentation", tmp_path, slides, few) == "too_many_pages"


STYLES = (
    '<numFmts><numFmt numFmtId="170" formatCode="[$-804]yyyy&quot;年&quot;m&quot;月&quot;d"/>'
    '<numFmt numFmtId="171" formatCode="0.00&quot; days&quot;"/>'
    '<numFmt numFmtId="172" formatCode="[h]:mm;@"/></numFmts><cellXfs>'
    '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="10"/>'
    '<xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="21"/>'
    '<xf numFmtId="172"/><xf numFmtId="46"/></cellXfs>'
)


@pytest.mark.parametrize(
    ("style", "value", "text"),
    [
        (0, "3.5000000000000001E-2", "0.035"),
        (0, "1234567.891", "1234567.891"),
        (0, "12345678901234567890", "12345678901234567890"),
        (1, "46143", "2026-05-01"),
        (2, "46143.5729166667", "2026-05-01 13:45"),
        (3, "0.125", "12.5%"),
        (4, "46143", "2026-05-01"),
        (5, "2.5", "2.5"),
        (6, "0.5729166667", "13:45:00"),
        (7, "1.6875", "40:30:00"),
        (7, "0.375", "9:00:00"),
        (8, "-0.0104166667", "-0:15:00"),
        (8, "1E308", "1e+308"),
        (1, "1", "1900-01-01"),
        (1, "1E308", "1e+308"),
        (1, "-5", "-5"),
        (99, "7", "7"),
        (0, "not a number", "not a number"),
    ],
)
def test_number_is_written_as_its_cell_shows_it(style, value, text, tmp_path):
    row = f'<row r="1"><c r="A1" s="{style}"><v>{value}</v></c></row>'
    parsed = parse(BOOK, tmp_path, xlsx(("S", row), styles=STYLES))
    assert parsed.elements[1].text == text


def test_days_are_counted_from_1904_where_the_workbook_says_so(tmp_path):
    row = '<row r="1"><c r="A1" s="1"><v>44681</v></c></row>'
    book = xlsx(("S", row), styles=STYLES, properties='<workbookPr date1904="1"/>')
    assert parse(BOOK, tmp_path, book).elements[1].text == "2026-05-01"


def test_shared_strings_booleans_errors_and_formulas(tmp_path):
    row = (
        '<row><c t="s"><v>1</v></c><c t="b"><v>1</v></c><c t="e"><v>#DIV/0!</v></c>'
        '<c t="str"><f>A1</f><v>stored</v></c><c><f>SUM(A1:A2)</f></c><c t="s"><v>9</v></c></row>'
    )
    strings = ("none", "知<rPh><t>zhi</t></rPh>", "x")
    parsed = parse(BOOK, tmp_path, xlsx(("S", row), strings=strings))
    assert parsed.elements[1].text == "知 | TRUE | #DIV/0! | stored | =SUM(A1:A2)"


def test_characters_that_a_workbook_writes_by_their_numbers_are_those_characters(tmp_path):
    row = (
        '<row><c t="s"><v>0</v></c><c t="str"><v>a_x0009_b</v></c>'
        '<c t="inlineStr"><is><t>_x005F_x000D_</t></is></c></row>'
    )
    strings = ("第一行_x000D_\nsecond_x000d_\nsnake_x_case_x12_",)
    parsed = parse(BOOK, tmp_path, xlsx(("S", row), strings=strings))
    assert parsed.elements[1].text == "第一行 second snake_x_case_x12_ | a b | _x000D_"


def test_blank_row_ends_a_table_and_the_rest_goes_on_under_its_header(tmp_path):
    rows = cells(["Stock in May"], ["Name", "Count"], ["Pear", 3]) + cells(["苹果", 4], first=6)
    parsed = parse(BOOK, tmp_path, xlsx(("S", rows)))
    assert blocks(parsed) == [
        ("heading", 1, "S"),
        ("paragraph", 1, "Stock in May"),
        ("table", 1, "Name | Count\nPear | 3"),
        ("table", 1, "Name | Count\n苹果 | 4"),
    ]


def test_tables_side_by_side_are_told_apart_but_a_narrow_column_is_none(tmp_path):
    rows = cells(["Name", "Count", None, "Store", "Open"], ["Pear", 3, None, "North", "yes"])
    parsed = parse(BOOK, tmp_path, xlsx(("S", rows)))
    assert [e.text for e in parsed.elements[1:]] == [
        "Name | Count\nPear | 3",
        "Store | Open\nNorth | yes",
    ]
    report = cells(["Revenue", None, 5, 6], ["Costs", None, 3, 4])
    parsed = parse(BOOK, tmp_path, xlsx(("S", report)))
    assert parsed.elements[1].text == "Revenue | 5 | 6\nCosts | 3 | 4"


def test_cell_at_the_far_corner_costs_nothing(tmp_path):
    row = '<row r="1048576"><c r="XFD1048576" t="str"><v>far</v></c><c r="A1048576"><v>1</v></c></row>'
    parsed = parse(BOOK, tmp_path, xlsx(("S", cells(["near"]) + row)))
    assert [e.text for e in parsed.elements[1:]] == ["near", "1 | far"]


def test_sheet_of_millions_of_repeated_open_document_cells_costs_nothing(tmp_path):
    cell = "<table:table-cell table:number-columns-repeated='99999999'/>"
    full = "<table:table-cell><text:p>x</text:p></table:table-cell>"
    rows = f"<table:table-row table:number-rows-repeated='99999999'>{cell}</table:table-row>"
    table = f"<table:table table:name='S'>{rows}<table:table-row>{full}</table:table-row></table:table>"
    parsed = parse(f"{OPEN}.spreadsheet", tmp_path, open_document("spreadsheet", table))
    assert parsed.text == "S\n\nx"


def test_open_document_title_contents_comments_and_deletions(tmp_path):
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:p text:style-name="P1">Handbook 手册</text:p>'
        "<text:table-of-content><text:index-body><text:p>Contents</text:p></text:index-body>"
        "</text:table-of-content>"
        "<text:section><text:p>kept<office:annotation><text:p>remark</text:p></office:annotation>"
        "</text:p></text:section>"
        "<text:p><draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame>"
        "</text:p>"
    )
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    parsed = parse(f"{OPEN}.text", tmp_path, open_document("text", body, styles=styles))
    assert blocks(parsed) == [
        ("heading", None, "Handbook 手册"),
        ("paragraph", None, "kept"),
        ("paragraph", None, "in a box"),
    ]


def test_encrypted_open_document_and_e_book_are_password_protected(tmp_path):
    manifest = "<m><file-entry><encryption-data/></file-entry></m>"
    locked = open_document("text", "<text:p>x</text:p>", manifest=manifest)
    assert reason(f"{OPEN}.text", tmp_path, locked) == "password_protected"
    data = "<e><EncryptedData><CipherData><CipherReference URI='{}'/></CipherData></EncryptedData></e>"
    chapter = data.format("OEBPS/text/chapter%200.xhtml")
    book = epub("<p>x</p>", more={"META-INF/encryption.xml": chapter})
    assert reason(EPUB, tmp_path, book) == "password_protected"
    fonts = epub("<p>free</p>", more={"META-INF/encryption.xml": data.format("OEBPS/a.otf")})
    assert parse(EPUB, tmp_path, fonts).text == "free"


def test_e_book_is_read_in_the_order_of_its_spine(tmp_path):
    chapters = [f"<h1>第{n}章</h1><p>text {n}</p>" for n in range(12)]
    parsed = parse(EPUB, tmp_path, epub(*chapters))
    assert [e.text for e in parsed.elements if e.kind == "heading"] == [f"第{n}章" for n in range(12)]
    assert "Contents list" not in parsed.text


@pytest.mark.parametrize("media_type", [SLIDES, BOOK, f"{OPEN}.text", EPUB])
def test_container_without_its_main_part_is_corrupt(media_type, tmp_path):
    assert reason(media_type, tmp_path, zipped({"a": "b"})) == "corrupt_file"
