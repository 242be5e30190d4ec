"""JSON feeds that no honest site would send."""

import json
import time

import pytest

from ingestion.connectors.base import SourceUnavailable
from ingestion.connectors.json_feed import is_json_feed, read_json_feed

VERSION = "https://jsonfeed.org/version/1.1"


def entries(*items: object):
    return read_json_feed(json.dumps({"version": VERSION, "items": items}).encode(), 100).entries


def reason(body: bytes) -> str:
    with pytest.raises(SourceUnavailable) as caught:
        read_json_feed(body, 100)
    return caught.value.failure.reason


def test_what_is_no_entry_is_left_out_and_what_is_no_text_is_empty():
    (first, second) = entries(
        3, None, ["a"], {"id": {"a": 1}, "title": 7, "url": None, "content_html": []}, {"id": "b"}
    )
    assert (first.title, first.link, first.contents, first.is_html) == ("7", "", "", False)
    assert len(first.key) == 64
    assert second.key == "b"


def test_ids_are_text_whatever_they_are():
    ids = [7, 10**30, 1.50, "a\x00b\nc \ud800", "x" * 2000]
    keys = [entry.key for entry in entries(*({"id": each} for each in ids))]
    assert keys[:4] == ["7", "1" + "0" * 30, "1.5", "a b c"]
    assert len(keys[4]) == 64


def test_dates_are_days_in_utc_or_nothing():
    dates = ["2026-11-28T23:30:00-05:00", "2026-11-28", "0001-01-01T00:00:00+14:00", "yesterday", 5, "2" * 10**5]
    found = [entry.published for entry in entries(*({"id": str(date)[:30], "date_published": date} for date in dates))]
    assert found == ["2026-11-29", "2026-11-28", "", "", "", ""]
    (changed,) = entries({"id": "a", "date_published": "2026-01-01", "date_modified": "2026-02-02"})
    assert changed.published == "2026-01-01"
    assert changed.fingerprint.startswith("2026-02-02 ")


def test_second_choices_are_taken_where_the_first_are_missing():
    other = {"external_url": "https://example.org/a", "summary": "In short.", "date_modified": "2026-02-02"}
    (entry,) = entries({"id": "a", **other})
    assert (entry.link, entry.contents, entry.published) == ("https://example.org/a", "In short.", "2026-02-02")
    (entry,) = entries({"id": "a", **other, "url": "/a.html", "content_text": "At length."})
    assert (entry.link, entry.contents) == ("/a.html", "At length.")


def test_feeds_that_are_none_are_refused_in_bounded_time():
    start = time.process_time()
    assert reason(b"{") == "not_a_feed"
    assert reason(b'{"version": "https://jsonfeed.org/version/1", "items": {}}') == "not_a_feed"
    assert reason(b'{"version": 1, "items": []}') == "not_a_feed"
    assert reason(b'{"items": ' + b"[" * 100_000) == "not_a_feed"
    assert reason(b'{"items": [' + b"[]," * 10**6) == "too_complex"
    assert reason(b'{"version": NaN, "items": [' + b"1" * 4 * 2**20 + b"]}") == "not_a_feed"
    assert time.process_time() - start < 5


def test_json_is_told_from_xml_by_its_first_sign():
    assert is_json_feed(b"\xef\xbb\xbf \n{")
    assert not is_json_feed(b"<?xml ?><rss/>")
    assert not is_json_feed(b"")
