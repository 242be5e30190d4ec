"""The search test: why a passage is missing, two settings, saved questions, measurements, replays of a chat's search."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server

FACTS = {
    "relay.md": "The relay listens on port 7070 for its operators.",
    "pump.md": "The pump rests on Sundays and listens to nobody.",
    "valve.md": "Valve 42 opens at noon when the relay says so.",
    "lamp.md": "The lamp of the relay house burns all night.",
}


@pytest.fixture
def facts(member: Api) -> str:
    """A knowledge base of small documents; its id."""
    kb = member.create_kb()
    ids = [member.upload(kb, name, f"# {name.removesuffix('.md')}\n\n{text}") for name, text in FACTS.items()]
    for document in ids:
        member.wait(kb, document)
    return kb


def test_missing_passage_is_explained_and_saved_as_a_question(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, facts: str, look: Look
):
    console, words = open_console(embedded, member, look), look.words("search")
    page = console.page
    console.open(f'/knowledge-bases/{facts}/search?q=On which port does the relay listen?&options={{"top_k":1}}')
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("button", name=words("why.title")).click()
    dialog = page.get_by_role("dialog")
    # A part of the name finds the document, in upper or lower case.
    dialog.get_by_label(words("choose.document")).fill("ALVE")
    expect(page.locator("datalist option[value='valve.md']")).to_be_attached()
    dialog.get_by_label(words("choose.document")).fill("valve.md")
    dialog.get_by_role("radio").first.check()
    dialog.get_by_role("button", name=words("why.explain")).click()
    steps = page.get_by_role("list", name=words("why.steps"))
    expect(steps.get_by_text(words("why.state.failed"))).to_be_attached()
    expect(page.get_by_text(re.compile("at most 1 are shown|最多显示 1 个"))).to_be_visible()
    console.picture("why-not-this-one")
    assert console.serious_faults() == []

    page.get_by_role("button", name=words("why.save")).click()
    page.get_by_role("dialog").get_by_role("button", name=words("common:action.save"), exact=True).click()
    expect(page.get_by_text(words("question.saved")).first).to_be_visible()
    [question] = member.get(f"/knowledge-bases/{facts}/questions")["items"]
    assert [passage["document"] for passage in question["expected"]] == ["valve.md"]


def test_two_settings_stand_side_by_side(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, facts: str
):
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{facts}/search?q=Who listens?")
    page.get_by_role("button", name="Compare two settings").click()
    second = page.get_by_label("Passages").nth(1)
    second.fill("2")
    second.press("Tab")
    expect(page.get_by_text("2 passages in both")).to_be_visible()
    expect(page.get_by_text("2 only with A")).to_be_visible()
    console.picture("two-settings")
    assert console.serious_faults() == []
    # The address holds both.
    page.reload()
    expect(page.get_by_text("2 only with A")).to_be_visible()
    page.get_by_role("button", name="End the comparison").click()
    expect(page.get_by_text("2 only with A")).to_have_count(0)


def save_questions(member: Api, kb: str) -> None:
    asked = {
        "On which port does the relay listen?": "relay.md",
        "When does valve 42 open?": "valve.md",
        "Which lamp burns all night?": "pump.md",
    }
    for question, document in asked.items():
        expected = [{"document": document, "text": ""}]
        member.post(f"/knowledge-bases/{kb}/questions", {"question": question, "expected": expected})


def test_saved_questions_are_measured_over_time_and_two_runs_compared(
    browser_thread,
    embedded: Server,
    member: Api,
    open_console: OpenConsole,
    facts: str,
    look: Look,
):
    save_questions(member, facts)
    console = open_console(embedded, member, look)
    page = console.page
    run = re.compile("Measure now|立即评测|开始评测|现在评测")
    console.open(f"/knowledge-bases/{facts}/questions")
    page.get_by_role("button", name=run).click()
    page.wait_for_url("**/evaluations/*")
    console.settle()
    # The search by words alone is another one.
    console.open(f'/knowledge-bases/{facts}/questions?options={{"dense_weight":0,"rerank":false}}')
    page.get_by_role("button", name=run).click()
    page.wait_for_url("**/evaluations/*")
    runs = member.get(f"/knowledge-bases/{facts}/evaluations")["items"]
    assert len(runs) == 2

    console.open(f"/knowledge-bases/{facts}/questions")
    expect(page.locator("figure canvas")).to_be_visible()
    console.picture("measurements")
    assert console.serious_faults() == []
    console.open(f"/knowledge-bases/{facts}/evaluations/{runs[0]['id']}?with={runs[1]['id']}")
    expect(page.get_by_role("table")).not_to_have_count(0)
    if not look.is_chinese:
        expect(page.get_by_role("heading", name="What was changed")).to_be_visible()
        expect(page.get_by_text(re.compile("Weight of meaning: ")).first).to_be_visible()
        page.get_by_role("checkbox", name="Only those not found").check()
        page.wait_for_url("**show=missed*")
    console.picture("two-runs")
    assert console.serious_faults() == []


def test_saved_questions_are_exported_and_imported(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, facts: str, tmp_path: Path, look: Look
):
    save_questions(member, facts)
    console, words = open_console(embedded, member, look), look.words("search")
    page, dialog = console.page, console.dialog
    console.open(f"/knowledge-bases/{facts}/questions")
    files: dict[str, Path] = {}
    for form in ("jsonl", "csv"):
        page.get_by_role("button", name=words("question.export"), exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=words(f"question.export_{form}")).click()
        files[form] = tmp_path / f"questions.{form}"
        download.value.save_as(files[form])

    def take(file: Path, *, replaces: bool = False) -> None:
        page.get_by_role("button", name=words("import.open"), exact=True).click()
        dialog.get_by_label(words("import.file"), exact=True).set_input_files(file)
        if replaces:
            dialog.get_by_label(words("import.replace")).check()
            expect(dialog.get_by_text(words("import.replace_warning"))).to_be_visible()
        console.picture("import-questions")
        dialog.get_by_role("button", name=words("import.submit"), exact=True).click()

    other = member.create_kb()
    console.open(f"/knowledge-bases/{other}/questions")
    expect(page.get_by_text(words("question.empty"))).to_be_visible()
    take(files["jsonl"])
    expect(page.get_by_text(words("import.done", added=3, extended=0, unchanged=0)).first).to_be_visible()
    expect(page.get_by_role("heading", name=words("question.title_count", count=3))).to_be_visible()
    take(files["csv"])
    expect(page.get_by_text(words("import.done", added=0, extended=0, unchanged=3)).first).to_be_visible()

    # All lines are saved or none, and which one is wrong is said.
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"question": "Who sweeps?", "document": "relay.md"}\nno line of JSON\n', encoding="utf-8")
    take(broken)
    expect(dialog.get_by_role("alert")).to_contain_text("2")
    assert member.get(f"/knowledge-bases/{other}/questions")["total"] == 3
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    broken.write_text('{"question": "Who sweeps?", "document": "relay.md"}\n', encoding="utf-8")
    take(broken, replaces=True)
    expect(page.get_by_role("heading", name=words("question.title_count", count=1))).to_be_visible()
    [kept] = member.get(f"/knowledge-bases/{other}/questions")["items"]
    assert kept["question"] == "Who sweeps?"


def test_measurement_is_stopped(browser_thread, embedded: Server, member: Api, open_console: OpenConsole, facts: str):
    save_questions(member, facts)
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{facts}/questions")
    held: list[Route] = []
    page.route(
        "**/evaluations", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    page.get_by_role("button", name="Measure now").click()
    expect(page.get_by_text("Leaving this page stops it.")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("Leaving this page stops it.")).to_have_count(0)
    expect(page.get_by_role("button", name="Measure now")).to_be_enabled()
    assert member.get(f"/knowledge-bases/{facts}/evaluations")["total"] == 0


def test_search_of_a_chat_is_opened_and_run_again_after_the_documents_changed(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, facts: str
):
    console = open_console(embedded, member)
    page = console.page
    console.open("/")
    page.get_by_role("textbox", name="Ask a question").fill("On which port does the relay listen?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile("Source 1")).first).to_be_visible(timeout=60_000)
    open_work(page)
    page.get_by_role("link", name="See this search again").click()
    page.wait_for_url("**/retrievals/*")
    again = page.get_by_role("button", name="Run it again")
    again.click()
    expect(page.get_by_text("Passages, places and scores are the same as then.")).to_be_visible()
    [relay] = member.get(f"/knowledge-bases/{facts}/documents", name="relay.md")["items"]
    member.delete(f"/knowledge-bases/{facts}/documents/{relay['id']}")
    again.click()
    expect(page.get_by_text("The answer is not the same as then.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="relay.md").get_by_text("Gone")).to_be_visible()
    console.picture("replay")
    assert console.serious_faults() == []


def open_work(page: Page) -> None:
    """Open all that is folded of the steps of an answer."""
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
