"""Entries of JSON feeds (jsonfeed.org, versions 1 and 1.1), read from bytes within bounds of time and size."""

import codecs
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, cast

from ingestion.connectors.base import SourceUnavailable
from ingestion.connectors.feed_entries import NOT_A_FEED, TOO_COMPLEX, Feed, FeedEntry, make_entry, one_line

# Each value takes up to a hundred bytes of memory, and has one of these before it.
_MOST_VALUES = 500_000
_SIGNS = (b",", b"[", b"{")
_VERSION = "jsonfeed.org/version/"
_LONGEST_DATE = 64


def is_json_feed(body: bytes) -> bool:
    """Whether a body can be no other feed: whatever its media type, as many sites name a general one."""
    return body.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"


def read_json_feed(body: bytes, most: int) -> Feed:
    """The first ``most`` entries of a feed, in its order; what is no entry is left out.

    Attachments are not read, as those of other feeds are not, nor are further pages (``next_url``).

    Args:
        body: never longer than ``MOST_BYTES``.

    Raises:
        SourceUnavailable: ``not_a_feed``, ``too_complex``.
    """
    if sum(map(body.count, _SIGNS)) > _MOST_VALUES:
        raise SourceUnavailable(TOO_COMPLEX)
    feed = _load(body)
    rows = feed.get("items")
    if _VERSION not in _text(feed, "version") or not isinstance(rows, list):
        raise SourceUnavailable(NOT_A_FEED)
    items = [cast("Mapping[str, Any]", row) for row in cast("list[object]", rows) if isinstance(row, dict)]
    return Feed(tuple(map(_entry, items[:most])), len(items) > most)


def _load(body: bytes) -> Mapping[str, Any]:
    text = body.removeprefix(codecs.BOM_UTF8).decode(errors="replace")
    try:
        # Numbers as they are written: an id may be one, of any length.
        feed: object = json.loads(text, parse_int=str, parse_float=str, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise SourceUnavailable(NOT_A_FEED) from error
    return cast("Mapping[str, Any]", feed) if isinstance(feed, dict) else {}


def _entry(row: Mapping[str, Any]) -> FeedEntry:
    text_html, text_plain = _text(row, "content_html"), _text(row, "content_text") or _text(row, "summary")
    dates = [one_line(row.get(name))[:_LONGEST_DATE] for name in ("date_modified", "date_published")]
    return make_entry(
        identity=one_line(row.get("id")),
        title=one_line(row.get("title")),
        # Else what the entry writes about.
        link=one_line(row.get("url")) or one_line(row.get("external_url")),
        contents=text_html or text_plain,
        is_html=bool(text_html),
        published=_day(dates[1]) or _day(dates[0]),
        changed=dates[0] or dates[1],
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _day(date: str) -> str:
    """The day of a time such as ``2026-11-28T10:00:00+08:00`` (RFC 3339), in UTC; empty for what is none."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(date)
        return (time.astimezone(UTC) if time.tzinfo else time).date().isoformat()
    return ""
