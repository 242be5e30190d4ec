"""Entries of RSS and Atom feeds, read from bytes within bounds of time and size."""

import codecs
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast
from xml.parsers import expat

import feedparser

from ingestion.connectors.base import ReadFailure, SourceUnavailable
from ingestion.parsers.text.charset import codec_for_label

MOST_BYTES = 5 * 2**20
# What is no XML goes through feedparser's regular expressions, which take seconds for a megabyte.
_MOST_BROKEN_BYTES = 512 * 1024
# For each element it takes some 20 microseconds, for the attributes of one the square of their number.
_MOST_ELEMENTS = 200_000
_MOST_ATTRIBUTES = 200
_LONGEST_KEY = 1000
_ENTRIES = frozenset({"item", "entry"})
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_LABEL = re.compile(rb"""encoding\s*=\s*["']([A-Za-z0-9_:.-]{2,40})""")
_LONGEST_DECLARATION = 1024
_USUAL = ("utf-8", "ascii", "iso8859", "cp125", "cp874", "cp932", "cp949", "koi8", "gb", "big5", "shift_jis", "euc_")
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
        SourceUnavailable: ``not_a_feed``, ``unsafe_feed`` for entities of its own, ``too_complex``, ``broken_feed``.
    """
    scan = _scan(_in_utf8(body), most)
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
        raise SourceUnavailable(NOT_A_FEED)
    return Feed(tuple(map(_entry, rows[:most])), scan.is_cut or len(rows) > most)


def _in_utf8(body: bytes) -> bytes:
    """The feed in UTF-8 without its declaration: expat reads no encoding in which a character may have several bytes.

    The label decides among the encodings of web pages only; Python has others, of which some take very long.
    """
    text = body.removeprefix(codecs.BOM_UTF8).lstrip()
    if not text.startswith(b"<?xml"):
        return body
    declaration, end, _ = text[:_LONGEST_DECLARATION].partition(b"?>")
    if not end:
        raise SourceUnavailable(NOT_A_FEED)
    rest = text[len(declaration) + len(end) :]
    label = _LABEL.search(declaration)
    codec = codec_for_label(label[1].decode("ascii")) if label else "utf-8"
    try:
        is_usual = codecs.lookup(codec).name.startswith(_USUAL)
    except LookupError:
        is_usual = False
    return rest.decode(codec if is_usual else "utf-8", errors="replace").encode(errors="replace")


@dataclass(frozen=True)
class _Scan:
    body: bytes
    is_cut: bool


def _scan(body: bytes, most: int) -> _Scan:
    """The feed up to its last wanted entry; refuses entities, what takes too long, and long feeds that are no XML."""
    names: list[str] = []
    elements, entries, end, closing = 0, 0, 0, ""

    def start(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal elements, entries, end, closing
        elements += not end
        if elements > _MOST_ELEMENTS or len(attributes) > _MOST_ATTRIBUTES:
            raise SourceUnavailable(TOO_COMPLEX)
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
            raise SourceUnavailable(_broken(reader.ErrorLineNumber)) from error
        return _Scan(body, is_cut=False)
    if entries <= most or body.startswith(_WIDE):
        return _Scan(body, is_cut=False)
    return _Scan(body[:end] + closing.encode(), is_cut=True)


def _entry(row: Mapping[str, Any]) -> FeedEntry:
    contents, is_html = _contents(row)
    return make_entry(
        identity=one_line(row.get("id")),
        title=one_line(row.get("title")),
        link=one_line(row.get("link")),
        contents=contents,
        is_html=is_html,
        published=_date(row),
        changed=one_line(row.get("updated")) or one_line(row.get("published")),
    )


def make_entry(
    *, identity: str, title: str, link: str, contents: str, is_html: bool, published: str, changed: str
) -> FeedEntry:
    """An entry of what a feed says of it; ``identity`` may be empty, and ``changed`` is the time of its last change."""
    digest = sha256("\n".join((title, link, contents)).encode(errors="replace")).hexdigest()
    key = identity or link or digest
    if len(key) > _LONGEST_KEY:
        key = sha256(key.encode(errors="replace")).hexdigest()
    return FeedEntry(key, title, link, contents, is_html, published, f"{changed[:100]} {digest}".strip())


def _contents(row: Mapping[str, Any]) -> tuple[str, bool]:
    """The longest of an entry's texts, and whether that is HTML."""
    parts: list[Mapping[str, Any]] = [*row.get("content", ()), row.get("summary_detail") or {}]
    part = max(parts, key=lambda part: len(part.get("value") or ""))
    return str(part.get("value") or ""), part.get("type") in _HTML


def _date(row: Mapping[str, Any]) -> str:
    time = row.get("published_parsed") or row.get("updated_parsed")
    return f"{time[0]:04}-{time[1]:02}-{time[2]:02}" if time else ""


def one_line(value: object) -> str:
    """A text on one line, without what a database's text can't hold."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


NOT_A_FEED = ReadFailure(
    "not_a_feed",
    "There is no RSS, Atom or JSON feed at this address",
    "该地址不是 RSS、Atom 或 JSON 订阅源",
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
TOO_COMPLEX = ReadFailure(
    "too_complex",
    "The feed has too many elements, or an element with too many attributes",
    "订阅源的元素过多，或某个元素的属性过多",
    "Read fewer of its entries with max_items",
    "请用 max_items 减少读取的条目数",
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
