"""Home: what needs the person, what is in process, and the way to a language model."""

import json
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import verified_run

BOOK = {"action": "create", "event_timezone": "UTC", "title": "Talk", "start": "2026-11-23T09:00"}
IMPORTED = "---\nname: relay-restart\ndescription: Restart the relay.\n---\n\n# Relay\n\n1. Press the button.\n"


@pytest.fixture
def busy(embedded: Server) -> Api:
    """Somebody with an approval to give, a document that failed, and an imported skill."""
    person = embedded.member()
    person.put("/users/me/tool-policies", {"policies": {"calendar_write": "ask"}})
    question = f"/tool calendar_write {json.dumps(BOOK)}"
    verified_run(person, question, thread_id=str(uuid4()), forwarded_props={"agent_type": "react"})
    kb = person.create_kb(name=f"Plans of {person.name}")
    document = person.upload(kb, "broken.pdf", b"%PDF-1.7\nnothing of a PDF")
    person.wait(kb, document)
    person.request("POST", "/skills/import", files={"file": ("SKILL.md", IMPORTED.encode())})
    return person


def test_home_lists_what_needs_the_person(
    browser_thread,
    embedded: Server,
    busy: Api,
    open_console: OpenConsole,
    look: Look,
):
    console = open_console(embedded, busy, look)
    page = console.page
    console.open("/")
    words = {
        "en": ("Needs you", "Waits for your approval", "1 document failed", "Waits for a review"),
        "zh": ("待处理", "等待你批准", "1 个文档失败", "等待审核"),
    }[look.language]
    for text in words:
        expect(page.get_by_text(text)).to_be_visible()
    question = {
        "en": "Allow “Change the calendar” with these arguments?",
        "zh": "是否允许以这些参数执行“修改日历”？",
    }[look.language]
    expect(page.get_by_text(question)).to_be_visible()
    console.picture("home-busy")
    assert console.serious_faults() == []
    page.get_by_role("link", name=words[1]).click()
    page.wait_for_url("**/chat/*")
    expect(page.get_by_text(question)).to_be_visible()
    console.open("/")
    page.get_by_role("link", name=words[2]).click()
    page.wait_for_url("**/knowledge-bases/*status=failed*")
    expect(page.get_by_role("link", name="broken.pdf")).to_be_visible()


def test_work_is_shown_though_many_knowledge_bases_changed_since(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    names = {kind: unique(kind) for kind in ("Waiting", "Broken")}
    ids = {kind: member.create_kb(name=name) for kind, name in names.items()}
    member.post(f"/knowledge-bases/{ids['Waiting']}/pause")
    held = member.upload(ids["Waiting"], "plan.md", "# Plan\n\nNothing yet.")
    member.wait(ids["Broken"], member.upload(ids["Broken"], "broken.pdf", b"%PDF-1.7\nnothing of a PDF"))
    for _ in range(21):
        member.create_kb()
    console = open_console(embedded, member)
    page = console.page
    console.open("/")
    expect(page.get_by_role("progressbar", name=names["Waiting"])).to_be_visible()
    expect(page.get_by_role("link", name=names["Broken"])).to_contain_text("1 document failed")
    # What is done or gone leaves the list by itself.
    member.delete(f"/knowledge-bases/{ids['Waiting']}/documents/{held}")
    expect(page.get_by_role("progressbar", name=names["Waiting"])).to_have_count(0)
    # What begins comes by itself, and its page has its own progress.
    member.upload(ids["Waiting"], "second.md", "# Second\n\nNothing yet.")
    page.get_by_role("link", name=names["Waiting"]).click()
    expect(page.get_by_text("Waiting: 1")).to_be_visible()


def test_other_people_are_told_nothing_of_it(
    browser_thread, embedded: Server, busy: Api, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    console.open("/")
    expect(console.page.get_by_role("heading", name="Recent conversations")).to_be_visible()
    expect(console.page.get_by_text("Needs you")).to_have_count(0)
    expect(console.page.get_by_text("/tool calendar_write")).to_have_count(0)


def test_without_the_documentation_own_documents_are_suggested_and_answered_from(
    browser_thread,
    embedded: Server,
    open_console: OpenConsole,
    look: Look,
):
    person = embedded.member()
    words = look.words("home")
    console = open_console(embedded, person, look)
    page = console.page
    console.open("/")
    expect(page.get_by_text(words("next_step.upload"))).to_be_visible()
    console.picture("home-nothing-to-ask")
    page.get_by_role("link", name=words("next_step.open")).click()
    page.wait_for_url("**/knowledge-bases")

    for name, text in (
        ("relay.md", "# Relay\n\n## Restart\n\nThe restart takes three seconds.\n"),
        ("plain.txt", "No heading."),
        # Asks the same question as the first, and is offered once.
        ("relay.md", "# Relay\n\n## Restart\n\nThe restart takes three seconds.\n"),
    ):
        person.ingest(person.create_kb(), name, text)
    console.open("/")
    suggestion = page.get_by_role("button", name=words("suggestion.topic", document="relay.md", heading="Restart"))
    expect(suggestion).to_be_visible()
    console.picture("home-own-documents")
    assert console.serious_faults() == []
    suggestion.click()
    page.wait_for_url("**/chat/*")
    expect(page.get_by_role("button", name="relay.md").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("article")).to_contain_text("The restart takes three seconds.")
