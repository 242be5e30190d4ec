"""Tables with merged cells: each value under its own column, each row under its own label."""

import pytest

from tests.fixtures.files.sample_files import cells, open_document, pptx, xlsx
from tests.ingestion.parsers.test_formats import WORD, blocks, parse, word_file
from tests.ingestion.parsers.test_office_and_epub import BOOK, OPEN, SLIDES

# A header over two columns, a label over two rows, a section's name over the whole width.
TABLE = [
    "Region | 2026 |  | Note",
    "Region | Q1 | Q2 | Note",
    "华东 | 1 | 2 | up",
    "华东 | 3 | 4 | down",
    "Others",
    "West | 5 | 6 | flat",
]


def html_table():
    return (
        "<table><thead><tr><th rowspan=2>Region<th colspan='2'>2026<th rowspan=9>Note</tr>"
        "<tr><th>Q1<th>Q2</tr></thead>"
        "<tr><td rowspan=2>华东<td>1<td>2<td>up</tr><tr><td>3<td>4<td>down</tr>"
        "<tr><td colspan=4>Others</tr><tr><td>West<td>5<td>6<td>flat</tr></table>"
    )


def word_cell(text, columns=1, merge=""):
    return (
        f'<w:tc><w:tcPr><w:gridSpan w:val="{columns}"/>{merge}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>'
    )


def word_table():
    below, first = "<w:vMerge/>", '<w:vMerge w:val="restart"/>'
    rows = [
        word_cell("Region", 1, first) + word_cell("2026", 2) + word_cell("Note", 1, first),
        word_cell("", 1, below) + word_cell("Q1") + word_cell("Q2") + word_cell("", 1, below),
        word_cell("华东", 1, first) + word_cell("1") + word_cell("2") + word_cell("up"),
        word_cell("", 1, below) + word_cell("3") + word_cell("4") + word_cell("down"),
        word_cell("Others", 4),
        word_cell("West") + word_cell("5") + word_cell("6") + word_cell("flat"),
    ]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def slide_cell(text, **merged):
    named = "".join(f' {name}="{value}"' for name, value in merged.items())
    return f"<a:tc{named}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"


def slide_table():
    left, above = {"hMerge": 1}, {"vMerge": 1}
    rows = [
        slide_cell("Region", rowSpan=2)
        + slide_cell("2026", gridSpan=2)
        + slide_cell("", **left)
        + slide_cell("Note", rowSpan=2),
        slide_cell("", **above) + slide_cell("Q1") + slide_cell("Q2") + slide_cell("", **above),
        slide_cell("华东", rowSpan=2) + slide_cell("1") + slide_cell("2") + slide_cell("up"),
        slide_cell("", **above) + slide_cell("3") + slide_cell("4") + slide_cell("down"),
        slide_cell("Others", gridSpan=4) + 3 * slide_cell("", **left),
        slide_cell("West") + slide_cell("5") + slide_cell("6") + slide_cell("flat"),
    ]
    inner = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    return (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{inner}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )


def text_cell(text, **spans):
    named = "".join(f' table:number-{name}-spanned="{value}"' for name, value in spans.items())
    return f"<table:table-cell{named}><text:p>{text}</text:p></table:table-cell>"


def text_table():
    covered = "<table:covered-table-cell/>"
    rows = [
        text_cell("Region", rows=2) + text_cell("2026", columns=2) + covered + text_cell("Note", rows=2),
        covered + text_cell("Q1") + text_cell("Q2") + covered,
        text_cell("华东", rows=2) + text_cell("1") + text_cell("2") + text_cell("up"),
        covered + text_cell("3") + text_cell("4") + text_cell("down"),
        text_cell("Others", columns=4) + '<table:covered-table-cell table:number-columns-repeated="3"/>',
        text_cell("West") + text_cell("5") + text_cell("6") + text_cell("flat"),
    ]
    inner = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return f"<table:table>{inner}</table:table>"


