"""Settings of a knowledge base: presets, the cut as a picture, re-indexes with their gate and way back, transfers."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.console.conftest import CHINESE, OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.knowledge.reindex_requests import await_state
from tests.fixtures.product.server import Server

ANIMALS = ("zebra", "okapi", "lion", "heron", "otter", "ibis", "lynx", "bison", "crane", "tapir")
MEALS = " ".join(f"On day {day} the keeper feeds the {ANIMALS[day % 10]} with basket {day}." for day in range(24))
# Found with the meals around it, and hardly by itself.
ANSWER = "The grey door in the cellar squeaks, as it did in a year that nobody remembers."
HANDBOOK = f"# Feeding\n\n{MEALS} {ANSWER}\n\n# Cleaning\n\n" + "The paths are swept every morning before nine. " * 30


def test_preset_is_chosen_at_creation(browser_thread, embedded: Server, member: Api, open_console: OpenConsole):
    console, name = open_console(embedded, member, CHINESE), unique("预设")
    page = console.page
    console.open("/knowledge-bases?dialog=create")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("名称").fill(name)
    dialog.get_by_role("radio", name=re.compile("FAQ")).check()
    console.picture("create-preset")
    dialog.get_by_role("button", name="创建", exact=True).click()
    page.wait_for_url("**/knowledge-bases/*-*")
    [row] = [item for item in member.get("/knowledge-bases")["items"] if item["name"] == name]
    assert row["splitter"] == "markdown_sections"


def choose_cut(page: Page, splitter: str, size: int, overlap: int) -> None:
    page.get_by_label("How documents are cut").select_option(splitter)
    page.get_by_label("Passage size").fill(str(size))
    page.get_by_label("Overlap").fill(str(overlap))


def test_cut_is_previewed_compared_by_the_gate_put_into_effect_and_taken_back(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    kb = member.create_kb()
    member.ingest(kb, "handbook.md", HANDBOOK)
    expected = [{"document": "handbook.md", "text": ANSWER}]
    question = {"question": "What does the keeper feed on which day?", "expected": expected}
    member.post(f"/knowledge-bases/{kb}/questions", question)
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}/settings")

    page.get_by_label("Document", exact=True).fill("handbook.md")
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.get_by_text("tokens on average")).to_be_visible()
    before = page.get_by_text(re.compile("passages?, .* on average")).inner_text()
    choose_cut(page, "sentence", 32, 8)
    # The picture follows the settings above it.
    expect(page.get_by_text(re.compile("passages?, .* on average"))).not_to_have_text(before)
    expect(page.locator("mark").first).to_be_visible()
    console.picture("split-preview")
    assert console.serious_faults() == []

    expect(page.get_by_text("1 document must be made anew for this")).to_be_visible()
    page.get_by_role("button", name="Start the re-index").click()
    dialog = page.get_by_role("dialog", name="Make 1 document anew?")
    expect(dialog.get_by_text("Edits of passages are lost")).to_be_visible()
    console.picture("reindex-warning")
    dialog.get_by_role("button", name="Start the re-index").click()
    expect(page.get_by_text("The saved questions find less with the new settings. Compare below")).to_be_visible(
        timeout=60_000
    )
    expect(page.get_by_role("progressbar", name="Re-index")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Found among the first 5"))).to_contain_text("100%")
    expect(page.get_by_role("row", name=re.compile("Found among the first 5"))).to_contain_text("0%")
    console.picture("reindex-held")

    page.get_by_role("button", name="Put into effect").click()
    page.get_by_role("dialog").get_by_role("button", name="Put into effect").click()
    expect(page.get_by_text("The last re-index is in force")).to_be_visible()
    assert member.get(f"/knowledge-bases/{kb}")["chunk_size"] == 32
    console.picture("reindex-in-force")
    page.get_by_role("button", name="Go back").click()
    page.get_by_role("dialog").get_by_role("button", name="Go back").click()
    expect(page.get_by_label("Passage size")).to_have_value("500")
    assert member.get(f"/knowledge-bases/{kb}")["chunk_size"] == 500


def test_reindex_with_a_failed_document_is_blocked_until_somebody_decides(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    kb = member.create_kb()
    member.ingest(kb, "good.md", HANDBOOK)
    broken = member.ingest(kb, "broken.md", "# Broken\n\nIt was whole once.")
    # Its file is gone from the store, so that it can't be made anew.
    [row] = embedded.sql("SELECT storage_key FROM document WHERE id = :id", id=broken)
    [file] = [
        path for path in Path(embedded.settings.data_dir).rglob("*") if path.name in row["storage_key"].split("/")
    ]
    content = file.read_bytes()
    file.unlink()
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}/settings")
    choose_cut(page, "sentence", 64, 0)
    page.get_by_role("button", name="Start the re-index").click()
    page.get_by_role("dialog").get_by_role("button", name="Start the re-index").click()
    expect(page.get_by_text("Some documents could not be made anew")).to_be_visible(timeout=90_000)
    expect(page.get_by_role("link", name="broken.md")).to_be_visible()
    console.picture("reindex-blocked")
    page.get_by_role("button", name="Go on without them").click()
    page.get_by_role("dialog").get_by_role("button", name="Go on without them").click()
    expect(page.get_by_text("The last re-index is in force")).to_be_visible(timeout=30_000)
    file.write_bytes(content)
    await_state(member, kb, "none")


def test_knowledge_base_is_exported_imported_and_copied(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, tmp_path: Path
):
    name = unique("Travelling")
    kb = member.create_kb(name=name)
    member.ingest(kb, "handbook.md", HANDBOOK)
    console = open_console(embedded, member)
    page = console.page
    console.open(f"/knowledge-bases/{kb}/settings")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export", exact=True).click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.suffix == ".akb"

    page.get_by_role("button", name="Copy", exact=True).click()
    dialog = page.get_by_role("dialog", name="Copy the knowledge base")
    dialog.get_by_label("Name").fill(f"{name} copy")
    dialog.get_by_role("button", name="Copy").click()
    page.wait_for_url("**/knowledge-bases")
    expect(page.get_by_role("link", name=f"{name} copy")).to_be_visible(timeout=60_000)

    page.get_by_role("button", name="Import", exact=True).click()
    dialog = page.get_by_role("dialog", name="Import a knowledge base")
    dialog.get_by_label("Export file (.akb)").set_input_files(file)
    dialog.get_by_label("Name").fill(f"{name} import")
    console.picture("import")
    dialog.get_by_role("button", name="Import").click()
    link = page.get_by_role("link", name=f"{name} import")
    expect(link).to_be_visible(timeout=60_000)
    link.click()
    expect(page.get_by_role("row").filter(has_text="handbook.md")).to_contain_text("Ready", timeout=30_000)
