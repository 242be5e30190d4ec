"""Passages beside their originals: found, opened at their place, marked in both directions, changed."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console.chat_page import new_chat
from tests.e2e.console.conftest import Console, Look, OpenConsole
from tests.fixtures.files.ruled_pdf import ruled_pdf
from tests.fixtures.files.ruled_pdf import words as words_at
from tests.fixtures.http.client import Api
from tests.fixtures.paths import PARSER_DATA
from tests.fixtures.product.server import Server

GUIDE = """# Relay

The relay listens on port 7070 for its operators.

## Restart

To restart the relay, press the blue button for three seconds.

## Storage

| shelf | content |
|---|---|
| north | zebra food |
| south | lamps |
"""
# The quoted words stand in the middle of a passage that goes over three pages.
RELAYS = ruled_pdf(
    [words_at(60, 740 - 20 * line, f"Shelf {line} of the harbour holds the spare lamps.") for line in range(20)],
    [
        *(words_at(60, 740 - 20 * line, f"Drawer {line} of the harbour holds the spare ropes.") for line in range(12)),
        words_at(60, 480, "The relay listens on port 7070 for its operators."),
    ],
    [words_at(60, 740, "Logs are kept for thirty days.")],
)


@pytest.fixture(scope="module")
def library(servers) -> tuple[Server, Api, str, dict[str, str]]:
    """A knowledge base whose sections are passages, with a PDF, a table and Markdown: the ids by name."""
    server: Server = servers("embedded")
    member = server.member()
    kb = member.create_kb(splitter="markdown_sections", chunk_size=200, chunk_overlap=0)
    pdf, table = (PARSER_DATA / name for name in ("handbook.pdf", "prices.csv"))
    files = {"handbook.pdf": pdf.read_bytes(), "prices.csv": table.read_bytes(), "relay.md": GUIDE.encode()}
    return server, member, kb, {name: member.ingest(kb, name, content) for name, content in files.items()}


def find(console: Console, kb: str, question: str, document: str) -> None:
    """Search in the search test and open the hit of this document."""
    console.open(f"/knowledge-bases/{kb}/search?q={question}")
    console.page.get_by_role("article").get_by_role("link", name=document).first.click()
    console.page.wait_for_url("**/documents/*chunk=*")
    console.settle()


def wait_for_mark(console: Console, words: str, name: str = "document-chunk") -> None:
    console.page.wait_for_function(
        "([name, words]) => [...(CSS.highlights.get(name) ?? [])].some((range) => range.toString().includes(words))",
        arg=[name, words],
    )


def is_in_view(page: Page, name: str) -> bool:
    """Whether the first marked words can be seen in what scrolls around them."""
    script = """name => {
      const [range] = CSS.highlights.get(name);
      const [at, view] = [range.getBoundingClientRect(), range.startContainer.parentElement
        .closest("[data-scroll]").getBoundingClientRect()];
      return at.top >= view.top && at.bottom <= view.bottom;
    }"""
    return bool(page.evaluate(script, name))


def test_hit_in_a_pdf_opens_at_its_page_with_the_passage_marked(
    browser_thread, library, open_console: OpenConsole, look: Look
):
    server, member, kb, _ = library
    console = open_console(server, member, look)
    find(console, kb, "Appendix", "handbook.pdf")
    wait_for_mark(console, "Appendix")
    page = console.page
    expect(page.get_by_role("toolbar").get_by_role("textbox")).to_have_value("3")
    assert is_in_view(page, "document-chunk"), "the passage is not in view"
    console.picture("hit-in-pdf")
    assert console.serious_faults() == []


def test_hits_in_a_table_and_in_markdown_are_marked(browser_thread, library, open_console: OpenConsole):
    server, member, kb, _ = library
    console = open_console(server, member)
    find(console, kb, "melon", "prices.csv")
    wait_for_mark(console, "melon")
    expect(console.page.get_by_role("cell", name="melon")).to_be_visible()
    console.picture("hit-in-table")
    find(console, kb, "How is the relay restarted?", "relay.md")
    wait_for_mark(console, "press the blue button")
    assert "port 7070" not in console.highlighted("document-chunk")


def test_passage_and_original_mark_each_other(browser_thread, library, open_console: OpenConsole):
    server, member, kb, documents = library
    console = open_console(server, member)
    console.open(f"/knowledge-bases/{kb}/documents/{documents['relay.md']}")
    page = console.page
    card = page.get_by_role("article").filter(has_text="blue button")
    card.hover()
    wait_for_mark(console, "blue button", "document-hover")
    card.get_by_role("button", name=re.compile("^Passage")).click()
    wait_for_mark(console, "blue button")
    original = page.get_by_role("region", name="Original")
    original.get_by_text("zebra food").click()
    wait_for_mark(console, "zebra food")
    chosen = page.get_by_role("article").filter(has_text="zebra food")
    expect(chosen.get_by_role("button", name=re.compile("^Passage"))).to_have_attribute("aria-pressed", "true")
    # A link to a few words of a passage marks just these, on both sides.
    [chunk] = [c for c in _chunks(member, kb, documents["relay.md"]) if "7070" in c["content"]]
    start = chunk["char_start"] + chunk["content"].index("port 7070")
    console.open(
        f"/knowledge-bases/{kb}/documents/{documents['relay.md']}?chunk={chunk['id']}&start={start}&end={start + 9}"
    )
    wait_for_mark(console, "port 7070", "document-quote")
    assert console.highlighted("document-quote") == "port 7070"
    expect(page.locator("mark")).to_have_text("port 7070")


def _chunks(member: Api, kb: str, document: str) -> list[dict]:
    return member.get(f"/knowledge-bases/{kb}/documents/{document}/chunks", page_size=100)["items"]


def _shown(page: Page, words: str):
    return page.get_by_role("article").filter(has_text=words)


def test_passage_is_edited_and_switched_off_and_searches_follow_at_once(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    kb = member.create_kb(splitter="markdown_sections", chunk_size=200, chunk_overlap=0)
    document = member.ingest(kb, "relay.md", GUIDE)
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}/documents/{document}")
    card = _shown(page, "blue button")
    card.get_by_role("button", name=re.compile("^Edit passage")).click()
    field = page.get_by_role("textbox", name="Text")
    field.fill(field.input_value().replace("blue button", "green lever"))
    console.picture("edit-passage")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(_shown(page, "green lever")).to_contain_text("Edited")

    console.open(f"/knowledge-bases/{kb}/search?q=green lever")
    expect(_shown(page, "green lever")).to_be_visible()
    page.get_by_role("link", name="relay.md").first.click()
    switch = _shown(page, "green lever").get_by_role("switch", name="Used in searches")
    switch.click()
    expect(_shown(page, "green lever")).to_contain_text("Switched off")

    console.open(f"/knowledge-bases/{kb}/search?q=green lever")
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    expect(page.get_by_role("article").first).to_be_visible()
    expect(_shown(page, "green lever")).to_have_count(0)
    console.open(f"/knowledge-bases/{kb}/documents/{document}?changed=true")
    expect(page.get_by_role("article")).to_have_count(1)


def test_citation_of_a_pdf_opens_its_page_beside_the_answer_with_the_quote_marked(
    browser_thread,
    library,
    open_console: OpenConsole,
    look: Look,
):
    server, _, _, _ = library
    member = server.member()
    kb = member.create_kb()
    member.ingest(kb, "relays.pdf", RELAYS)
    words = look.words("chat")
    console = open_console(server, member, look)
    chat = new_chat(member, console, knowledge_base_ids=[kb])
    chat.ask("On which port does the relay listen?")
    chat.wait_for_answer()
    # In the list below the answer: the quote's page, not the one on which its passage begins.
    sources = chat.turns.get_by_role("region", name=words("sources.title"), exact=True)
    expect(sources.get_by_role("listitem")).to_contain_text([words("sources.page", page=2)])
    sources.get_by_role("button", name=re.compile(r"relays\.pdf")).click()
    panel = console.page.get_by_role("complementary", name=words("sources.panel"), exact=True)
    expect(panel.get_by_role("heading", name="relays.pdf")).to_be_visible()
    expect(panel.get_by_role("toolbar").get_by_role("textbox")).to_have_value("2")
    expect(panel.get_by_text(words("sources.page", page=2))).to_be_visible()
    wait_for_mark(console, "port 7070", "document-quote")
    assert is_in_view(console.page, "document-quote"), "the quote is not in view"
    if not look.is_phone:
        # The answer stays beside its source.
        answer, source = chat.turns.first.bounding_box(), panel.bounding_box()
        assert answer
        assert source
        assert answer["x"] + answer["width"] <= source["x"]
    console.picture("citation-in-pdf")
    # The address brings the same place back.
    console.page.reload()
    wait_for_mark(console, "port 7070", "document-quote")
    expect(panel.get_by_role("toolbar").get_by_role("textbox")).to_have_value("2")
    panel.get_by_role("button", name=words("common:action.close")).click()
    expect(panel).to_have_count(0)