def rich_table():
    first, below, left = r"\clvmgf", r"\clvmrg", r"\clmrg"
    rows = [
        [(first, "Region"), (r"\clmgf", "2026"), (left, ""), (first, "Note")],
        [(below, ""), ("", "Q1"), ("", "Q2"), (below, "")],
        [(first, r"\u21326 ?\u19996 ?"), ("", "1"), ("", "2"), ("", "up")],
        [(below, ""), ("", "3"), ("", "4"), ("", "down")],
        [(r"\clmgf", "Others"), (left, ""), (left, ""), (left, "")],
        [("", "West"), ("", "5"), ("", "6"), ("", "flat")],
    ]
    made = ""
    for row in rows:
        made += r"\trowd" + "".join(rf"{merge}\cellx{n}" for n, (merge, _) in enumerate(row, 1))
        made += r"\pard\intbl " + "".join(rf"{text}\cell " for _, text in row) + r"\row "
    return r"{\rtf1\ansi " + made + r"\pard after\par}"


@pytest.mark.parametrize("kind", ["html", "docx", "pptx", "odt", "rtf"])
def test_each_value_stands_under_its_column_and_each_row_under_its_label(kind, tmp_path):
    media_type, content = {
        "html": lambda: ("text/html", html_table()),
        "docx": lambda: (WORD, word_file(tmp_path / "made.docx", word_table())),
        "pptx": lambda: (SLIDES, pptx(slide_table())),
        "odt": lambda: (f"{OPEN}.text", open_document("text", text_table())),
        "rtf": lambda: ("application/rtf", rich_table()),
    }[kind]()
    parsed = parse(media_type, tmp_path, content)
    (table,) = [element.text for element in parsed.elements if element.kind == "table"]
    assert [line.rstrip(" |") for line in table.split("\n")] == TABLE


def test_long_cell_over_rows_is_said_once_and_no_row_is_made_of_labels_alone(tmp_path):
    long = "A remark. " * 30
    page = (
        f"<table><tr><td rowspan=3>{long}<td>1</tr><tr><td>2</tr><tr></tr>"
        "<tr><td rowspan=0>L<td>3</tr><tr></tr><tr><td>4</tr></table>"
    )
    assert blocks(parse("text/html", tmp_path, page)) == [("table", 0, f"{long.strip()} | 1\n | 2\nL | 3\nL | 4")]


def test_spans_of_a_hostile_table_cost_nothing(tmp_path):
    row = "<tr>" + "<td colspan=99999 rowspan=99999>" + "x" * 190
    page = f"<table>{row * 300}{'<tr><td>y' * 20_000}</table>"
    parsed = parse("text/html", tmp_path, page)
    assert len(parsed.text) < 20_000_000


def test_label_over_rows_of_a_sheet_stands_in_each_of_them(tmp_path):
    rows = cells(
        ["Sales 2026", None, None],
        ["Region", "Month", "Sum"],
        ["华东", "May", 1],
        [None, "June", 2],
        [None, None, None],
        ["West", "May", 3],
    )
    merged = '<mergeCells count="2"><mergeCell ref="A1:C1"/><mergeCell ref="A3:A5"/></mergeCells>'
    book = xlsx(("S", f"{rows}</sheetData>{merged}<sheetData>"))
    texts = [element.text for element in parse(BOOK, tmp_path, book).elements]
    assert texts == [
        "S",
        "Sales 2026",
        "Region | Month | Sum\n华东 | May | 1\n华东 | June | 2",
        "Region | Month | Sum\nWest | May | 3",
    ]
    table = (
        '<table:table table:name="S"><table:table-row>'
        + text_cell("华东", rows=2)
        + text_cell("1")
        + "</table:table-row><table:table-row><table:covered-table-cell/>"
        + text_cell("2")
        + "</table:table-row></table:table>"
    )
    parsed = parse(f"{OPEN}.spreadsheet", tmp_path, open_document("spreadsheet", table))
    assert parsed.elements[1].text == "华东 | 1\n华东 | 2"
