"""Rules in the console: written in the form and as JSON, tried with an event, and watched while they act."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api, check_success, unique
from tests.fixtures.product.owned_objects import make_developer
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import PATH, plain, send_event

HURT: dict[str, Any] = {"type": "player_damage", "data": {"player": {"name": "Steve", "health_percent": 12.5}}}


@pytest.fixture
def writer(embedded: Server, member: Api) -> Api:
    """Somebody who has logged in and may write rules."""
    make_developer(embedded, member)
    return member


@pytest.fixture
def source(writer: Api) -> dict[str, Any]:
    """An event source that has sent one event."""
    return writer.post(f"{PATH}/sources", {"name": unique("game")})


def write_rule(page: Page, words: Any, source: dict[str, Any]) -> None:
    """Fill in the form: players of the source with low health are reported, except one."""
    page.get_by_label(words("form.name"), exact=True).fill("Low health")
    page.get_by_label(words("when.kind")).select_option(label=source["name"])
    page.get_by_label(words("when.event_type"), exact=True).fill("player_damage")
    page.get_by_role("button", name=words("if.add"), exact=True).click()
    first = page.get_by_role("group", name=words("if.condition", number=1))
    first.get_by_label(words("if.field")).fill("player.health_percent")
    first.get_by_label(words("if.operator")).select_option("<")
    first.get_by_label(words("if.value")).fill("20.0")
    page.get_by_role("button", name=words("if.add"), exact=True).click()
    second = page.get_by_role("group", name=words("if.condition", number=2))
    second.get_by_label(words("if.field")).fill("player.name")
    second.get_by_label(words("if.operator")).select_option("not_in")
    second.get_by_label(words("if.values")).fill("admin, root")
    action = page.get_by_role("region", name=words("then.title", number=1, type=words("then.kind.notify")))
    action.get_by_label(words("then.notify_title")).fill("{{player.name}} is hurt")
    action.get_by_label(words("then.notify_text")).fill("{{player.health_percent}} % left")


def try_with(page: Page, words: Any, data: Any) -> Locator:
    """Try the rule with an event's data, and give what the page says of it."""
    page.get_by_label(words("dry_run.data")).fill(json.dumps(data))
    with page.expect_response(lambda answer: answer.url.endswith("/rules/test")):
        page.get_by_role("button", name=words("dry_run.run"), exact=True).click()
    return page.get_by_role("status").filter(has=page.get_by_role("list", name=words("trace.actions")))


