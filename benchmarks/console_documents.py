"""Times the console's documents: a knowledge base of ten thousand, and one document of two thousand passages.

Run with ``python -m benchmarks.console_documents``. The product is a real one; the rows of the ten thousand documents
are written as a finished ingestion would, the long document is ingested.
"""

import argparse
import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from benchmarks.console_browser import TimedPage, timed_page
from benchmarks.product import Product, SampleDocument, logged_in, running_product
from core.db.database import open_database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.settings import Settings
from kb_service.failures import Outage
from kb_service.models import Document, DocumentStage, DocumentStatus

_DOCUMENTS, _PASSAGES = 10_000, 2_000
_ROWS_AT_ONCE = 1000
_WAIT_MS = 60_000
_STATUSES = (DocumentStatus.COMPLETED,) * 18 + (DocumentStatus.FAILED, DocumentStatus.PAUSED)
_DAMAGED = Outage("corrupt_file", "The file is damaged", "文件已损坏", "Save it again", "请重新保存").words
_TOPICS = ("Invoice", "Handbook", "Protokoll", "会议纪要", "Contract", "Инструкция")


@dataclass(frozen=True)
class TimedAct:
    """What somebody did.

    Attributes:
        name: in words.
        milliseconds: until the page showed it.
        longest_task: milliseconds of the longest task meanwhile; 0 for none over 50.
    """

    name: str
    milliseconds: float
    longest_task: float


async def _fill(product: Product, kb_id: str) -> None:
    """Add rows of documents that are done, failed or wait."""
    database = open_database(Settings(_env_file=None, data_dir=product.data_dir))
    try:
        for start in range(0, _DOCUMENTS, _ROWS_AT_ONCE):
            async with unit_of_work(database) as work:
                work.session.add_all(_document(kb_id, number) for number in range(start, start + _ROWS_AT_ONCE))
    finally:
        await database.close()


def _document(kb_id: str, number: int) -> Document:
    id_, status = new_id(), _STATUSES[number % len(_STATUSES)]
    is_done = status is DocumentStatus.COMPLETED
    return Document(
        id=id_,
        knowledge_base_id=kb_id,
        name=f"{_TOPICS[number % len(_TOPICS)]} {number:05}.md",
        file_type="markdown",
        media_type="text/markdown",
        file_size=1000 + number,
        sha256="0" * 64,
        storage_key=id_,
        status=status.value,
        stage=DocumentStage.DONE.value,
        progress=100 if is_done else 0,
        active_revision=1 if is_done else None,
        chunk_count=3 if is_done else 0,
        failure=_DAMAGED if status is DocumentStatus.FAILED else None,
        completed_at=utc_now() if is_done else None,
    )


def _long_document() -> SampleDocument:
    sections = (
        f"## Rule {number}\n\nRule {number} of the relay says that valve {number} opens at minute {number % 60}, and "
        "that whoever opens it by hand writes down the time, the name and the reason.\n"
        for number in range(_PASSAGES)
    )
    return SampleDocument("rules.md", ("# Rules\n\n" + "\n".join(sections)).encode())


async def _prepare(product: Product) -> tuple[str, str, str]:
    """Ids of the large knowledge base, of the one with the long document, and of that document."""
    async with logged_in(product) as session:
        large = await session.create("Ten thousand")
        # What is written into the tables by another process must not be taken for work.
        await session.call("POST", f"/api/v1/knowledge-bases/{large}/pause")
        await _fill(product, large)
        long = await session.create("Rules", splitter="markdown_sections", chunk_size=200, chunk_overlap=0)
        ingested = await session.ingest(long, [_long_document()])
    print(f"{_DOCUMENTS} documents; one document of {ingested.chunks} passages, ingested in {ingested.seconds:.0f} s")
    return large, long, ingested.documents["rules.md"]


@contextmanager
def _timed(tab: TimedPage, acts: list[TimedAct], name: str) -> Iterator[None]:
    tab.longest_task()
    started = time.perf_counter()
    yield
    shown = (time.perf_counter() - started) * 1000
    # What the browser does after the page shows it belongs to it.
    tab.page.wait_for_timeout(500)
    acts.append(TimedAct(name, shown, tab.longest_task()))


