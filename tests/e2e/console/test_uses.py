"""What people come for: documents that are found, a skill that is written, an answer with its source."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server

HANDBOOK = """# Handbook of the relay

## Ports

The relay listens on port 7070 for its operators.

## Restart

To restart the relay, press the blue button for three seconds.
"""


@pytest.mark.every_look
def test_documents_are_dropped_watched_searched_and_opened_at_the_passage(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    console, name = open_console(embedded, member, look), unique("Manuals")
    page, words, search = console.page, look.words("knowledge"), look.words("search")
    console.open("/knowledge-bases")
    page.get_by_role("button", name=words("create.open")).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(words("field.name")).fill(name)
    dialog.get_by_role("button", name=words("common:action.create"), exact=True).click()
    page.wait_for_url("**/knowledge-bases/*-*")

    files = [
        {"name": f"note {number}.md", "mimeType": "text/markdown", "buffer": b"# Note\n\nNothing."}
        for number in range(19)
    ]
    files.append({"name": "handbook.md", "mimeType": "text/markdown", "buffer": HANDBOOK.encode()})
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=words("upload.files"), exact=True).click()
    chooser.value.set_files(files)
    expect(page.get_by_role("link", name="handbook.md")).to_be_visible()
    kb = page.url.rpartition("/")[2].partition("?")[0]
    # Without a reload: the page follows the work.
    expect(page.get_by_role("row", name=re.compile("handbook.md"))).to_contain_text(
        words("status.completed"), timeout=60_000
    )
    console.picture("documents-after-upload")

    page.get_by_role("link", name=words("tab.search"), exact=True).last.click()
    # The list of documents has a search field, too.
    expect(page.get_by_role("heading", name=search("test.title"))).to_be_visible()
    page.get_by_role("searchbox").fill("How is the relay restarted?")
    page.keyboard.press("Enter")
    hit = page.get_by_role("link", name="handbook.md").first
    expect(hit).to_be_visible()
    hit.click()
    page.wait_for_url(f"**/knowledge-bases/{kb}/documents/*chunk=*")
    expect(page.get_by_text("press the blue button").first).to_be_visible()


@pytest.mark.every_look
def test_question_on_the_first_page_is_answered_with_a_source_that_opens_beside_it(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    kb = member.create_kb()
    member.ingest(kb, "handbook.md", HANDBOOK)
    console = open_console(embedded, member, look)
    page, words, home = console.page, look.words("chat"), look.words("home")
    console.open("/")
    page.get_by_role("textbox", name=home("ask.label")).fill("On which port does the relay listen?")
    page.get_by_role("button", name=home("ask.submit"), exact=True).click()
    page.wait_for_url("**/chat/*")
    thread = page.url
    source = page.get_by_role("button", name=words("sources.open", number=1, name="handbook.md")).first
    expect(source).to_be_visible(timeout=60_000)
    source.click()
    panel = page.get_by_role("complementary", name=words("sources.panel"), exact=True)
    expect(panel.get_by_text("port 7070").first).to_be_visible()
    console.picture("answer-with-source")

    page.reload()
    expect(page.get_by_role("blockquote").get_by_text("port 7070")).to_be_visible()
    page.goto(f"{console.base}/chat")
    page.goto(thread.partition("?")[0])
    expect(page.get_by_role("button", name=words("sources.open", number=1, name="handbook.md")).first).to_be_visible()
    assert len(member.get("/sessions")["items"]) == 1


@pytest.mark.every_look
def test_skill_is_written_from_a_template_saved_and_listed(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, look: Look
):
    console = open_console(embedded, member, look)
    page, words = console.page, look.words("skills")
    console.open("/skills")
    page.get_by_role("link", name=words("new.action")).first.click()
    page.get_by_role("button", name=words(f"new.language.{look.language}")).first.click()
    # A phone shows the form, and the text on demand.
    expect(page.get_by_role("textbox", name=words("form.name"), exact=True).first).to_be_visible()
    page.get_by_role("button", name=words("new.create")).click()
    page.wait_for_url(re.compile(r"/skills/[0-9a-f-]{36}"))
    [skill] = member.get("/skills", include_public=False)["items"]
    assert skill["valid"] is True
    console.settle()
    console.picture("skill-editor")
    console.open("/skills")
    expect(page.get_by_text(skill["name"]).first).to_be_visible()