def test_rule_is_written_tried_and_acts_while_somebody_watches(
    browser_thread, embedded: Server, writer: Api, source: dict[str, Any], open_console: OpenConsole, look: Look
):
    words = look.words("rules")
    console = open_console(embedded, writer, look)
    page = console.page
    console.open("/rules")
    page.get_by_role("link", name=words("new")).first.click()
    write_rule(page, words, source)

    outcome = try_with(page, words, {"player": {"name": "Steve", "health_percent": 50}})
    expect(outcome).to_contain_text(words("dry_run.not_met"))
    expect(outcome.get_by_role("row").filter(has_text="player.health_percent")).to_contain_text("50")
    outcome = try_with(page, words, HURT["data"])
    expect(outcome).to_contain_text(words("dry_run.acts"))
    expect(outcome).to_contain_text("Steve is hurt")
    console.picture("tried")

    with console.answers("/api/v1/rules", "POST"):
        page.get_by_role("button", name=words("form.create")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Low health")
    (rule,) = writer.get(PATH)["items"]
    stored = writer.get(f"{PATH}/{rule['id']}")
    assert [node["value"] for node in stored["conditions"]] == [20, ["admin", "root"]]

    page.get_by_role("link", name=words("tab.log"), exact=True).click()
    expect(page.get_by_text(words("log.none"), exact=True)).to_be_visible()
    check_success(send_event(embedded.http, source, HURT))
    entry = page.get_by_role("listitem").filter(has_text="player_damage")
    expect(entry).to_contain_text(words("status.success"))
    entry.get_by_text(words("log.details")).click()
    expect(entry.get_by_role("row").filter(has_text="player.health_percent")).to_contain_text("12.5")
    console.picture("log")
    entry.get_by_role("link", name=words("log.again")).click()
    with page.expect_response(lambda answer: answer.url.endswith("/rules/test")):
        page.get_by_role("button", name=words("dry_run.run"), exact=True).click()
    expect(page.get_by_text(words("dry_run.acts"))).to_be_visible()
    assert console.serious_faults() == []


def test_form_and_json_show_one_rule(
    browser_thread, embedded: Server, writer: Api, source: dict[str, Any], open_console: OpenConsole, look: Look
):
    words = look.words("rules")
    rule = writer.post(PATH, plain(name="One rule"))
    console = open_console(embedded, writer, look)
    page = console.page
    console.open(f"/rules/{rule['id']}")
    save = page.get_by_role("button", name=words("form.save"), exact=True)
    expect(save).to_be_disabled()
    page.get_by_label(words("form.name"), exact=True).fill("Another name")
    show = page.get_by_role("button", name=words("form.as_json"), exact=True)
    show.click()
    text = page.get_by_label(words("form.json"))
    expect(text).to_have_value(re.compile('"name": "Another name"'))

    written = json.loads(text.input_value())
    group = {"conditions": [{"field": "a", "operator": "exists", "value": True}], "negate": True}
    written["conditions"] = [{"field": "n", "operator": ">=", "value": 1.5}, {**group, "logic": "OR"}]
    text.fill(json.dumps(written)[:-1])
    expect(save).to_be_disabled()
    text.fill(json.dumps(written))
    page.get_by_role("button", name=words("form.as_form"), exact=True).click()
    inner = page.get_by_role("group", name=words("if.group", number=2))
    expect(inner.get_by_label(words("if.negate"))).to_be_checked()
    expect(inner.get_by_role("group", name=words("if.condition", number="2.1"))).to_be_visible()
    console.picture("group")
    # A reload loses nothing of it.
    page.reload()
    console.settle()
    expect(page.get_by_label(words("form.name"), exact=True)).to_have_value("Another name")
    with console.answers(f"/rules/{rule['id']}"):
        save.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Another name")
    stored = writer.get(f"{PATH}/{rule['id']}")
    assert stored["version"] == 2
    assert stored["conditions"][1]["logic"] == "OR"

    # What is no rule is shown as JSON, and the server says what is wrong with it.
    show.click()
    text.fill(json.dumps({**written, "actions": [{"type": "fly"}]}))
    page.get_by_role("button", name=words("form.as_form"), exact=True).click()
    expect(page.get_by_text(words("form.json_only"))).to_be_visible()
    with console.answers(f"/rules/{rule['id']}"):
        save.click()
    expect(page.get_by_role("alert")).to_contain_text("actions")
    page.get_by_role("button", name=words("form.discard")).click()
    expect(page.get_by_label(words("form.name"), exact=True)).to_have_value("Another name")


def test_change_of_somebody_else_is_not_overwritten(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    rule = writer.post(PATH, plain(name="Shared"))
    console = open_console(embedded, writer)
    page = console.page
    console.open(f"/rules/{rule['id']}")
    page.get_by_label("Description").fill("mine")
    writer.put(f"{PATH}/{rule['id']}", {"description": "theirs"})
    with console.answers(f"/rules/{rule['id']}"):
        page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Somebody changed the rule")).to_be_visible()
    assert writer.get(f"{PATH}/{rule['id']}")["description"] == "theirs"
    page.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_label("Description")).to_have_value("theirs")


def test_rule_is_switched_copied_exported_imported_and_deleted(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole, look: Look, tmp_path
):
    words = look.words("rules")
    writer.post(PATH, plain(name="Welcome"))
    console = open_console(embedded, writer, look)
    page = console.page
    console.open("/rules")
    console.picture("list")
    with console.answers("/enabled"):
        page.get_by_role("switch", name=words("state.switch", name="Welcome")).click()
    expect(page.get_by_role("listitem").filter(has_text="Welcome")).to_contain_text(words("state.off"))

    more = page.get_by_role("button", name=words("action.more", name="Welcome"), exact=True)
    more.click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=words("action.export")).click()
    file = tmp_path / "rule.json"
    download.value.save_as(file)
    more.click()
    page.get_by_role("menuitem", name=words("action.copy")).click()
    copied = words("action.copy_name", name="Welcome")
    expect(page.get_by_role("heading", level=1)).to_have_text(copied)

    console.open("/rules")
    page.get_by_role("button", name=words("import.open")).click()
    console.dialog.get_by_label(words("import.file")).set_input_files(file)
    console.dialog.get_by_label(words("form.name")).fill("Imported")
    console.dialog.get_by_role("button", name=words("import.action"), exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Imported")
    page.get_by_role("button", name=words("action.more", name="Imported")).click()
    page.get_by_role("menuitem", name=words("common:action.delete")).click()
    with console.answers("/rules/", "DELETE"):
        console.dialog.get_by_role("button", name=words("common:action.delete")).click()
    expect(page.get_by_role("link", name=copied)).to_be_visible()
    expect(page.get_by_role("link", name="Imported")).to_have_count(0)
    assert {rule["name"]: rule["enabled"] for rule in writer.get(PATH)["items"]} == {"Welcome": False, copied: False}


def test_every_example_is_a_rule_that_the_server_takes(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    base = writer.post("/knowledge-bases", {"name": unique("kb")})
    console = open_console(embedded, writer)
    console.open("/rules/new")
    choices = console.page.get_by_label("Begin with").locator("option")
    examples = [choice.get_attribute("value") or "" for choice in choices.all()]
    assert len(examples) >= 6
    for example in filter(None, examples):
        console.open(f"/rules/new?example={example}")
        if example == "incident":
            console.page.get_by_label("Knowledge base", exact=True).select_option(base["id"])
        with console.page.expect_response(lambda answer: answer.url.endswith("/rules/test")) as answered:
            console.page.get_by_role("button", name="Try", exact=True).click()
        assert answered.value.status == 200, (example, answered.value.text())


def test_somebody_who_may_only_look_changes_nothing(
    browser_thread, embedded: Server, writer: Api, open_console: OpenConsole
):
    rule = writer.post(PATH, plain(name="Looked at"))
    role = embedded.sql("SELECT id FROM role WHERE name = 'user'")[0]["id"]
    embedded.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=writer.user_id)
    console = open_console(embedded, writer)
    console.open(f"/rules/{rule['id']}")
    expect(console.page.get_by_label("Name", exact=True)).to_be_disabled()
    expect(console.page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    expect(console.page.get_by_role("switch")).to_have_count(0)
