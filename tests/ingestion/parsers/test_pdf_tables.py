"""Tables of a PDF whose cells are drawn by rules stay tables, and no word of a page is lost."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.parsers import parser_for
from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.protocol import HEADER, pack_reply, unpack_reply
from ingestion.parsers.text_cleanup import clean
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import SplitSizes
from kb_service.text.token_counter import token_counter
from tests.fixtures.files.ruled_pdf import ROW, cells, line, ruled_pdf, table, words
from tests.fixtures.knowledge.splitters import split

WIDTHS = (100, 80, 80)
PRICES = (("Tea", "North", "South"), ("Green", "3.50", "3.70"), ("Black", "", "2.10"))


def parse(folder: Path, content: bytes) -> ParsedDocument:
    path = folder / "a.pdf"
    path.write_bytes(content)
    return parser_for("application/pdf")(path, ParseLimits())


def kinds_and_texts(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(element.kind, element.text) for element in parsed.elements]


def test_table_stands_between_the_texts_around_it(tmp_path: Path):
    page = [
        words(50, 700, "What tea costs."),
        *table(50, 650, WIDTHS, PRICES),
        words(50, 500, "So it is."),
    ]
    parsed = parse(tmp_path, ruled_pdf([words(50, 700, "First page.")], page))
    assert kinds_and_texts(parsed) == [
        ("paragraph", "First page."),
        ("paragraph", "What tea costs."),
        ("table", "Tea | North | South\nGreen | 3.50 | 3.70\nBlack |  | 2.10"),
        ("paragraph", "So it is."),
    ]
    assert [element.page for element in parsed.elements] == [1, 2, 2, 2]


@pytest.mark.parametrize(
    "rules",
    [
        # Lines over the whole table.
        [line(50, 650 - ROW * n, 310, 650 - ROW * n) for n in range(4)]
        + [line(x, 590, x, 650) for x in (50, 150, 230, 310)],
        # Borders as thin filled rectangles, as Word writes them.
        [f"50 {650 - ROW * n} 260 0.5 re f" for n in range(4)] + [f"{x} 590 0.5 60 re f" for x in (50, 150, 230, 310)],
        # Only between the cells.
        [line(50, 650 - ROW * n, 310, 650 - ROW * n) for n in (1, 2)] + [line(x, 590, x, 650) for x in (150, 230)],
        # Drawn smaller and set in place by a matrix.
        ["q 2 0 0 2 50 590 cm"]
        + [line(0, ROW / 2 * n, 130, ROW / 2 * n) for n in range(4)]
        + [line(x, 0, x, 30) for x in (0, 50, 90, 130)]
        + ["Q"],
    ],
    ids=["lines", "thin rectangles", "open", "matrix"],
)
def test_rules_may_be_drawn_in_any_way(tmp_path: Path, rules: list[str]):
    drawn = [*cells(50, 650, WIDTHS, PRICES), *rules, words(50, 500, "So it is.")]
    assert kinds_and_texts(parse(tmp_path, ruled_pdf(drawn))) == [
        ("table", "Tea | North | South\nGreen | 3.50 | 3.70\nBlack |  | 2.10"),
        ("paragraph", "So it is."),
    ]


def test_cell_over_several_columns_or_rows_keeps_its_text(tmp_path: Path):
    rows = (("Region", "", ""), ("", "first", "second"), ("North", "1", "2"))
    drawn = [
        *cells(50, 650, WIDTHS, rows),
        words(170, 636, "the whole year 2024"),
        *(f"50 {y} 100 {height} re S" for y, height in ((610, 40), (590, 20))),
        "150 630 160 20 re S",
        *(f"{x} {y} 80 20 re S" for x in (150, 230) for y in (610, 590)),
    ]
    (found,) = kinds_and_texts(parse(tmp_path, ruled_pdf(drawn)))
    assert found == (
        "table",
        "Region | the whole year 2024 |\n | first | second\nNorth | 1 | 2",
    )


@pytest.mark.parametrize("repeated", [True, False])
def test_table_goes_on_over_pages_as_one(tmp_path: Path, repeated: bool):
    first = [("City", "People", "Trees"), *((f"City {n}", str(n), str(2 * n)) for n in range(3))]
    second = [(f"City {n}", str(n), str(2 * n)) for n in range(3, 6)]
    pages = [
        table(50, 200, WIDTHS, first),
        table(50, 750, WIDTHS, [first[0], *second] if repeated else second),
    ]
    (found,) = parse(tmp_path, ruled_pdf(*pages)).elements
    assert (found.kind, found.page) == ("table", 1)
    assert found.text == "\n".join(" | ".join(row) for row in [*first, *second])


def long_table(*, repeated: bool) -> bytes:
    """A table of 120 rows, 30 on each of four pages."""
    header = ("City", "People", "Trees")
    pages: list[list[str]] = []
    for page in range(4):
        rows = [(f"City {n}", str(n), str(2 * n)) for n in range(30 * page, 30 * page + 30)]
        leads = repeated or page == 0
        pages.append(table(50, 750, WIDTHS, [header, *rows] if leads else rows))
    pages[0].insert(0, words(50, 770, "Cities of the land."))
    return ruled_pdf(*pages)


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("repeated", [True, False])
def test_passages_of_a_long_table_name_the_page_of_their_first_row(tmp_path: Path, name: str, repeated: bool):
    parsed = parse(tmp_path, long_table(repeated=repeated))
    assert [element.kind for element in parsed.elements] == ["paragraph", "table"]
    sizes = SplitSizes(60, 0)
    pieces = list(split(name, parsed, sizes=sizes, counter=token_counter()))
    assert {piece.page for piece in pieces} == {1, 2, 3, 4}
    for piece in pieces[1:]:
        # A window of ``fixed`` may begin within a row.
        row = parsed.text.rfind("\n", 0, piece.char_start + 1) + 1
        cells = parsed.text[row:].split()
        if cells[1] == "|":
            # The table's head, where a table is cut by itself.
            assert piece.page == 1
            continue
        number = int(cells[1])
        assert piece.page == number // 30 + 1
        assert name == "fixed" or piece.text.startswith("City | People | Trees\nCity ")


def test_places_of_pages_are_the_same_after_the_wire(tmp_path: Path):
    parsed = parse(tmp_path, long_table(repeated=True))
    assert [page for _, page in parsed.elements[1].later_pages] == [2, 3, 4]
    assert unpack_reply(pack_reply(parsed)[HEADER.size :]) == parsed


def test_tables_with_headers_of_their_own_are_two(tmp_path: Path):
    other = (("City", "River", "Lake"), ("Rome", "1", "0"))
    pages = [table(50, 200, WIDTHS, PRICES), table(50, 750, WIDTHS, other)]
    assert [kind for kind, _ in kinds_and_texts(parse(tmp_path, ruled_pdf(*pages)))] == ["table", "table"]


def test_boxes_and_drawings_are_no_tables(tmp_path: Path):
    box = ["50 600 300 60 re S", words(60, 640, "Take care of the box.")]
    chart = [line(50, 300 + 20 * n, 450, 300 + 20 * n) for n in range(10)]
    chart += [line(50 + 40 * n, 300, 50 + 40 * n, 480) for n in range(11)]
    chart += [words(60, 305, "a"), words(200, 400, "b")]
    found = kinds_and_texts(parse(tmp_path, ruled_pdf([*box, *chart])))
    assert {kind for kind, _ in found} == {"paragraph"}
    assert "Take care of the box." in found[0][1]


def test_page_that_draws_without_end_is_read_as_text(tmp_path: Path):
    flood = [line(n % 500, n % 700, n % 500 + 20, n % 700) for n in range(5_000)]
    drawn = [*table(50, 650, WIDTHS, PRICES), *flood]
    found = kinds_and_texts(parse(tmp_path, ruled_pdf(drawn)))
    assert {kind for kind, _ in found} == {"paragraph"}
    assert "Green" in " ".join(text for _, text in found)


def test_turned_page_is_read_as_text(tmp_path: Path):
    drawn = ruled_pdf(table(50, 650, WIDTHS, PRICES), more="/Rotate 90")
    assert {kind for kind, _ in kinds_and_texts(parse(tmp_path, drawn))} == {"paragraph"}


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_word_of_a_page_comes_once(tmp_path: Path, data: st.DataObject):
    widths = data.draw(st.lists(st.integers(40, 90), min_size=1, max_size=4))
    count = data.draw(st.integers(1, 6))
    filled = data.draw(st.lists(st.booleans(), min_size=count * len(widths), max_size=count * len(widths)))
    numbers = iter(range(100))
    flags = iter(filled)
    rows = [[f"w{next(numbers)}x" if next(flags) else "" for _ in widths] for _ in range(count)]
    top = data.draw(st.integers(300, 700))
    beside = [
        words(10 + sum(widths) + 60, top - 14 - ROW * n, f"beside{n}y") for n in range(data.draw(st.integers(0, 3)))
    ]
    missing = data.draw(st.sets(st.integers(0, 30), max_size=8))
    drawn = [one for n, one in enumerate(table(40, top, widths, rows)) if n not in missing]
    drawn += [*beside, words(40, top + 40, "above"), words(40, top - 160, "below")]
    said = Counter(word for one in drawn if "(" in one for word in [one.split("(")[1].split(")")[0]])
    parsed = parse(tmp_path, ruled_pdf(drawn))
    assert Counter(parsed.text.replace("|", " ").split()) == said


def test_word_that_is_parted_in_a_cell_is_put_together(tmp_path: Path):
    drawn = [
        *table(50, 650, WIDTHS, PRICES),
        words(54, 560, "moun-"),
        words(54, 549, "tain"),
        words(154, 560, "9"),
        "50 540 100 50 re S",
        "150 540 80 50 re S",
        "230 540 80 50 re S",
    ]
    (_, text) = kinds_and_texts(parse(tmp_path, ruled_pdf(drawn)))[0]
    assert text.splitlines()[-1] == "mountain | 9 |"


@given(parts=st.lists(st.sampled_from(["a", " b", "\x02", "\ufffe c", "山", "  "]), min_size=2))
def test_places_of_pages_stand_when_the_text_is_cleaned(parts: list[str]):
    whole = "  x" + "".join(parts)
    later = tuple((len("  x" + "".join(parts[:n])), n + 1) for n in range(1, len(parts)))
    composition = DocumentBuilder(ParseLimits())
    composition.add("paragraph", whole, page=1, later_pages=later)
    copy = DocumentBuilder(ParseLimits())
    copy.extend(composition)
    parsed = copy.finish()
    assert parsed == composition.finish()
    found = {page: place for place, page in parsed.elements[0].later_pages}
    for place, page in later:
        before = clean(whole[:place]).lstrip()
        # What holds no more than blanks at the end has gone with them.
        assert found.get(page) == (len(before) if len(before) < len(parsed.text) else None)
