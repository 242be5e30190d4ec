"""The library of skills: found, imported by dropping, exported, copied, published, reviewed and deleted."""

import base64
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console.conftest import CHINESE, Console, Look, OpenConsole
from tests.e2e.console.share_forms import share_on_page
from tests.e2e.console.words import words_of
from tests.fixtures.files.sample_files import zipped
from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.product.server import Server
from tests.fixtures.skills.skill_texts import PACKAGED, REPORT

_DROP = """(files) => {
    const transfer = new DataTransfer();
    for (const { name, base64 } of files) {
        const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
        transfer.items.add(new File([bytes], name));
    }
    const target = document.querySelector("h1");
    for (const type of ["dragover", "drop"])
        target.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def author(embedded: Server) -> Iterator[Api]:
    """Somebody whose public skills go at the end: everybody would see them."""
    person = embedded.member()
    yield person
    for skill in person.get("/skills", include_public=False)["items"]:
        if skill["owner"]["id"] == person.user_id:
            person.request("DELETE", f"/skills/{skill['id']}")


def drop(page: Page, **files: bytes) -> None:
    """Drop files on the page, by their names with ``__`` for the dot."""
    encoded = [
        {"name": name.replace("__", "."), "base64": base64.b64encode(content).decode()}
        for name, content in files.items()
    ]
    page.evaluate(_DROP, encoded)


def test_dropped_files_are_judged_first_and_imported_then(
    browser_thread,
    embedded: Server,
    member: Api,
    open_console: OpenConsole,
    look: Look,
):
    words = look.words("skills")
    member.post("/skills", {"content": REPORT})
    member.post("/skills", {"content": PACKAGED})
    console = open_console(embedded, member, look)
    page = console.page
    console.open("/skills")
    drop(
        page,
        report__md=REPORT.replace("Collect", "Gather").encode(),
        same__md=PACKAGED.encode(),
        new__zip=zipped({"bees/SKILL.md": PACKAGED.replace("unit-converter", "bees"), "readme.txt": "x"}),
        broken__zip=b"no archive",
    )
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(words("import.on_conflict")).select_option("new_version")
    expect(dialog.get_by_role("listitem").filter(has_text="broken.zip")).to_contain_text(
        words("import.outcome.refused")
    )
    expect(dialog.get_by_role("listitem").filter(has_text="new.zip")).to_contain_text(words("import.outcome.created"))
    expect(dialog.get_by_role("listitem").filter(has_text="report.md")).to_contain_text(
        words("import.outcome.new_version")
    )
    expect(dialog.get_by_role("listitem").filter(has_text="same.md")).to_contain_text(words("import.outcome.unchanged"))
    expect(dialog.get_by_text("readme.txt")).to_be_visible()
    console.picture("import")
    assert member.get("/skills", include_public=False)["total"] == 2
    dialog.get_by_role("button", name=re.compile(r"2")).click()
    expect(dialog.get_by_role("heading", name=words("import.done"))).to_be_visible()
    skills = member.get("/skills", include_public=False)["items"]
    assert sorted((skill["slug"], skill["version"], skill["trusted"]) for skill in skills) == [
        ("bees", 1, False),
        ("daily-report", 2, False),
        ("unit-converter", 1, True),
    ]
    # Who opens an import is asked to read and approve it.
    dialog.get_by_role("link", name="bees").click()
    page.get_by_role("button", name=words("review.approve")).click()
    page.get_by_role("dialog").get_by_role("button", name=words("review.approve")).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text(words("state.unread"))).to_have_count(0)
    [bees] = member.get("/skills", q="bees", include_public=False)["items"]
    assert bees["trusted"] is True


@pytest.mark.every_look
def test_skill_is_exported_for_each_reader_and_comes_back(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole, tmp_path: Path, look: Look
):
    words = look.words("skills")
    name = unique("蜜蜂")
    content = f"# SKILL: {name}\n\n## 描述\n\n清点蜂箱里的蜜蜂并给出数量。当用户询问有多少蜜蜂时使用。\n"
    skill = member.post("/skills", {"content": content})
    console = open_console(embedded, member, look)
    page = console.page
    console.open(f"/skills/{skill['id']}")
    for form, ending in (("markdown", "md"), ("portable", "zip"), ("claude-code", "zip"), ("codex", "zip")):
        page.get_by_role("button", name=words("export.action"), exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=words(f"export.{form}")).click()
        assert download.value.suggested_filename == f"{name}.{ending}"
        download.value.save_as(tmp_path / f"{form}.{ending}")
    assert (tmp_path / "markdown.md").read_text() == content
    names = {
        form: zipfile.ZipFile(tmp_path / f"{form}.zip").namelist() for form in ("portable", "claude-code", "codex")
    }
    assert all(any(path.endswith("SKILL.md") for path in paths) for paths in names.values())

    # Several at once, from the library.
    member.post("/skills", {"content": REPORT})
    console.open("/skills")
    page.get_by_role("checkbox", name=words("library.select", name=name)).check()
    page.get_by_role("checkbox", name=words("library.select", name="Daily report")).check()
    page.get_by_role("button", name=words("export.action"), exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=words("export.portable")).click()
    download.value.save_as(tmp_path / "all.zip")
    assert {path.split("/")[0] for path in zipfile.ZipFile(tmp_path / "all.zip").namelist()} >= {"daily-report"}

    page.get_by_role("link", name=name).click()
    page.get_by_role("button", name=words("common:action.more")).click()
    page.get_by_role("menuitem", name=words("common:action.delete")).click()
    page.get_by_role("dialog").get_by_role("button", name=words("common:action.delete")).click()
    page.wait_for_url(f"{console.base}/skills")
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    drop(page, back__zip=(tmp_path / "portable.zip").read_bytes())
    page.get_by_role("dialog").get_by_role("button", name=re.compile("1")).click()
    expect(page.get_by_role("dialog").get_by_role("link", name=name)).to_be_visible()


def test_library_is_filtered_by_words_tags_and_categories(
    browser_thread,
    embedded: Server,
    member: Api,
    author: Api,
    open_console: OpenConsole,
    look: Look,
):
    words, mark = look.words("skills"), unique("mark")
    for number, tag in enumerate(("hive", "honey", "honey")):
        content = REPORT.replace("# SKILL: Daily report", f"# SKILL: {mark} {number}")
        author.post(
            "/skills", {"content": content, "is_public": True, "category": f"{mark}-bees", "tags": [f"{mark}-{tag}"]}
        )
    console = open_console(embedded, member, look)
    page = console.page
    console.open("/skills")
    expect(page.get_by_role("link", name=f"{mark} 0")).to_have_count(0)
    page.get_by_label(words("library.show")).select_option("all")
    page.get_by_role("searchbox").fill(mark)
    # There may be just as many without it.
    page.wait_for_url(f"**q={mark}*")
    cards = page.get_by_role("main").get_by_role("listitem").filter(has=page.get_by_role("checkbox"))
    expect(cards).to_have_count(3)
    page.get_by_role("link", name=words("library.tag", tag=f"{mark}-honey")).first.click()
    expect(cards).to_have_count(2)
    page.get_by_label(words("form.category")).select_option(f"{mark}-bees")
    page.wait_for_url("**category=**")
    expect(cards).to_have_count(2)
    console.picture("library")
    page.reload()
    expect(cards).to_have_count(2)
    page.get_by_role("searchbox").fill(f"{mark} 0")
    expect(page.get_by_text(words("library.none_found"))).to_be_visible()
    page.get_by_role("button", name=words("library.clear")).click()
    expect(page.get_by_role("searchbox")).to_have_value("")

    # A public one is read, and copied to be changed.
    console.open(f"/skills?show=all&q={mark}%200")
    page.get_by_role("link", name=f"{mark} 0").click()
    expect(page.get_by_role("link", name=words("tab.read"))).to_be_visible()
    page.get_by_role("button", name=words("common:action.more")).click()
    page.get_by_role("menuitem", name=words("fork.action")).click()
    expect(page.get_by_role("link", name=words("tab.edit"))).to_be_visible()
    assert member.get("/skills", include_public=False)["total"] == 1


def _decide(look: Console, name: str, decision: str, note: str) -> None:
    en = words_of("en", "skills")
    look.open("/skills?show=pending")
    expect(look.page.get_by_role("link", name=name)).to_be_visible()
    look.page.get_by_role("link", name=name).click()
    look.page.get_by_role("link", name=en("review.look")).click()
    expect(look.page.get_by_text(en("versions.widens_tools"), exact=True).first).to_be_visible()
    # With the text's differences in it.
    look.settle()
    look.picture(f"review-{decision}")
    look.page.get_by_role("button", name=en(f"review.{decision}"), exact=True).click()
    dialog = look.page.get_by_role("dialog")
    dialog.get_by_label(en("review.note")).fill(note)
    dialog.get_by_role("button", name=en(f"review.{decision}"), exact=True).click()
    expect(dialog).to_have_count(0)


def test_skill_is_shared_published_and_reviewed_among_three_people(
    browser_thread,
    embedded: Server,
    member: Api,
    author: Api,
    open_console: OpenConsole,
    admin_of: Callable[[Server], Api],
):
    zh, en = words_of("zh", "skills"), words_of("en", "skills")
    content = REPORT.replace("Daily report", unique("Report"))
    skill = author.post("/skills", {"content": content})
    path = f"/skills/{skill['id']}"
    owner = open_console(embedded, author, CHINESE)
    page = owner.page
    owner.open(f"{path}/settings")
    share_on_page(owner, member.name)
    public = page.get_by_role("switch", name=zh("settings.public"))
    public.click()
    expect(public).to_be_checked()
    expect(page.get_by_role("main").get_by_text(zh("state.public"), exact=True).first).to_be_visible()
    owner.picture("settings")
    (share,) = author.get(f"{path}/shares")["items"]
    assert (share["user"]["username"], share["access"]) == (member.name, "write")
    eventually(lambda: author.get(path)["is_public"])

    # With whom it is shared writes a version that may use more tools: others don't get it yet.
    writer = open_console(embedded, member)
    writer.open(path)
    editor = writer.page.get_by_role("textbox", name=en("editor.source"))
    wider = content.replace("- search_knowledge_base", "- search_knowledge_base\n- send_mail")
    editor.focus()
    writer.page.keyboard.press("Control+a")
    writer.page.keyboard.insert_text(wider)
    writer.page.get_by_placeholder(en("editor.note")).fill("May send it too")
    writer.page.keyboard.press("Control+s")
    expect(writer.page.get_by_text(en("draft.saved", number=2))).to_be_visible()
    expect(writer.page.get_by_text("Version 2 may use more tools")).to_be_visible()
    assert embedded.person().get(path)["version"] == 1

    admin = admin_of(embedded)
    look = open_console(embedded, admin)
    _decide(look, skill["name"], "reject", "No mails, please")
    owner.open(f"{path}/versions")
    expect(page.get_by_text("No mails, please")).to_be_visible()
    expect(page.get_by_text(zh("versions.rejected"))).to_be_visible()
    assert embedded.person().get(path)["version"] == 1
    # Mended, and asked again.
    author.put(path, {"content": wider.replace("send_mail", "read_calendar")})
    _decide(look, skill["name"], "approve", "")
    assert embedded.person().get(path)["version"] == 3


def test_two_versions_are_compared_and_the_older_one_restored(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    words = words_of("zh", "skills")
    skill = member.post("/skills", {"content": REPORT})
    path = f"/skills/{skill['id']}"
    member.put(path, {"content": REPORT.replace("Write the report", "Send the report")})
    console = open_console(embedded, member, CHINESE)
    page = console.page
    console.open(f"{path}/versions")
    for number in (1, 2):
        page.get_by_role("checkbox", name=words("versions.choose_number", number=number)).check()
    page.get_by_role("link", name=words("versions.compare_chosen")).click()
    difference = page.get_by_role("textbox", name=words("versions.difference", **{"from": 1, "to": 2}))
    expect(difference).to_contain_text("Send the report")
    expect(difference).to_contain_text("Write the report")
    console.picture("difference")
    page.go_back()
    page.get_by_role("button", name=words("versions.restore_number", number=1)).click()
    page.get_by_role("dialog").get_by_role("button", name=words("versions.restore"), exact=True).click()
    expect(page.get_by_text(words("versions.restored", number=1))).to_be_visible()
    assert member.get(path)["content"] == REPORT


def test_files_are_added_written_renamed_and_deleted(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    words = words_of("zh", "skills")
    skill = member.post("/skills", {"content": REPORT})
    files = f"/skills/{skill['id']}/files"
    console = open_console(embedded, member, CHINESE)
    page = console.page
    console.open(files)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=words("files.add")).click()
    picture = b"\x89PNG\r\n\x1a\n\x00"
    chooser.value.set_files({"name": "图.png", "mimeType": "image/png", "buffer": picture})
    page.get_by_label(words("files.folder")).select_option("assets")
    page.get_by_role("dialog").get_by_role("button", name=words("files.add")).click()
    expect(page.get_by_text("assets/图.png")).to_be_visible()

    page.get_by_role("button", name=words("files.new")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(words("files.path"), exact=True).fill("references/术语.md")
    dialog.get_by_label(words("files.content")).fill("# 术语\n")
    dialog.get_by_role("button", name=words("common:action.save")).click()
    page.get_by_role("button", name=words("files.edit", path="references/术语.md")).click()
    expect(dialog.get_by_label(words("files.content"))).to_have_value("# 术语\n")
    dialog.get_by_label(words("files.content")).fill("# 术语\n\n蜂：昆虫\n")
    dialog.get_by_label(words("files.path"), exact=True).fill("references/词汇.md")
    console.picture("file")
    dialog.get_by_role("button", name=words("common:action.save")).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=words("files.download", path="references/词汇.md")).click()
    assert download.value.suggested_filename == "词汇.md"
    assert Path(download.value.path()).read_text() == "# 术语\n\n蜂：昆虫\n"

    # What is no text keeps its bytes under another name.
    page.get_by_role("button", name=words("files.edit", path="assets/图.png")).click()
    expect(dialog.get_by_text(words("files.not_text"))).to_be_visible()
    dialog.get_by_label(words("files.path"), exact=True).fill("run.exe")
    dialog.get_by_role("button", name=words("common:action.save")).click()
    expect(page.get_by_text("run.exe", exact=True)).to_be_visible()
    page.get_by_role("button", name=words("files.delete", path="run.exe")).click()
    dialog.get_by_role("button", name=words("common:action.delete")).click()
    expect(page.get_by_text("run.exe", exact=True)).to_have_count(0)
    assert [file["path"] for file in member.get(files)["items"]] == ["references/词汇.md"]

    # Why a file is refused is said in the person's language.
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=words("files.add")).click()
    chooser.value.set_files({"name": "tool", "mimeType": "application/octet-stream", "buffer": b"\x7fELF"})
    dialog.get_by_role("button", name=words("files.add")).click()
    expect(dialog.get_by_text("不接受机器码程序，请改用脚本或去掉该文件。")).to_be_visible()


def test_trials_are_run_by_a_language_model(browser_thread, llm_product: Server, open_console: OpenConsole, look: Look):
    words = look.words("skills")
    person = llm_product.member()
    skill = person.post("/skills", {"content": REPORT})
    console = open_console(llm_product, person, look)
    page = console.page
    console.open(f"/skills/{skill['id']}/tests")
    page.get_by_label(words("tests.yes")).fill("write my daily report\nthe report of the day, please")
    page.get_by_label(words("tests.no")).fill("translate this sentence")
    page.get_by_label(words("tests.by"), exact=True).select_option("offline")
    page.get_by_role("button", name=words("tests.start", count=3)).click()
    expect(page.get_by_role("heading", name=words("tests.result", number=1))).to_be_visible()
    expect(
        page.get_by_role("img", name=words("tests.is_right")).or_(page.get_by_label(words("tests.is_right")))
    ).to_have_count(3)
    expect(page.get_by_role("heading", name=words("tests.history"))).to_be_visible()
    console.picture("trigger-test")

    page.get_by_role("link", name=words("tab.comparison")).click()
    page.get_by_label(words("comparison.queries")).fill("Write my report. #compared {}")
    page.get_by_role("button", name=words("comparison.start", count=1)).click()
    expect(page.get_by_text("With the procedure.")).to_be_visible()
    expect(page.get_by_text("Off the cuff.")).to_be_visible()
    expect(page.get_by_text(words("comparison.outcome.better"), exact=True)).to_be_visible()
    console.picture("comparison")
    assert json.loads(page.evaluate("localStorage.getItem('agentex.skill-form.comparison." + skill["id"] + "')"))[
        "queries"
    ]
