"""What an answer may contain: formats are shown, and nothing in it acts, leaves the page or hides."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.e2e.console.chat_page import ChatPage, new_chat
from tests.e2e.console.conftest import OpenConsole
from tests.e2e.console.test_hostile_content import MARKDOWN, check_harmless, watched
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server

RICH = """Ports of the relay:

| part | port |
|---|---:|
| relay | 7070 |

```python
print("hello")
```

The wait is $w_n = 2^n$.

السلام عليكم
"""
HOSTILE = f"""{MARKDOWN}

![](https://evil.example/pixel.png)
<a href="https://evil.example" onclick="window.pwned=1">x</a>
<details open ontoggle="window.pwned=1">x</details>
<svg><a xlink:href="javascript:window.pwned=1"><text>x</text></a></svg>

[reference][1] <https://evil.example/?data=secret> [up](//evil.example/x) [file](file:///etc/passwd) [own](/admin)

[1]: javascript:window.pwned=1

$\\\\includegraphics{{https://evil.example/x.png}}$ $\\\\htmlStyle{{background:url(https://evil.example/y.png)}}{{z}}$
"""


@pytest.fixture
def person(llm_product: Server) -> Api:
    """Somebody who has signed in and has no documents."""
    return llm_product.member()


def have_model_say(person: Api, chat: ChatPage, words: str) -> None:
    """Have the model say this."""
    chat.ask(f"Say it. #echo {words}")
    chat.wait_for_answer()


def test_tables_code_formulas_and_right_to_left_text_are_shown(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    have_model_say(person, chat, RICH)
    answer = chat.turns.locator("section")
    expect(answer.get_by_role("cell", name="7070")).to_be_visible()
    expect(answer.locator(".katex").first).to_be_visible()
    assert answer.get_by_text("السلام").evaluate("e => getComputedStyle(e).direction") == "rtl"
    chat.console.picture("rich")
    answer.get_by_role("button", name="Copy the code").click()
    assert chat.page.evaluate("navigator.clipboard.readText()") == 'print("hello")\n'
    assert chat.console.serious_faults() == []


def test_hostile_answer_does_nothing(browser_thread, llm_product: Server, person: Api, open_console: OpenConsole):
    console = open_console(llm_product, person)
    outside = watched(console)
    chat = new_chat(person, console, agent_type="react")
    have_model_say(person, chat, HOSTILE)
    chat.page.wait_for_timeout(300)
    check_harmless(chat.page)
    assert outside == []
    answer = chat.turns.locator("section")
    assert answer.locator("img, iframe, script, form, svg a, details details").count() == 0
    # A link says in full where it leads, so that what it carries away is seen before.
    link = answer.get_by_role("link", name=re.compile("a third"))
    expect(link).to_have_attribute("title", "https://evil.example/?q=secret")
    chat.page.reload()
    chat.wait_for_answer()
    check_harmless(chat.page)
    assert outside == []


def test_hostile_arguments_and_results_of_tools_are_text(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    console = open_console(llm_product, person)
    outside = watched(console)
    chat = new_chat(person, console, agent_type="react")
    words = "<img src=x onerror=window.pwned=1> \u202egpj.exe ![](https://evil.example/x.png)"
    calls = [["current_time", {"timezone": words}], ["confirm_action", {"message": words}]]
    chat.ask(f"Go. #calls {json.dumps(calls)}")
    expect(chat.page.get_by_role("heading", name="The agent waits for you")).to_be_visible()
    chat.unfold()
    card = chat.turns.locator("details", has_text="Look at the clock").last
    expect(card).to_contain_text("<img src=x onerror=window.pwned=1>")
    # A sign that turns the order of others must not reach beyond what it stands in.
    about = card.get_by_text("onerror").first
    assert about.evaluate("e => getComputedStyle(e).unicodeBidi") in ("isolate", "plaintext")
    check_harmless(chat.page)
    assert outside == []


def test_draft_outlives_a_reload(browser_thread, llm_product: Server, person: Api, open_console: OpenConsole):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    chat.field.fill("Half a question")
    chat.page.reload()
    expect(chat.field).to_have_value("Half a question")


def test_choices_are_kept_per_conversation(browser_thread, llm_product: Server, person: Api, open_console: OpenConsole):
    kb = person.create_kb(name="Only this")
    console = open_console(llm_product, person)
    first, page = new_chat(person, console, agent_type="react"), console.page
    page.get_by_role("button", name="Agent and sources of this conversation").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Agent", exact=True).select_option("reflexion")
    dialog.get_by_label("Only this").check()
    console.picture("choices")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Check and improve · Only this")).to_be_visible()
    new_chat(person, console)
    expect(page.get_by_text("Search and answer · all knowledge bases")).to_be_visible()
    first.open()
    expect(page.get_by_text("Check and improve · Only this")).to_be_visible()
    config = person.get(f"/sessions/{first.thread}")["config"]
    assert config == {"agent_type": "reflexion", "knowledge_base_ids": [kb]}


def test_conversation_is_renamed_found_exported_and_archived(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    page = chat.page
    have_model_say(person, chat, "The valve is blue.")

    def choose(entry: str) -> None:
        page.get_by_role("button", name=re.compile("^More about")).last.click()
        page.get_by_role("menuitem", name=entry).click()

    choose("Rename")
    page.get_by_role("textbox", name="Title").fill("Valves")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name="Valves", level=1)).to_be_visible()
    with page.expect_download() as download:
        choose("Export as Markdown")
    assert "The valve is blue." in download.value.path().read_text()
    listed = page.get_by_role("complementary", name="Conversations")
    listed.get_by_role("searchbox").fill("valve is blue")
    expect(listed.get_by_role("link", name=re.compile("Valves")).get_by_text("valve is blue")).to_be_visible()
    choose("Archive")
    expect(page.get_by_text("This conversation is archived.")).to_be_visible()
    expect(chat.field).to_have_attribute("placeholder", "Archived conversations take no questions")
    page.get_by_role("button", name="Take out of the archive").click()
    expect(page.get_by_text("This conversation is archived.")).to_have_count(0)


PICTURE = """() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 40;
  canvas.getContext("2d").fillRect(0, 0, 20, 40);
  return new Promise((done) => canvas.toBlob((blob) => {
    const data = new DataTransfer();
    data.items.add(new File([blob], NAME, { type: "image/png" }));
    const field = document.querySelector("main form textarea");
    const event = KIND === "paste"
      ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
      : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    field.dispatchEvent(event);
    done();
  }));
}"""


def test_pictures_are_pasted_dropped_and_seen_again(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    page = chat.page
    for kind, name in (("paste", "pasted.png"), ("drop", "dropped.png")):
        page.evaluate(PICTURE.replace("NAME", json.dumps(name)).replace("KIND", json.dumps(kind)))
        expect(page.get_by_text(name)).to_be_visible()
    chat.console.picture("pictures")
    page.get_by_role("button", name="Remove dropped.png").click()
    chat.ask("What is this? #plain")
    chat.wait_for_answer()
    expect(chat.turns.locator("img")).to_have_count(1)
    page.reload()
    expect(chat.turns.locator("img")).to_have_count(1)
    assert chat.turns.locator("img").evaluate("(img) => img.decode().then(() => img.naturalWidth)") == 40
