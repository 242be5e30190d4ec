"""Writing a skill: mistakes are shown and fixed, form and text are one, and nothing that was written is lost."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.console.conftest import CHINESE, Console, Look, OpenConsole
from tests.e2e.console.words import Words, words_of
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server

MISTAKES = """---
name: {name}
# A remark that no form knows.
version: 2
metadata:
  reviewer: anna
---

# SKILL: {name}

## Description

Makes the weekly report of a team. Use when somebody asks for it.

## House rules

Nobody is named.

## Inputs

- `source` (string, required): where the notes are
- `count` (integer, default: many): how many lines

## Steps

1. **Collect**: Read {{{{source}}}}.
2. **Write**: Use `serch_knowledge_base`, {{{{count}}}} lines.
   - Tool: `serch_knowledge_base`
"""


def text_box(page: Page, words: Words) -> Locator:
    return page.get_by_role("textbox", name=words("editor.source"))


def field(page: Page, name: str) -> Locator:
    """A field of the form itself, not of an input or a step."""
    return page.get_by_role("textbox", name=name, exact=True).first


def problems(page: Page, words: Words) -> Locator:
    return page.get_by_role("region", name=words("problems.title"))


def write_skill(person: Api, content: str) -> dict[str, Any]:
    return person.post("/skills", {"content": content})


def open_skill(console: Console, skill: dict[str, Any], query: str = "") -> Page:
    console.open(f"/skills/{skill['id']}{query}")
    return console.page


def show_text(page: Page, words: Words) -> Locator:
    """The editor, which a phone shows on demand."""
    hidden = page.get_by_role("button", name=words("editor.show_text"))
    if hidden.count():
        hidden.click()
    expect(text_box(page, words)).to_be_visible()
    return text_box(page, words)


def add_to(page: Page, words: Words, part: str) -> None:
    """Add a first entry to a list of the form; what is typed then is for it."""
    label = words(part)
    page.get_by_role("button", name=words("form.add_to", label=label)).click()
    expect(page.get_by_role("textbox", name=words("form.item", label=label, number=1), exact=True)).to_be_focused()


def save(page: Page, words: Words, number: int) -> None:
    page.keyboard.press("Control+s")
    expect(page.get_by_text(words("draft.saved", number=number))).to_be_visible()


@pytest.mark.every_look
def test_mistakes_are_shown_at_their_lines_and_fixed_by_clicks(
    browser_thread,
    embedded: Server,
    member: Api,
    open_console: OpenConsole,
    look: Look,
):
    words = look.words("skills")
    skill = write_skill(member, MISTAKES.format(name=unique("report")))
    console = open_console(embedded, member, look)
    page = open_skill(console, skill)
    panel = problems(page, words)
    expect(panel.get_by_role("button", name=re.compile("AS004"))).to_be_visible()
    expect(page.get_by_text(words("state.invalid")).first).to_be_visible()

    # A problem leads to its place, also where the text was hidden.
    panel.get_by_role("button", name=re.compile("SK035")).click()
    editor = text_box(page, words)
    expect(editor).to_be_focused()
    page.keyboard.press("Alt+l")
    assert page.evaluate(_SELECTED).strip() == "- `count` (integer, default: many): how many lines"
    console.picture("problems")
    assert console.serious_faults() == []

    # Its marks have words and fixes under the pointer too.
    page.locator(".cm-lint-marker-error").first.hover()
    expect(page.locator(".cm-tooltip-lint").first).to_contain_text("many")
    page.mouse.move(0, 0)
    while (fixes := panel.get_by_role("listitem").get_by_role("button").filter(has=page.locator("svg"))).count():
        left = fixes.count()
        fixes.first.click()
        expect(fixes).not_to_have_count(left)
    # What no fix can know is written by hand.
    panel.get_by_role("button", name=re.compile("SK035")).click()
    page.keyboard.press("Alt+l")
    page.keyboard.insert_text("- `count` (integer, default: 7): how many lines\n")
    save(page, words, 2)
    saved = member.get(f"/skills/{skill['id']}")
    assert saved["valid"] is True
    assert "default: 7" in saved["content"]
    assert "search_knowledge_base" in saved["content"]
    assert "# A remark that no form knows." in saved["content"]


_SELECTED = """() => [...document.querySelectorAll("*")].map((node) => node.shadowRoot)
    .filter((root) => root?.querySelector(".cm-content")).map((root) => root.getSelection().toString())[0]"""


def test_form_and_text_are_one_truth(
    browser_thread,
    embedded: Server,
    member: Api,
    open_console: OpenConsole,
    look: Look,
):
    words, name = look.words("skills"), unique("report")
    content = MISTAKES.format(name=name)
    skill = write_skill(member, content)
    console = open_console(embedded, member, look)
    page = open_skill(console, skill)
    # The text follows the form ...
    field(page, words("form.description")).fill("Counts the bees of a hive. Use when somebody asks how many.")
    add_to(page, words, "form.constraints")
    page.keyboard.type("No bee is named")
    page.get_by_role("button", name=words("form.add_step")).click()
    editor = show_text(page, words)
    expect(editor).to_contain_text("Counts the bees of a hive")
    # ... and the form the text.
    # Where the line begins, whether it is wrapped or not.
    editor.locator(".cm-line").filter(has_text="- `count`").click(position={"x": 1, "y": 5})
    page.keyboard.insert_text("- `colour` (string): of the bees\n")
    expect(page.get_by_text("colour", exact=True)).to_be_visible()
    save(page, words, 2)
    console.picture("form")
    saved = member.get(f"/skills/{skill['id']}")["content"]
    for part in (
        "# A remark that no form knows.\nversion: 2\nmetadata:\n  reviewer: anna\n",
        "## House rules\n\nNobody is named.\n",
    ):
        assert part in saved
    for part in ("Counts the bees", "- No bee is named", "- `colour` (string): of the bees", "\n3. **"):
        assert part in saved
    assert saved.index("## House rules") < saved.index("## Inputs") < saved.index("## Steps")


def test_skill_is_written_through_the_form_alone(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    words = CHINESE.words("skills")
    console = open_console(embedded, member, CHINESE)
    page = console.page
    console.open("/skills/new")
    blank = page.get_by_role("region", name=words("new.template.blank"))
    blank.get_by_role("button", name=words("new.language.zh")).click()
    expect(text_box(page, words)).to_have_count(0)
    page.get_by_text(words("form.examples.title")).first.click()
    expect(page.get_by_text(words("form.examples.description.1"))).to_be_visible()
    name = unique("蜜蜂")
    field(page, words("form.name")).fill(name)
    field(page, words("form.description")).fill("清点蜂箱里的蜜蜂并给出数量。当用户询问有多少蜜蜂时使用。")
    add_to(page, words, "form.trigger_conditions")
    page.keyboard.type("数一数蜜蜂")
    page.get_by_role("button", name=words("form.add_step")).click()
    page.get_by_text(re.compile(words("form.new_step"))).click()
    page.get_by_role("textbox", name=words("form.instruction")).fill("打开蜂箱，逐框清点。")
    # The field that is left last counts, and one press is enough.
    page.get_by_role("button", name=words("new.create")).click()
    page.wait_for_url(re.compile(r"/skills/[0-9a-f-]{36}"))
    [made] = member.get("/skills", q=name)["items"]
    content = member.get(f"/skills/{made['id']}")["content"]
    assert made["valid"] is True
    for part in (f"# SKILL: {name}", "## 描述", "清点蜂箱", "## 触发条件", "- 数一数蜜蜂", "打开蜂箱，逐框清点。"):
        assert part in content
    console.picture("form-alone")


def test_starter_begins_a_skill_and_brings_its_test_requests(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    words = words_of("en", "skills")
    console = open_console(embedded, member)
    page = console.page
    console.open("/skills/new")
    page.get_by_role("region", name="Meeting minutes").get_by_role("button", name="In English").click()
    expect(field(page, "Name")).to_have_value("Meeting minutes")
    page.get_by_role("button", name=words("new.create")).click()
    page.wait_for_url(re.compile(r"/skills/[0-9a-f-]{36}"))
    page.get_by_role("link", name=words("tab.tests")).click()
    expect(page.get_by_label(words("tests.yes"))).to_have_value(re.compile("Write the minutes"))
    expect(page.get_by_label(words("tests.no"))).to_have_value(re.compile("Review this code"))


def test_draft_survives_a_reload_and_is_merged_with_what_was_saved_meanwhile(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    words = words_of("en", "skills")
    content = MISTAKES.format(name=unique("report")).replace("many", "7")
    skill = write_skill(member, content)
    console = open_console(embedded, member)
    page = open_skill(console, skill)
    editor = text_box(page, words)
    editor.focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("3. **Send**: Send it.\n")
    field(page, words("form.description")).fill("Mine is another description. Use when it is asked for.")
    expect(editor).to_contain_text("Mine is another")

    # Who leaves is asked first; within the skill nobody is.
    page.get_by_role("link", name="Home").click()
    page.get_by_role("dialog").get_by_role("button", name=words("leave.stay")).click()
    page.get_by_role("link", name=words("tab.versions")).click()
    expect(page.get_by_role("table")).to_be_visible()
    theirs = content.replace("Makes the weekly report", "Theirs makes the report").replace(
        "Nobody is named.", "All are named."
    )
    member.put(f"/skills/{skill['id']}", {"content": theirs})
    page.goto(f"{console.base}/skills/{skill['id']}")
    expect(page.get_by_text("Your unsaved changes are here again")).to_be_visible()
    expect(editor).to_contain_text("3. **Send**: Send it.")
    expect(page.get_by_text(words("conflict.notice", number=2, base=1))).to_be_visible()

    page.keyboard.press("Control+s")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name=words("conflict.reject"))).to_have_count(3)
    console.picture("conflict")
    # The second difference is theirs to keep, by keyboard.
    dialog.get_by_role("button", name=words("conflict.reject")).nth(1).press("Enter")
    expect(dialog.get_by_role("button", name=words("conflict.reject"))).to_have_count(2)
    dialog.get_by_role("button", name=words("conflict.keep", number=3)).click()
    expect(page.get_by_text(words("draft.saved", number=3))).to_be_visible()
    merged = member.get(f"/skills/{skill['id']}")["content"]
    for part in ("Mine is another description", "All are named.", "3. **Send**: Send it."):
        assert part in merged
    # Nothing is left to ask about.
    page.get_by_role("link", name="Home").click()
    page.wait_for_url(f"{console.base}/")


def test_names_are_completed_as_they_are_typed(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    skill = write_skill(member, MISTAKES.format(name=unique("report")))
    page = open_skill(open_console(embedded, member), skill)
    editor = text_box(page, words_of("en", "skills"))
    editor.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("3. Use `search_know")
    page.get_by_role("option", name="search_knowledge_base").click()
    expect(editor).to_contain_text("`search_knowledge_base`")
    page.keyboard.type(" for {{sou")
    page.get_by_role("option", name="source").click()
    expect(editor).to_contain_text("{{source}}")
    page.keyboard.type("\n\n## Exa")
    page.get_by_role("option", name="Examples").click()
    expect(editor).to_contain_text("3. Use `search_knowledge_base` for {{source}}")
    expect(editor).to_contain_text("## Examples")


def test_large_skill_is_typed_in_and_judged(browser_thread, embedded: Server, member: Api, open_console: OpenConsole):
    words = words_of("en", "skills")
    lines = "".join(
        f"{number}. **Step {number}**: Read page {number} of the book, 第 {number} 页。\n" for number in range(1, 201)
    )
    text = "Background of the procedure, told at length. 背景说明。\n" * 3200
    skill = write_skill(member, f"{MISTAKES.format(name=unique('long'))}\n{lines}\n## Background\n\n{text}")
    assert len(skill["content"].encode()) > 190_000
    console = open_console(embedded, member)
    page = open_skill(console, skill)
    editor = text_box(page, words)
    expect(problems(page, words).get_by_role("listitem").first).to_be_visible()
    editor.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nA last line of the text.", delay=40)
    expect(editor).to_contain_text("A last line of the text.")
    # A verdict has come, and the form has been drawn again.
    with page.expect_response(re.compile("/skills/validate")):
        page.keyboard.type(".")
    page.wait_for_function("document.querySelector('[data-form]') !== null")
