"""Elements of unstructured as blocks of our model."""

from typing import Any

import pytest

from ingestion.parsers.unstructured.mapping import blocks_of, table_rows
from ingestion.parsers.unstructured.recognition import paragraphs


def element(kind: str, text: str = "", **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "text": text, "metadata": metadata}


def test_kinds_depths_and_pages_are_ours():
    elements = [
        element("Header", "Page 1 of 3", page_number=1),
        element("Title", "Pumps", category_depth=0, page_number=1),
        element("Title", "Seals", category_depth=1, page_number=2),
        element("NarrativeText", "The pump runs.", page_number=2),
        element("ListItem", "seal", category_depth=1, page_number=2),
        element("PageBreak", page_number=2),
        element("CodeSnippet", "run()", page_number=3),
        element("Table", "a b", text_as_html="<table><tr><td>a</td><td>b</td></tr></table>", page_number=3),
        element("Footer", "Confidential", page_number=3),
    ]
    assert [block[:4] for block in blocks_of(elements, "pdf")] == [
        ("heading", "Pumps", 1, 1),
        ("heading", "Seals", 2, 2),
        ("paragraph", "The pump runs.", 0, 2),
        ("list_item", "seal", 1, 2),
        ("code", "run()", 0, 3),
        ("table", [["a", "b"]], 0, 3),
    ]


def test_sheets_are_headings_and_no_pages():
    elements = [
        element("Title", "Stock", page_name="May", page_number=1),
        element("Table", "a", text_as_html="<table><tr><td>a</td></tr></table>", page_name="May", page_number=1),
        element("Table", "b", text_as_html="<table><tr><td>b</td></tr></table>", page_name="June", page_number=2),
    ]
    assert [block[:1] + block[2:4] for block in blocks_of(elements, "xlsx")] == [
        ("heading", 1, None),
        ("heading", 2, None),
        ("table", 0, None),
        ("heading", 1, None),
        ("table", 0, None),
    ]


@pytest.mark.parametrize(
    "text", ["The pump is checked each week.", "水泵每周检查一次。", "word " * 60, "水泵运行。每周"]
)
def test_a_title_that_is_a_sentence_is_a_paragraph(text: str):
    assert [block[0] for block in blocks_of([element("Title", text)], "text")] == ["paragraph"]


@pytest.mark.parametrize(
    ("html", "rows"),
    [
        ("<table><thead><tr><th>Part</th><th>Name</th></tr></thead><tr><td>P&amp;1</td><td>a<br>b</td></tr></table>", [["Part", "Name"], ["P&1", "a b"]]),
        ('<table><tr><td colspan="2">wide</td><td>c</td></tr></table>', [["wide", "", "c"]]),
        ('<table><tr><td colspan="99999999">wide</td></tr></table>', [["wide", *[""] * 99]]),
        ("<td>no row</td>", [["no row"]]),
        ("<table><tr><td></td></tr></table>", []),
        ("no table", []),
    ],
)  # fmt: skip
def test_cells_of_a_table(html: str, rows: list[list[str]]):
    assert table_rows(html) == rows


def test_a_table_without_cells_keeps_its_text():
    assert list(blocks_of([element("Table", "a b")], "pdf")) == [("paragraph", "a b", 0, None, None)]


def test_lines_of_a_recognised_page_are_joined_by_paragraphs_and_chinese_ones_without_blanks():
    rows = [
        # Block, paragraph, text, left, top, width, height; a page, a block and a line have no text.
        (0, 0, "", 0, 0, 800, 600),
        (1, 1, "", 10, 10, 300, 60),
        (1, 1, "The", 10, 12, 40, 20),
        (1, 1, "pump", 60, 10, 50, 24),
        (1, 1, "runs.", 10, 50, 70, 20),
        (1, 2, "水泵", 10, 90, 40, 20),
        (1, 2, "每周检查", 60, 90, 80, 20),
        (1, 2, "P-12", 150, 92, 40, 18),
        (2, 1, " ", 0, 0, 800, 600),
    ]
    names = ("block_num", "par_num", "text", "left", "top", "width", "height")
    assert list(paragraphs(dict(zip(names, zip(*rows, strict=True), strict=True)))) == [
        ("The pump runs.", 10, 10, 110, 70),
        ("水泵每周检查 P-12", 10, 90, 190, 110),
    ]


POINTS = [[100, 200], [100, 300], [500, 300], [500, 200]]
PIXELS = {"points": POINTS, "system": "PixelSpace", "layout_width": 1000, "layout_height": 2000}


@pytest.mark.parametrize(
    ("coordinates", "sides"),
    [
        (PIXELS, [0.1, 0.1, 0.5, 0.15]),
        ({**PIXELS, "system": "PointSpace"}, [0.1, 0.85, 0.5, 0.9]),
        (None, None),
        ([], None),
        ({**PIXELS, "points": []}, None),
        ({**PIXELS, "points": [[1, 2, 3]]}, None),
        ({**PIXELS, "points": [["x", None]]}, None),
        ({**PIXELS, "layout_width": 0}, None),
        ({**PIXELS, "layout_height": None}, None),
        ({**PIXELS, "points": [[float("nan"), 1]]}, None),
        ({**PIXELS, "points": [[10**400, 1]]}, None),
    ],
)
def test_place_of_an_element(coordinates: Any, sides: list[float] | None):
    elements = [element("NarrativeText", "The pump runs.", page_number=1, coordinates=coordinates)]
    assert list(blocks_of(elements, "pdf")) == [("paragraph", "The pump runs.", 0, 1, sides)]
    # Of a workbook the number is that of a sheet.
    assert list(blocks_of(elements, "xlsx")) == [("paragraph", "The pump runs.", 0, None, None)]
