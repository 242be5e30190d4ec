"""Passages of scans and pictures: the places of their words are marked over the page."""

import io
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from ingestion.parsers.image.ocr import is_ready
from tests.e2e.console.conftest import Console, Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.paths import PARSER_DATA
from tests.fixtures.product.server import Server

pytestmark = pytest.mark.skipif(not is_ready(), reason="no text recognition here: agentex[ocr] and its language data")

# Where the words of ``notice.png`` stand, in its pixels: left, top, right, bottom.
ENGLISH_LINES = (62, 66, 985, 184)
SECOND_LINE = (62, 136, 645, 184)
CHINESE_LINE = (62, 313, 1003, 358)
WIDTH, HEIGHT = 1500, 560
ORIENTATION = 274
# The second page is a notice in the lower half of a sheet.
SHEET_HEIGHT, NOTICE_TOP = 2 * HEIGHT, HEIGHT


def sheets() -> list[Image.Image]:
    """Two pages: a blank one with a line, and the notice in the lower half of a sheet."""
    with Image.open(PARSER_DATA / "notice.png") as image:
        notice = image.convert("L")
    first, second = (Image.new("L", (WIDTH, SHEET_HEIGHT), 255) for _ in range(2))
    first.paste(notice.crop((0, 300, WIDTH, 360)), (0, 100))
    second.paste(notice, (0, NOTICE_TOP))
    return [first, second]


def scan() -> bytes:
    """A PDF without a text layer."""
    return saved(sheets(), "PDF", resolution=150)


def fax() -> bytes:
    """A TIFF as scanners and fax machines write it: black and white, and lying on its side (tag 274)."""
    turned = [sheet.transpose(Image.Transpose.ROTATE_90).convert("1") for sheet in sheets()]
    return saved(turned, "TIFF", compression="group4", tiffinfo={ORIENTATION: 6})


def saved(pages: list[Image.Image], form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pages[0].save(buffer, form, save_all=True, append_images=pages[1:], **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def library(servers) -> tuple[Server, Api, dict[str, str]]:
    """A knowledge base each, by the name of its document: of two passages with the same text a search shows one."""
    server: Server = servers("embedded")
    member = server.member()
    files = {"scan.pdf": scan(), "fax.tif": fax(), "notice.png": (PARSER_DATA / "notice.png").read_bytes()}
    bases = {name: member.create_kb(splitter="sentence", chunk_size=32, chunk_overlap=0) for name in files}
    for name, kb in bases.items():
        member.ingest(kb, name, files[name])
    return server, member, bases


def open_quote(console: Console, member: Api, kb: str, words: str) -> None:
    """Open the only document of a knowledge base at these words of a passage, as a citation does."""
    (document,) = member.get(f"/knowledge-bases/{kb}/documents")["items"]
    chunks = member.get(f"/knowledge-bases/{kb}/documents/{document['id']}/chunks")["items"]
    [chunk] = [chunk for chunk in chunks if words in chunk["content"]]
    start = chunk["char_start"] + chunk["content"].index(words)
    span = f"start={start}&end={start + len(words)}"
    console.open(f"/knowledge-bases/{kb}/documents/{document['id']}?chunk={chunk['id']}&{span}")


def check_place(boxes: Locator, page: Locator, place: tuple[float, float, float, float]) -> None:
    """The boxes cover a place, given in shares of a page, within two per cent of that."""
    expect(boxes).to_be_visible(timeout=60_000)
    inner, outer = boxes.bounding_box(), page.bounding_box()
    assert inner
    assert outer
    left, top = (inner["x"] - outer["x"]) / outer["width"], (inner["y"] - outer["y"]) / outer["height"]
    sides = (left, top, left + inner["width"] / outer["width"], top + inner["height"] / outer["height"])
    assert sides == pytest.approx(place, abs=0.02)


def in_view(boxes: Locator) -> bool:
    script = """element => {
      const [at, view] = [element, element.closest("[data-scroll]")].map((part) => part.getBoundingClientRect());
      return at.top >= view.top && at.bottom <= view.bottom;
    }"""
    return bool(boxes.evaluate(script))


@pytest.mark.parametrize("name", ["scan.pdf", "fax.tif"])
def test_passage_of_a_scan_is_marked_where_its_words_are(
    browser_thread, library, open_console: OpenConsole, look: Look, name: str
):
    server, member, bases = library
    console = open_console(server, member, look)
    console.open(f"/knowledge-bases/{bases[name]}/search?q=thirty days")
    hits = console.page.get_by_role("article").filter(has_text="thirty days")
    hits.get_by_role("link", name=name).first.click()
    console.page.wait_for_url("**/documents/*chunk=*")
    console.settle()
    sheet = console.page.locator("[data-scroll] section").nth(1)
    passage = sheet.locator("[data-boxes=passage] > g > g").last
    left, top, right, bottom = ENGLISH_LINES
    place = (left / WIDTH, (NOTICE_TOP + top) / SHEET_HEIGHT, right / WIDTH, (NOTICE_TOP + bottom) / SHEET_HEIGHT)
    check_place(passage, sheet, place)
    assert in_view(passage)
    console.picture(name.replace(".", "-"))
    assert console.serious_faults() == []
    # By a click on its words another passage is chosen.
    box, address = sheet.bounding_box(), console.page.url
    assert box
    left, top, right, bottom = CHINESE_LINE
    place = (left / WIDTH, (NOTICE_TOP + top) / SHEET_HEIGHT, right / WIDTH, (NOTICE_TOP + bottom) / SHEET_HEIGHT)
    sheet.click(position={"x": 0.3 * box["width"], "y": (place[1] + place[3]) / 2 * box["height"]})
    console.page.wait_for_url(lambda now: now != address)
    console.settle()
    check_place(passage, sheet, place)


def test_quote_in_a_picture_is_marked_within_its_passage(
    browser_thread, library, open_console: OpenConsole, look: Look
):
    server, member, bases = library
    console = open_console(server, member, look)
    open_quote(console, member, bases["notice.png"], "It keeps the last thirty days.")
    picture = console.page.locator("[data-scroll] img")
    for name, (left, top, right, bottom) in (("passage", ENGLISH_LINES), ("quote", SECOND_LINE)):
        boxes = console.page.locator(f"[data-boxes={name}] > g > g").last
        check_place(boxes, picture, (left / WIDTH, top / HEIGHT, right / WIDTH, bottom / HEIGHT))
    console.picture("picture")
    assert console.serious_faults() == []