def _list_acts(tab: TimedPage, large: str) -> list[TimedAct]:
    page, acts = tab.page, list[TimedAct]()
    rows = page.locator("tbody tr")
    with _timed(tab, acts, "open the list of 10,000"):
        page.goto(f"{tab.base}/knowledge-bases/{large}")
        expect(rows).to_have_count(50, timeout=_WAIT_MS)
    steps: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("scroll to its end", lambda: page.keyboard.press("End"), lambda: rows.last.is_visible()),
        (
            "last page of 200",
            lambda: page.goto(f"{tab.base}/knowledge-bases/{large}?page=200"),
            lambda: expect(rows).to_have_count(50),
        ),
        (
            "sort by name",
            lambda: page.get_by_role("button", name="Name", exact=True).click(),
            lambda: expect(rows.first).to_contain_text("Contract 00004"),
        ),
        (
            "a part of a name, typed",
            lambda: page.get_by_role("searchbox", name="Part of a name").press_sequentially("инстр", delay=60),
            lambda: expect(page.get_by_text(re.compile("1,?666 documents"))).to_be_visible(),
        ),
        (
            "only those that failed",
            lambda: page.goto(f"{tab.base}/knowledge-bases/{large}?status=failed"),
            lambda: expect(page.get_by_text("500 documents: Failed")).to_be_visible(),
        ),
        (
            "select the page",
            lambda: page.get_by_label("Select all on this page").check(),
            lambda: expect(page.get_by_text("50 selected")).to_be_visible(),
        ),
        (
            "ask before deletion",
            lambda: page.get_by_role("region", name="Actions for several").get_by_role("button", name="Delete").click(),
            lambda: expect(page.get_by_role("alertdialog").or_(page.get_by_role("dialog"))).to_be_visible(),
        ),
    ]
    for name, act, shows in steps:
        with _timed(tab, acts, name):
            act()
            shows()
    return acts


def _document_acts(tab: TimedPage, kb_id: str, document_id: str) -> list[TimedAct]:
    page, acts = tab.page, list[TimedAct]()
    place = f"{tab.base}/knowledge-bases/{kb_id}/documents/{document_id}"
    cards = page.get_by_role("article")
    with _timed(tab, acts, "open the document of 2,000 passages"):
        page.goto(place)
        expect(cards.first).to_be_visible(timeout=_WAIT_MS)
        expect(page.get_by_role("region", name="Original").get_by_text("Rule 3 of the relay")).to_be_attached()
    with _timed(tab, acts, "scroll through its passages"):
        _scroll(page, "[aria-label=Passages] ol")
        expect(cards.filter(has_text="Rule 1999 of the relay")).to_be_visible(timeout=_WAIT_MS)
    with _timed(tab, acts, "scroll through the original"):
        _scroll(page, "[aria-label=Original] [data-scroll] > *")
    with _timed(tab, acts, "select a passage, marked in the original"):
        cards.filter(has_text="Rule 1999 of the relay").get_by_role("button").first.click()
        page.wait_for_function("() => (CSS.highlights.get('document-chunk')?.size ?? 0) > 0", timeout=_WAIT_MS)
    chunk = page.url.partition("chunk=")[2]
    with _timed(tab, acts, "open a link to its last passage"):
        page.goto(f"{place}?chunk={chunk}")
        page.wait_for_function("() => (CSS.highlights.get('document-chunk')?.size ?? 0) > 0", timeout=_WAIT_MS)
    return acts


def _scroll(page: Page, inner: str) -> None:
    """Scroll the frame around an element to its end, in steps as a person's."""
    for part in range(1, 21):
        page.evaluate(
            "([inner, part]) => { const frame = document.querySelector(inner).parentElement;"
            " frame.scrollTop = frame.scrollHeight * part / 20; }",
            [inner, part],
        )
        page.wait_for_timeout(50)


def _print(title: str, acts: list[TimedAct]) -> None:
    print(f"\n| {title} | shown after | longest task |\n|---|---|---|")
    for act in acts:
        print(f"| {act.name} | {act.milliseconds:.0f} ms | {act.longest_task:.0f} ms |")


def main() -> None:
    """Fill a product, do in its console what people do, and print how long each thing took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slower", type=float, default=1, help="give the tab one part in so many of the processor")
    arguments = parser.parse_args()
    with running_product() as product:
        large, long, document = asyncio.run(_prepare(product))
        with timed_page(product) as tab:
            if arguments.slower > 1:
                tab.slow_down(arguments.slower)
            _print("list", _list_acts(tab, large))
            _print("document", _document_acts(tab, long, document))


if __name__ == "__main__":
    main()
