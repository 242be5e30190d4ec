"""Columns of a PDF are read one after the other, however they are drawn, and words parted at line ends are put together."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.parsers import parser_for
from ingestion.parsers.limits import ParseLimits
from tests.fixtures.files.ruled_pdf import ruled_pdf, words

LEFT = [
    "The harbour was built in the year of the great",
    "storm and has been widened three times since,",
    "last of all for the ferries that come from the",
    "islands every morning and go back at night to",
    "the villages where most of the sailors live.",
]
RIGHT = [
    "Every ship that comes in pays for the pilot and",
    "for the light of the tower, which is paid again",
    "on leaving. The money goes to the keeper of the",
    "tower and to the school that the children of all",
    "the sailors visit until they go to sea as well.",
]
THIRD = [
    "In winter the light is lit",
    "before the evening comes",
    "and burns until the last",
    "of the boats is back and",
    "all its nets are dried.",
]


def read(folder: Path, *pages: list[str]) -> list[tuple[str, str]]:
    path = folder / "a.pdf"
    path.write_bytes(ruled_pdf(*pages))
    return [(element.kind, element.text) for element in parser_for("application/pdf")(path, ParseLimits()).elements]


def rows(*columns: tuple[float, list[str]], top: float = 700, shift: float = 0) -> list[str]:
    """Columns drawn row by row: the first line of each, then the second of each; ``shift`` lowers later columns."""
    drawn: list[str] = []
    for number in range(max(len(lines) for _, lines in columns)):
        for place, (left, lines) in enumerate(columns):
            if number < len(lines):
                drawn.append(words(left, top - 13 * number - shift * place, lines[number]))
    return drawn


@pytest.mark.parametrize("shift", [0, 2, 4])
def test_columns_drawn_row_by_row_are_read_one_after_the_other(tmp_path: Path, shift: float):
    found = read(tmp_path, rows((50, LEFT), (320, RIGHT), shift=shift))
    assert found == [("paragraph", " ".join(LEFT)), ("paragraph", " ".join(RIGHT))]


def test_three_columns_are_read_one_after_the_other(tmp_path: Path):
    shorter = [" ".join(line.split()[:5]) for line in RIGHT]
    drawn = rows((30, THIRD), (200, shorter), (380, THIRD))
    text = " ".join(text for _, text in read(tmp_path, drawn))
    assert text.split() == " ".join([*THIRD, *shorter, *THIRD]).split()


def test_columns_drawn_one_after_the_other_stay_so(tmp_path: Path):
    drawn = rows((50, LEFT)) + rows((320, RIGHT))
    assert " ".join(text for _, text in read(tmp_path, drawn)) == " ".join(LEFT + RIGHT)


def test_heading_over_the_columns_comes_before_both(tmp_path: Path):
    title = "BT /F 18 Tf 150 740 Td (The harbour and its light tower) Tj ET"
    second = "BT /F 14 Tf 50 570 Td (What the ships pay in winter and in summer, by their size and age) Tj ET"
    drawn = [title, *rows((50, LEFT), (320, RIGHT)), second, *rows((50, RIGHT), (320, LEFT), top=540)]
    assert read(tmp_path, drawn) == [
        ("heading", "The harbour and its light tower"),
        ("paragraph", " ".join(LEFT)),
        ("paragraph", " ".join(RIGHT)),
        ("heading", "What the ships pay in winter and in summer, by their size and age"),
        ("paragraph", " ".join(RIGHT)),
        ("paragraph", " ".join(LEFT)),
    ]


@pytest.mark.parametrize(
    "caption",
    [
        "Figure 1: The tower is seen from the pier in the evening, when the light has just been lit.",
        "Figure 1: The tower.",
    ],
)
@pytest.mark.parametrize("x", [50, 260])
def test_figure_over_the_columns_parts_what_is_above_and_below(tmp_path: Path, caption: str, x: int):
    figure = ["50 480 500 120 re S", words(x, 465, caption)]
    drawn = rows((50, LEFT), (320, RIGHT)) + figure + rows((50, RIGHT), (320, LEFT), top=440)
    text = " ".join(text for _, text in read(tmp_path, drawn))
    above, below = text.split(caption)
    assert above.split() == " ".join(LEFT + RIGHT).split()
    assert below.split() == " ".join(RIGHT + LEFT).split()


@pytest.mark.parametrize(
    "cells",
    [
        [("Tea from the north", "3.50 a pound"), ("Tea from the south", "2.70 a pound"), ("Coffee", "4.10 a pound")]
        * 2,
        [
            ("Repairs of the old machine", "Oil, belts and some new screws"),
            ("Supplies for the office room", "Paper, pens and a lot of black ink"),
            ("Journeys of the two agents", "Trains, hotels and the ferry fares"),
            ("Letters to all the customers", "Stamps, envelopes and a messenger"),
        ],
        [("pilot", "who leads ships into the harbour when there is wind"), ("keeper", "who lights the tower")] * 3,
    ],
)
def test_table_that_looks_like_columns_is_read_by_its_rows(tmp_path: Path, cells: list[tuple[str, str]]):
    left, right = [cell for cell, _ in cells], [cell for _, cell in cells]
    text = " ".join(text for _, text in read(tmp_path, rows((50, left), (320, right))))
    assert text.split() == " ".join(f"{one} {other}" for one, other in cells).split()


def test_left_column_that_is_longer_stays_whole(tmp_path: Path):
    drawn = rows((50, LEFT + RIGHT), (320, RIGHT))
    assert " ".join(text for _, text in read(tmp_path, drawn)) == " ".join(LEFT + RIGHT + RIGHT)


@given(
    counts=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    shift=st.integers(0, 12),
    gutter=st.integers(-60, 60),
    around=st.booleans(),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_word_of_columns_comes_once(
    tmp_path: Path, counts: tuple[int, int], shift: int, gutter: int, around: bool
):
    numbers = iter(range(1_000))
    columns = [[" ".join(f"w{next(numbers)}" for _ in range(6)) for _ in range(count)] for count in counts]
    drawn = rows((50, columns[0]), (330 + gutter, columns[1]), shift=shift)
    drawn += [words(200, 750, f"w{next(numbers)}"), words(100, 300, f"w{next(numbers)}")] if around or not drawn else []
    expected = [word for one in drawn for word in one.split("(")[1].split(")")[0].split()]
    found = " ".join(text for _, text in read(tmp_path, drawn)).split()
    assert sorted(found) == sorted(expected)


def column(*lines: str) -> list[str]:
    return rows((50, list(lines)))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("It has been widened after the exam-", "ple of the older ports along the coast."), "the example of"),
        (("It is by now among all of us well-", "known that the ships have to wait here."), "us well-known that"),
        (("The word wellknown is in this text: well-", "known that the ships have to wait here."), "text: wellknown that"),
        (("A light-house and a lamp are here, a light-", "house and no lamp, as it is written above."), "a light-house and"),
        (("The tower and the keeper: this is the tower-", "keeper of the whole coast as we all know."), "the tower-keeper of"),
        (("It is said that the people of the Anglo-", "Saxon coast have to wait here for a ship."), "the Anglo-Saxon coast"),
        (("THE COAST AND ITS TOWERS ARE IN THE INTRO-", "DUCTION OF THE BOOK AND NOT FURTHER BEHIND."), "THE INTRODUCTION"),
        (("The papers say a lot of pre- and post-", "war ships are to be seen at the harbour."), "pre- and postwar"),
        (("They count all the ships before the pre-", "and post-war years of the whole country."), "the pre- and post-war"),
    ],
)  # fmt: skip
def test_word_parted_at_a_line_end_is_put_together_if_it_is_one(tmp_path: Path, lines: tuple[str, ...], expected: str):
    (found,) = read(tmp_path, column(*lines))
    assert expected in found[1]


def test_word_parted_in_a_column_does_not_run_into_the_other(tmp_path: Path):
    left = [*LEFT[:4], "the villages and islands, after the exam-", "ple of the older ports along the whole coast."]
    right = [*RIGHT[:4], "the sailors visit, though it is well-", "known that most of them do not stay for long."]
    assert [text[-110:] for _, text in read(tmp_path, rows((50, left), (320, right)))] == [
        " ".join([*left]).replace("exam- ple", "example")[-110:],
        " ".join([*right]).replace("well- known", "well-known")[-110:],
    ]
