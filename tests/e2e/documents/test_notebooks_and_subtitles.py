"""Notebooks, subtitles, TeX, calendars and their like over HTTP: found by what they say, or refused with what to do."""

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.paths import PARSER_DATA
from tests.fixtures.product.server import one_shape

pytestmark = one_shape


@pytest.mark.parametrize(
    ("name", "file_type", "query", "words"),
    [
        ("lecture.ipynb", "ipynb", "low water at noon", "low water at noon"),
        ("meeting.vtt", "vtt", "Who says that the engine is ready?", "Ada Lovelace: The engine & its cards are ready."),
        ("paper.tex", "tex", "How much faster is the engine?", "The engine works 50 % faster"),
        ("works.bib", "bib", "Who wrote about the Analytical Engine?", "Lovelace, Ada and Gödel, Kurt"),
        ("people.vcf", "vcf", "Where does Ada Lovelace live?", "Address (home): 12 St James Square"),
        ("german.po", "po", "Welcome to the harbour", "= Willkommen im Hafen"),
        ("harbour.ics", "ics", "Where is the weekly review?", "Location: Room 3"),
    ],
)
def test_file_is_found_by_what_it_says(user: Api, name: str, file_type: str, query: str, words: str):
    kb = user.create_kb()
    document_id = user.ingest(kb, name, (PARSER_DATA / name).read_bytes())
    assert user.document(kb, document_id)["file_type"] == file_type
    assert words in user.search(kb, query)[0]["content"]


def test_passage_of_subtitles_names_its_time(user: Api):
    kb = user.create_kb()
    user.ingest(kb, "film.srt", (PARSER_DATA / "film.srt").read_bytes())
    texts = [hit["content"] for hit in user.search(kb, "Are the ships in?")]
    assert "ADA: Are the ships in?" in texts[0]
    assert "00:00:03,600" not in "".join(texts)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.ipynb", '{"cells": ['), ("a.srt", "a letter"), ("a.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\n")],
)
def test_file_that_breaks_off_says_what_to_do(user: Api, name: str, content: str):
    kb = user.create_kb()
    row = user.wait(kb, user.upload(kb, name, content))
    assert (row["status"], row["failure"]["reason"]) == ("failed", "corrupt_file")
    assert "save it again" in row["failure"]["next_action"]
