"""The card (`ui_schema`) of an answer: each kind of node is shown, and none of a hostile one does anything."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.console.chat_page import HANDBOOK, ChatPage, new_chat
from tests.e2e.console.conftest import Look, OpenConsole
from tests.e2e.console.test_hostile_content import SCRIPT, check_harmless, watched
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.runs.async_runs import run, run_input

ANSWER = """# The relay

It listens on port 7070, see [the manual](https://docs.example/relay).

| part | port |
|---|---:|
| relay | 7070 |

```
curl localhost:7070
```

- logs: thirty days

Next steps:

1. Check the port
2. Call Ann
"""
HIDDEN = "\u202egpj.exe"
ADDRESSES = [
    "javascript:window.pwned=1",
    "data:text/html,<script>window.pwned=1</script>",
    " java\nscript:window.pwned=1",
    "//evil.example/x",
    {"href": "javascript:window.pwned=1"},
    None,
]
HOSTILE_NODES: list[Any] = [
    {"type": "text", "role": "title", "content": f"{SCRIPT} {HIDDEN}"},
    {"type": "text", "role": "code", "content": SCRIPT},
    {"type": "text", "role": "<svg onload=window.pwned=1>", "content": {"__html": SCRIPT}},
    {"type": "text", "content": "![x](https://evil.example/leak.png) <style>@import 'https://evil.example'</style>"},
    {"type": "badge", "label": SCRIPT, "status": "__proto__"},
    {"type": "badge", "label": 7, "status": {"toString": 1}},
    {"type": "list", "items": [SCRIPT, None, 7, ["x"], {}], "role": "actions", "ordered": "yes"},
    {"type": "list", "items": "no list"},
    {"type": "table", "columns": [SCRIPT], "rows": [[SCRIPT, 1, None], "no row", 7]},
    {"type": "table", "columns": None, "rows": {"length": 1e9}},
    *({"type": "link", "label": f"link {place}", "url": url} for place, url in enumerate(ADDRESSES)),
    {"type": "link", "label": "https://bank.example", "url": "https://bank.example@evil.example/?q=secret"},
    {"type": "citation", "number": "1", "label": SCRIPT, "quote": HIDDEN, "documentId": "../../admin", "page": "x"},
    {"type": "image", "src": "https://evil.example/x.png", "onload": "window.pwned=1"},
    {"type": "constructor", "html": SCRIPT},
    {"type": 7},
    None,
    "text",
    [[]],
]


def test_answer_of_the_asynchronous_api_is_shown_as_its_card_with_sources_that_open(
    browser_thread,
    embedded: Server,
    member: Api,
    open_console: OpenConsole,
    look: Look,
):
    words = look.words("chat")
    member.ingest(member.create_kb(), "handbook.md", HANDBOOK)
    body = run_input("On which port does the relay listen?")
    run(member, body)
    console = open_console(embedded, member, look)
    chat = ChatPage(console, body["threadId"]).open()
    chat.wait_for_answer()
    show = chat.page.get_by_role("button", name=words("card.show"))
    show.click()
    card = card_of(chat, words("card.title"))
    expect(card.get_by_text("SUCCESS")).to_be_visible()
    expect(card.locator("blockquote").first).to_contain_text("The relay listens on port 7070.")
    # The same words don't stand there twice.
    expect(chat.turns.get_by_role("region", name=words("sources.title"))).to_have_count(0)
    console.picture("answer-card")
    assert console.serious_faults() == []
    card.get_by_role("button", name="handbook.md").click()
    expect(chat.page.get_by_role("complementary", name=words("sources.panel"))).to_contain_text("port 7070")
    chat.page.get_by_role("complementary", name=words("sources.panel")).get_by_role(
        "button", name=words("common:action.close")
    ).click()
    show.click()
    expect(card).to_have_count(0)
    expect(chat.turns.get_by_role("region", name=words("sources.title"))).to_be_visible()


def test_each_kind_of_node_is_shown_and_a_next_step_becomes_the_next_question(
    browser_thread, llm_product: Server, open_console: OpenConsole
):
    person = llm_product.member()
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    chat.ask(f"Say it. #echo {ANSWER}")
    chat.wait_for_answer()
    chat.page.get_by_role("button", name="Show as a card").click()
    card = card_of(chat)
    expect(card.get_by_role("heading", name="The relay")).to_be_visible()
    expect(card.get_by_role("cell", name="7070")).to_be_visible()
    expect(card.locator("pre")).to_have_text("curl localhost:7070")
    expect(card.get_by_role("listitem").filter(has_text="logs: thirty days")).to_be_visible()
    link = card.get_by_role("link", name="the manual")
    expect(link).to_have_attribute("href", "https://docs.example/relay")
    expect(card.get_by_text("docs.example", exact=True)).to_be_visible()
    chat.console.picture("answer-card-nodes")
    assert chat.console.serious_faults() == []
    card.get_by_role("button", name="Call Ann").click()
    expect(chat.field).to_have_value("Call Ann")


def test_hostile_card_does_nothing_and_unknown_parts_are_folded(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    chat, outside = answered(embedded, member, open_console)
    card = show(chat, {"type": "stack", "children": HOSTILE_NODES})
    expect(card.get_by_role("heading")).to_contain_text("<script>window.pwned=1</script> \\u202egpj.exe")
    # An address that is none of the web leads nowhere, and what a label hides is told.
    expect(card.get_by_role("link")).to_have_count(1)
    expect(card.get_by_role("link")).to_have_attribute("href", "https://bank.example@evil.example/?q=secret")
    expect(card.get_by_text("evil.example", exact=True)).to_be_visible()
    assert card.locator("img, svg:not([aria-hidden]), iframe, script, style, form, object, embed").count() == 0
    folded = card.locator("details", has_text="image")
    expect(folded.locator("pre")).to_be_hidden()
    folded.locator("summary").click()
    expect(folded.locator("pre")).to_contain_text('"src": "https://evil.example/x.png"')
    check_harmless(chat.page)
    chat.console.picture("answer-card-hostile")
    assert outside == []


def deep(levels: int) -> str:
    """A stack in a stack, and so on, as text: Python itself writes no such JSON."""
    return '{"type":"stack","children":[' * levels + '{"type":"text","content":"deepest"}' + "]}" * levels


MANY = {"type": "stack", "children": [{"type": "text", "content": f"line {place}"} for place in range(5000)]}
HUGE = {"type": "text", "content": "long " * 400_000}
WIDE = {"type": "table", "columns": ["x"] * 3000, "rows": [["y" * 3000] * 3000]}


@pytest.mark.parametrize(
    ("root", "shown"),
    [(json.dumps(MANY), "line 0"), (deep(2000), None), (json.dumps(WIDE), "x"), ("7", None), ("[]", None)],
    ids=["many", "deep", "wide", "number", "list"],
)
def test_card_beyond_all_bounds_is_cut_and_the_page_stays_in_use(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, root: str, shown: str | None
):
    chat, outside = answered(embedded, member, open_console)
    card = show(chat, root)
    if shown:
        expect(card.get_by_text(shown, exact=True).first).to_be_visible()
    expect(
        card.get_by_text("parts of it are left out here").or_(card.get_by_text("This answer has no card"))
    ).to_be_visible()
    assert chat.page.evaluate("document.querySelectorAll('section *').length") < 6000
    assert chat.page.evaluate("document.querySelector('main').scrollWidth <= window.innerWidth")
    chat.page.get_by_role("button", name="Show as a card").click()
    expect(card).to_have_count(0)
    chat.field.fill("Still here")
    expect(chat.field).to_have_value("Still here")
    assert outside == []


def answered(server: Server, person: Api, open_console: OpenConsole) -> tuple[ChatPage, list[str]]:
    """A conversation with an answer, and the addresses outside that its page asks for."""
    console = open_console(server, person)
    outside = watched(console)
    chat = new_chat(person, console)
    chat.ask("On which port does the relay listen?")
    chat.wait_for_answer()
    return chat, outside


def show(chat: ChatPage, root: Any) -> Locator:
    """Show a card with this root, of which the server would make none."""
    text = root if isinstance(root, str) else json.dumps(root)
    answer = f'{{"code":0,"message":"success","data":{{"version":"2.0","status":"info","root":{text}}}}}'
    chat.page.route(
        "**/ui-schema", lambda route: route.fulfill(status=200, content_type="application/json", body=answer)
    )
    chat.page.get_by_role("button", name="Show as a card").click()
    card = card_of(chat)
    expect(card).to_be_visible()
    return card


def card_of(chat: ChatPage, title: str = "Card") -> Locator:
    page: Page = chat.page
    return page.get_by_role("region", name=title, exact=True)
