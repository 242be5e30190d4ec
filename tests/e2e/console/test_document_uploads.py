"""Uploads in the console: what is dropped or pasted, how it is watched, stopped and tried again."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.files.sample_files import sample, zipped
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.server import Server

FORMATS = (
    *("handbook.pdf", "handbook.zh.pdf", "operations.docx", "stock.xlsx", "backup.pptx", "manual.html", "guide.md"),
    *("prices.csv", "cities.tsv", "settings.json", "records.jsonl", "lecture.ipynb", "report.odt", "list.ods"),
    *("book.epub", "letter.rtf", "mail.eml", "film.srt", "sample.py", "talk.odp"),
)
WORDS = {
    "en": {
        "ready": "Ready: 23",
        "failed": "Failed: 1",
        "resume": "Resume",
        "waiting": "Waiting: 24",
        "retry": "Process again",
        "reason": "The file is damaged or incomplete",
        "next": "save it again and upload the new copy",
        "hidden": "Hidden, left out",
    },
    "zh": {
        "ready": "就绪：23",
        "failed": "失败：1",
        "resume": "继续",
        "waiting": "等待中：24",
        "retry": "重新处理",
        "reason": "文件已损坏或不完整",
        "next": "重新保存",
        "hidden": "隐藏文件",
    },
}
# What the cells of the table said, over time.
_WATCH = """
() => {
  window.seen = new Set();
  const look = () => document.querySelectorAll("td span").forEach((each) => window.seen.add(each.textContent));
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as people have them: twenty formats, a broken file, a folder with a hidden file, an archive."""
    made = tmp_path / "made"
    made.mkdir()
    root = tmp_path / "documents"
    (root / "notes" / "deep").mkdir(parents=True)
    for name in FORMATS:
        (root / name).write_bytes(sample(name, made).read_bytes())
    (root / "broken.pdf").write_bytes(b"%PDF-1.7\n" + b"nothing " * 40)
    (root / "notes" / "deep" / "valve.md").write_text("# Valve\n\nValve 42 opens at noon.", encoding="utf-8")
    (root / "notes" / ".hidden").write_text("x", encoding="utf-8")
    (root / "parts.zip").write_bytes(zipped({"one.md": "# One\n\nPart one.", "sub/two.txt": "Part two."}))
    return root


def test_files_folders_and_archives_are_dropped_and_watched_until_each_is_ready_or_says_why_not(
    browser_thread,
    embedded: Server,
    member: Api,
    open_console: OpenConsole,
    folder: Path,
    look: Look,
):
    words = WORDS[look.language]
    kb = member.create_kb()
    member.post(f"/knowledge-bases/{kb}/pause")
    console = open_console(embedded, member, look)
    page = console.page
    console.open(f"/knowledge-bases/{kb}")
    console.drop(*sorted(folder.iterdir()))
    expect(page.get_by_text(words["hidden"])).to_be_visible()
    expect(page.get_by_text(words["waiting"])).to_be_visible(timeout=30_000)
    console.picture("upload-waiting")

    page.evaluate(_WATCH)
    page.get_by_role("button", name=words["resume"], exact=True).click()
    expect(page.get_by_text(words["ready"])).to_be_visible(timeout=60_000)
    expect(page.get_by_text(words["failed"])).to_be_visible()
    stages = set(page.evaluate("[...window.seen]"))
    in_work = {"en": "Processing", "zh": "处理中"}[look.language]
    assert in_work in stages, stages
    console.picture("upload-done")
    assert console.serious_faults() == []

    broken = page.get_by_role("row").filter(has_text="broken.pdf")
    expect(broken).to_contain_text(words["reason"])
    expect(broken).to_contain_text(words["next"])
    names = {item["name"] for item in member.get(f"/knowledge-bases/{kb}/documents", page_size=100)["items"]}
    assert {"deep › valve.md", "parts.zip › one.md", "parts.zip › sub › two.txt", *FORMATS} < names

    def read_broken() -> dict[str, Any]:
        return member.get(f"/knowledge-bases/{kb}/documents", name="broken.pdf")["items"][0]

    before = read_broken()["updated_at"]
    broken.get_by_role("button", name=words["retry"]).click()
    eventually(lambda: read_broken()["updated_at"] > before)
    expect(broken).to_contain_text(words["reason"])


class Line:
    """The way of uploads to the server, which can be held, let go and cut."""

    def __init__(self, page: Page) -> None:
        self.held: list[Route] = []
        self.mode = "hold"
        page.route(re.compile(r"/documents/batch"), self._take)

    def _take(self, route: Route) -> None:
        if self.mode == "hold":
            self.held.append(route)
        elif self.mode == "cut":
            route.abort("connectionreset")
        else:
            route.continue_()

    def let_go(self) -> None:
        """Send what is held and hold nothing more."""
        self.mode, held, self.held = "open", self.held, []
        for route in held:
            route.continue_()


def test_upload_is_paused_resumed_cancelled_and_retried(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, tmp_path: Path
):
    kb = member.create_kb()
    member.post(f"/knowledge-bases/{kb}/pause")
    # Too large to travel together, so that four are on their way and six wait.
    files = [tmp_path / f"log {number}.txt" for number in range(10)]
    for number, file in enumerate(files):
        file.write_text(f"line {number}\n" * 11_000, encoding="utf-8")
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}")
    line = Line(page)
    panel = page.get_by_role("region", name="Upload progress")

    console.drop(*files)
    expect(panel).to_contain_text("0 of 10")
    panel.get_by_role("button", name="Pause").click()
    line.let_go()
    expect(panel).to_contain_text("4 new")
    assert member.get(f"/knowledge-bases/{kb}/documents")["total"] == 4
    console.picture("upload-paused")
    panel.get_by_role("button", name="Resume").click()
    expect(panel).to_contain_text("10 files sent")
    assert member.get(f"/knowledge-bases/{kb}/documents")["total"] == 10
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)

    line.mode = "hold"
    for file in files:
        file.write_text(file.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    console.drop(*files)
    expect(panel).to_contain_text("0 of 10")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel).to_contain_text("Upload cancelled after 0 files")
    panel.get_by_role("button", name="Close").click()

    # Without its waiting between the tries.
    page.clock.install()
    line.mode = "cut"
    console.drop(files[0])
    page.clock.run_for(1000)
    for _ in range(4):
        page.clock.run_for(20_000)
    expect(panel).to_contain_text("The server did not answer. Try again.")
    line.mode = "open"
    panel.get_by_role("button", name="Try again").click()
    page.clock.resume()
    expect(panel).to_contain_text("1 replaced")


def test_pasted_text_becomes_a_document(browser_thread, embedded: Server, member: Api, open_console: OpenConsole):
    kb = member.create_kb()
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}")
    page.evaluate(
        """() => {
          const transfer = new DataTransfer();
          transfer.setData("text/plain", "# Valve 42\\n\\nIt opens at noon.");
          document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true }));
        }"""
    )
    dialog = page.get_by_role("dialog", name="Text as a document")
    expect(dialog.get_by_label("Text", exact=True)).to_have_value(re.compile("opens at noon"))
    console.picture("paste-text")
    dialog.get_by_role("button", name="Add the document").click()
    expect(page.get_by_role("row").filter(has_text="Valve 42.md")).to_contain_text("Ready", timeout=30_000)
    assert member.search(kb, "When does the valve open?")[0]["document_name"] == "Valve 42.md"

    page.get_by_role("button", name="Paste text").click()
    dialog.get_by_label("Text", exact=True).fill("Pumps rest on Sundays.")
    dialog.get_by_label("Name").fill("Pumps.txt")
    dialog.get_by_role("button", name="Add the document").click()
    expect(page.get_by_role("row").filter(has_text="Pumps.txt")).to_be_visible()
