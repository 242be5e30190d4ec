"""Answers of feeds that are kept for the next sync."""

from pathlib import Path

from ingestion.connectors.feed_cache import CachedFeed, load_feed, store_feed

ASKED = "https://example.org/feed"
FEED = CachedFeed("https://example.org/feed.xml", {"If-None-Match": '"1"'}, b"<rss>\n</rss>")


def test_answer_is_kept_for_the_address_that_was_asked_and_for_no_other(tmp_path: Path):
    store_feed(tmp_path, ASKED, FEED)
    assert load_feed(tmp_path, ASKED) == FEED
    assert load_feed(tmp_path, FEED.url) is None


def test_answer_that_was_not_written_to_its_end_is_none(tmp_path: Path):
    store_feed(tmp_path, ASKED, FEED)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert load_feed(tmp_path, ASKED) is None
