"""Entries of RSS and Atom feeds, read from bytes within bounds of time and size."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast
from xml.parsers import expat

import feedparser

from ingestion.connectors.base import ReadFailure, SourceUnavailable

MOST_BYTES = 5 * 2**20
# What is no XML goes through feedparser's regular expressions, which take seconds for a megabyte.
_MOST_BROKEN_BYTES = 512 * 1024
_LONGEST_KEY = 1000
_ENTRIES = frozenset({"item", "entry"})
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00<", b"<\x00")


@dataclass(frozen=True)
class FeedEntry:
    """One entry of a feed.

    Args:
        key: its id, else its link, else a hash of it.
        link: as the feed has it; may be empty or anything.
        contents: the fullest of its texts; HTML if ``is_html``.
        published: a date such as ``2026-11-28``, or empty.
        fingerprint: of the time of its last change and of all of the above.
    """

    key: str
    title: str
    link: str
    contents: str
    is_html: bool
    published: str
    fingerprint: str


@dataclass(frozen=True)
class Feed:
    """The first entries of a feed; ``is_cut`` if it has more."""

    entries: tuple[FeedEntry, ...]
    is_cut: bool


def read_feed(body: bytes, url: str, most: int) -> Feed:
    """The first ``most`` entries of a feed, in its order.

    Args:
        body: never longer than ``MOST_BYTES``.
        url: of the feed, which relative links are joined with.

    Raises:
        SourceUnavailable: ``not_a_feed``, ``unsafe_feed`` for entities of its own, ``broken_feed``.
    """
    scan = _scan(body, most)
    # From a stream: what is no stream would be opened as a file or fetched as an address.
    parsed = cast(
        "Mapping[str, Any]",
        feedparser.parse(  # pyright: ignore[reportUnknownMemberType]
            io.BytesIO(scan.body),
            response_headers={"content-location": url, "content-type": "application/xml"},
            # The parser of documents drops what is no text, and these take long.
            resolve_relative_uris=False,
            sanitize_html=False,
        ),
    )
    rows: list[Mapping[str, Any]] = parsed["entries"]
    if not (parsed["version"] or rows):
        raise SourceUnavailable(_NOT_A_FEED)
    return Feed(tuple(map(_entry, rows[:most])), scan.is_cut or len(rows) > most)


@dataclass(frozen=True)
class _Scan:
    body: bytes
    is_cut: bool


def _scan(body: bytes, most: int) -> _Scan:
    """The feed up to its last wanted entry; refuses entities, and long feeds that are no XML."""
    names: list[str] = []
    entries, end, closing = 0, 0, ""

    def start(name: str, _attributes: object) -> None:
        nonlocal entries, end, closing
        if name.rpartition(":")[2].lower() in _ENTRIES:
            entries += 1
            if entries == most + 1:
                end, closing = reader.CurrentByteIndex, "".join(f"</{name}>" for name in reversed(names))
        names.append(name)

    def declare(*_: object) -> None:
        raise SourceUnavailable(_UNSAFE)

    reader = expat.ParserCreate()
    reader.StartElementHandler = start
    reader.EndElementHandler = lambda _name: names.pop()
    reader.EntityDeclHandler = declare
    try:
        reader.Parse(body, True)
    except expat.ExpatError as error:
        if b"<!ENTITY" in body:
            raise SourceUnavailable(_UNSAFE) from error
        if len(body) > _MOST_BROKEN_BYTES:
            raise SourceUnavailable(_broken(error.lineno)) from error
        return _Scan(body, is_cut=False)
    if entries <= most or body.startswith(_WIDE):
        return _Scan(body, is_cut=False)
    return _Scan(body[:end] + closing.encode(), is_cut=True)


def _entry(row: Mapping[str, Any]) -> FeedEntry:
    title, link = _line(row.get("title")), _line(row.get("link"))
    contents, is_html = _contents(row)
    changed = _line(row.get("updated")) or _line(row.get("published"))
    digest = sha256("\n".join((title, link, contents)).encode(errors="replace")).hexdigest()
    key = _line(row.get("id")) or link or digest
    if len(key) > _LONGEST_KEY:
        key = sha256(key.encode(errors="replace")).hexdigest()
    fingerprint = f"{changed[:100]} {digest}".strip()
    return FeedEntry(key, title, link, contents, is_html, _date(row), fingerprint)


def _contents(row: Mapping[str, Any]) -> tuple[str, bool]:
    """The longest of an entry's texts, and whether that is HTML."""
    parts: list[Mapping[str, Any]] = [*row.get("content", ()), row.get("summary_detail") or {}]
    part = max(parts, key=lambda part: len(part.get("value") or ""))
    return str(part.get("value") or ""), part.get("type") in _HTML


def _date(row: Mapping[str, Any]) -> str:
    time = row.get("published_parsed") or row.get("updated_parsed")
    return f"{time[0]:04}-{time[1]:02}-{time[2]:02}" if time else ""


def _line(value: object) -> str:
    """A value on one line, without what a database's text can't hold."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


_NOT_A_FEED = ReadFailure(
    "not_a_feed",
    "There is no RSS or Atom feed at this address",
    "该地址不是 RSS 或 Atom 订阅源",
    "Give the address of the feed itself, which the site's pages often link to; for a page, use a web source",
    "请填写订阅源本身的地址（网站页面上通常有链接）；若是网页，请使用 web 来源",
)
_UNSAFE = ReadFailure(
    "unsafe_feed",
    "The feed declares entities of its own, which are not expanded",
    "该订阅源自行声明了实体，系统不会展开",
    "Ask whoever runs the site for a feed without them",
    "请联系网站管理者提供不含实体声明的订阅源",
)


def _broken(line: int) -> ReadFailure:
    return ReadFailure(
        "broken_feed",
        f"The feed is no well-formed XML (line {line}), and too long to be read in spite of that",
        f"该订阅源不是格式正确的 XML（第 {line} 行），且过长，无法容错读取",
        "Ask whoever runs the site to mend it",
        "请联系网站管理者修复",
    )


def too_large_feed() -> ReadFailure:
    """The failure of a feed beyond ``MOST_BYTES``."""
    return ReadFailure(
        "too_large",
        f"The feed is larger than {MOST_BYTES} bytes",
        f"订阅源超过 {MOST_BYTES} 字节",
        "Give the address of a shorter feed; many sites have one for each topic",
        "请使用较短的订阅源；许多网站按主题提供订阅源",
    )
